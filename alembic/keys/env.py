"""Runs the migrations of the key store's database."""

import os

from alembic import context
from sqlalchemy import create_engine, make_url, text

MIGRATION_LOCK = 0x6B657973


def run() -> None:
    """Migrate over the connection of the key store's role, which owns its database."""
    url = context.config.get_main_option("sqlalchemy.url") or os.environ["CAIRN_KEYS_URL"]
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), hide_parameters=True)
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": MIGRATION_LOCK})
        connection.commit()
        context.configure(connection=connection, target_metadata=None, transaction_per_migration=True)
        with context.begin_transaction():
            context.run_migrations()
        connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": MIGRATION_LOCK})
        connection.commit()
    engine.dispose()


run()
