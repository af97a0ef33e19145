"""The table of patterns. It holds a tenant's data and no user's: row-level security binds it to the tenant."""

from sqlalchemy import Boolean, CheckConstraint, Column, DateTime, Integer, PrimaryKeyConstraint, Table, Text, Uuid

from app.infra.db.base import metadata

secret_patterns = Table(
    "secret_patterns",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    # A stub of a deleted pattern has none of the rest: its version goes on if the name is registered again.
    Column("deleted", Boolean, nullable=False),
    Column("expression", Text),
    Column("check_digit", Text),
    Column("description", Text),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("tenant", "name"),
    CheckConstraint("deleted = (expression is null)", name="deleted"),
    CheckConstraint("check_digit in ('luhn', 'iso7064_mod11_2', 'none')", name="check_digit"),
)

# One row, whose number every change of any tenant's pattern raises, in the change's own transaction (a trigger).
secret_pattern_changes = Table(
    "secret_pattern_changes",
    metadata,
    Column("singleton", Boolean, nullable=False, server_default="true"),
    Column("number", Integer, nullable=False),
    PrimaryKeyConstraint("singleton"),
    CheckConstraint("singleton", name="singleton"),
)
