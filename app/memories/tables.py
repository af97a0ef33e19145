"""The tables of facts: the current version of each, and every version that there was."""

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
    Uuid,
)
from sqlalchemy.schema import SchemaItem

from app.infra.db.base import owned

# What a version consists of. Both tables have these columns: a row of versions is copied from its fact's row.
VERSION_COLUMNS = (
    "version",
    "change_number",
    "state",
    "text_sealed",
    "metadata_sealed",
    "trust",
    "source",
    "confidence",
    "evidence_kind",
    "evidence_id",
    "expires_at",
    "written_by",
    "written_through",
    "written_at",
)


def _version_columns() -> tuple[SchemaItem, ...]:
    return (
        Column("version", Integer, nullable=False),
        Column("change_number", BigInteger, nullable=False),
        Column("state", Text, nullable=False),
        Column("text_sealed", LargeBinary),
        Column("metadata_sealed", LargeBinary),
        Column("trust", Text, nullable=False),
        Column("source", Text, nullable=False),
        Column("confidence", Double),
        Column("evidence_kind", Text),
        Column("evidence_id", Uuid),
        Column("expires_at", DateTime(timezone=True)),
        Column("written_by", Text, nullable=False),
        Column("written_through", Text, nullable=False),
        Column("written_at", DateTime(timezone=True), nullable=False),
        CheckConstraint("trust in ('explicit', 'operator', 'imported', 'inferred')", name="trust"),
        CheckConstraint("(evidence_kind is null) = (evidence_id is null)", name="evidence"),
        CheckConstraint("(state = 'kept') = (text_sealed is not null)", name="text"),
    )


memories = owned(
    "memories",
    Column("id", Uuid, nullable=False),
    # What the index knows the current version by: an item that is indexed never changes.
    Column("indexed_as", Uuid, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    *_version_columns(),
    PrimaryKeyConstraint("usr", "id"),
    CheckConstraint("state in ('kept', 'deleted')", name="state"),
    Index(None, "usr", "indexed_as", unique=True),
)

memory_versions = owned(
    "memory_versions",
    Column("memory_id", Uuid, nullable=False),
    *_version_columns(),
    PrimaryKeyConstraint("usr", "memory_id", "version"),
    ForeignKeyConstraint(["usr", "memory_id"], ["memories.usr", "memories.id"]),
    CheckConstraint("state in ('kept', 'erased', 'deleted')", name="state"),
)
