"""What changes have marked: ids and versions, no content."""

from sqlalchemy import BigInteger, Column, DateTime, Integer, PrimaryKeyConstraint, Text, text

from app.infra.db.base import owned

memory_marks = owned(
    "memory_marks",
    Column("change_number", BigInteger, nullable=False),
    Column("item", Text, nullable=False),
    Column("newer_kind", Text, nullable=False),
    Column("newer_id", Text, nullable=False),
    Column("newer_version", Integer, nullable=False),
    Column("noted_at", DateTime(timezone=True), nullable=False, server_default=text("now()")),
    PrimaryKeyConstraint("usr", "change_number", "item", "newer_kind", "newer_id"),
)
