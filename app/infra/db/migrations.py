"""Migrations: run as the owner by `up` and `migrate`; `serve` and `worker` only look whether the schema is one they
know.
"""

from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config

ROOT = Path(__file__).resolve().parents[3]
# The revisions that this code works on: the newest, and older ones that were made to be safe under it.
SUPPORTED = frozenset({"0032_waiting"})
CONNECT_TIMEOUT_S = 5


class UnsupportedSchemaError(Exception):
    """The database's schema isn't one that this version works on."""


def upgrade(owner_url: str, keys_url: str) -> None:
    """Bring both databases to the newest revision. Waits for another one that is migrating. Blocks: call it in a
    thread.
    """
    for section, url in (("alembic", owner_url), ("keys", keys_url)):
        command.upgrade(_config(section, url), "head")


def downgrade(owner_url: str, revision: str) -> None:
    """Take the data's database back to a revision (`base` for none)."""
    command.downgrade(_config("alembic", owner_url), revision)


def differences(owner_url: str) -> None:
    """Raise alembic's error where the migrated schema and the models differ."""
    command.check(_config("alembic", owner_url))


async def require_supported(url: str) -> None:
    """Raise UnsupportedSchemaError where the schema is another than this version works on."""
    connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S, statement_cache_size=0)
    try:
        found = await connection.fetchval("SELECT to_regclass('public.alembic_version') IS NOT NULL")
        revision = await connection.fetchval("SELECT version_num FROM alembic_version") if found else None
    finally:
        await connection.close()
    if revision not in SUPPORTED:
        raise UnsupportedSchemaError(f"the schema is at {revision or 'nothing'}: run `cairn migrate` of this version")


def _config(section: str, url: str) -> Config:
    config = Config(str(ROOT / "alembic.ini"), ini_section=section)
    # A percent sign in a password would be taken for interpolation.
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config
