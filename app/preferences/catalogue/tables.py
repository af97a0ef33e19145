"""The tables of the catalogue. They hold a tenant's data and no user's: row-level security binds them to the tenant."""

from sqlalchemy import Boolean, CheckConstraint, Column, DateTime, Integer, PrimaryKeyConstraint, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from app.infra.db.base import metadata

catalogue_keys = Table(
    "catalogue_keys",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("key", Text, nullable=False),
    Column("version", Integer, nullable=False),
    # A stub of a deleted key has none of the rest: its version goes on if the key is registered again.
    Column("deleted", Boolean, nullable=False),
    Column("schema", JSONB(none_as_null=True)),
    Column("enumeration", JSONB(none_as_null=True)),
    Column("merge", Text),
    Column("commitment", Boolean),
    Column("sensitive", Boolean),
    Column("description", Text),
    Column("names", JSONB(none_as_null=True)),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("tenant", "key"),
    CheckConstraint("deleted = (schema is null)", name="deleted"),
    CheckConstraint("merge in ('refuse', 'last_write')", name="merge"),
    CheckConstraint("not (commitment and merge = 'last_write')", name="commitment"),
)

catalogue_settings = Table(
    "catalogue_settings",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("closed", Boolean, nullable=False),
    PrimaryKeyConstraint("tenant"),
)
