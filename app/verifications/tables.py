"""The table of registered secrets: hashes, never values."""

from sqlalchemy import CheckConstraint, Column, DateTime, LargeBinary, PrimaryKeyConstraint, Text

from app.infra.db.base import owned

registered_secrets = owned(
    "registered_secrets",
    Column("type", Text, nullable=False),
    # None of both once it was withdrawn: then the row tells the user by whom's reason.
    Column("salt", LargeBinary),
    Column("hash", LargeBinary),
    Column("reason_sealed", LargeBinary, nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("usr", "type"),
    CheckConstraint("(salt is null) = (hash is null)", name="hash"),
)
