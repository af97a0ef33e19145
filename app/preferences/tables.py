"""The tables of preferences: the current version of each, and every version that there was."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.schema import SchemaItem

from app.infra.db.base import owned

# What a version consists of. Both tables have these columns: a row of versions is copied from its preference's row.
VERSION_COLUMNS = (
    "version",
    "change_number",
    "state",
    "value_sealed",
    "value_plain",
    "trust",
    "source",
    "confidence",
    "evidence_kind",
    "evidence_id",
    "reason_sealed",
    "written_by",
    "written_through",
    "written_at",
)


def _version_columns() -> tuple[SchemaItem, ...]:
    return (
        Column("version", Integer, nullable=False),
        Column("change_number", BigInteger, nullable=False),
        Column("state", Text, nullable=False),
        Column("value_sealed", LargeBinary),
        # For values of a catalogued enumeration, which statistics are made of; never a caller's own text.
        Column("value_plain", JSONB(none_as_null=True)),
        Column("trust", Text, nullable=False),
        Column("source", Text, nullable=False),
        Column("confidence", Double),
        Column("evidence_kind", Text),
        Column("evidence_id", Uuid),
        Column("reason_sealed", LargeBinary),
        Column("written_by", Text, nullable=False),
        Column("written_through", Text, nullable=False),
        Column("written_at", DateTime(timezone=True), nullable=False),
        CheckConstraint("trust in ('explicit', 'operator', 'imported', 'inferred')", name="trust"),
        CheckConstraint("(evidence_kind is null) = (evidence_id is null)", name="evidence"),
    )


preferences = owned(
    "preferences",
    Column("id", Uuid, nullable=False),
    Column("key_tag", LargeBinary, nullable=False),
    Column("key_sealed", LargeBinary, nullable=False),
    Column("key_plain", Text),
    # '' for the value that holds for every agent: NULL would be distinct from itself in the unique key.
    Column("agent", Text, nullable=False, server_default=""),
    Column("created_at", DateTime(timezone=True), nullable=False),
    *_version_columns(),
    PrimaryKeyConstraint("usr", "id"),
    UniqueConstraint("usr", "key_tag", "agent"),
    CheckConstraint("state in ('kept', 'deleted')", name="state"),
)

preference_versions = owned(
    "preference_versions",
    Column("preference_id", Uuid, nullable=False),
    *_version_columns(),
    PrimaryKeyConstraint("usr", "preference_id", "version"),
    ForeignKeyConstraint(["usr", "preference_id"], ["preferences.usr", "preferences.id"]),
    CheckConstraint("state in ('kept', 'erased', 'deleted')", name="state"),
    # A moment is mapped to the number of the last change before it.
    Index(None, "usr", "change_number"),
)
