"""Runs the migrations of the data's database as the owner, one at a time in the whole installation."""

import os

from alembic import context
from sqlalchemy import create_engine, make_url, text

from app.infra.audit.tables import Xid8
from app.wiring import metadata

# Any constant will do, as long as no other program takes the same advisory lock in this database.
MIGRATION_LOCK = 0x6361697267
LOCK_TIMEOUT = "5s"

# The queue's tables are Procrastinate's own; they live in the schema `queue` and aren't compared with the models.
INCLUDED_SCHEMA = None


def included(name: str | None, kind: str, _parents: object) -> bool:
    """Return whether the comparison with the models looks at this object."""
    return kind != "schema" or name == INCLUDED_SCHEMA


def run() -> None:
    """Migrate, or compare, over the connection of the owner."""
    # The owner's URL is read here and not by Settings: alembic's own command line comes this way too.
    url = context.config.get_main_option("sqlalchemy.url") or os.environ["CAIRN_DATABASE_OWNER_URL"]
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), hide_parameters=True)
    try:
        with engine.connect() as connection:
            # A type that the library doesn't know: the comparison with the models must.
            connection.dialect.ischema_names["xid8"] = Xid8  # type: ignore[attr-defined] # PostgreSQL's dialects have it
            connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": MIGRATION_LOCK})
            connection.commit()
            context.configure(
                connection=connection,
                target_metadata=metadata(),
                include_name=included,
                compare_server_default=True,
                transaction_per_migration=True,
            )
            with context.begin_transaction():
                context.run_migrations()
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": MIGRATION_LOCK})
            connection.commit()
    finally:
        # Whatever fails lets go of the lock with its connection.
        engine.dispose()


run()
