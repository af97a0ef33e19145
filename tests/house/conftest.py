"""A PostgreSQL of the house's own, migrated: what its tests look at is the catalogue, not the rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config

from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Server, Stack
from tests.house.source import ROOT

DATA, KEYS = "alembic", "keys"


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = Path(tmp_path_factory.mktemp("house"))
    stack = Stack(folder, external=frozenset({Server.REDIS, Server.CHROMA}), durability=Durability.TESTS)
    with stack:
        yield stack
    stack.remove()


@pytest.fixture(scope="session")
def histories(stack: Stack) -> dict[str, Config]:
    """Both histories of migrations, each on its database and at its head."""
    urls = {DATA: stack.urls.database_owner, KEYS: stack.urls.keys}
    configs = {name: Config(ROOT / "alembic.ini", ini_section=name) for name in urls}
    for name, config in configs.items():
        config.set_main_option("sqlalchemy.url", str(urls[name]))
        command.upgrade(config, "head")
    return configs
