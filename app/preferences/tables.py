"""The tables of preferences: the current version of each, and every version that there was."""

from sqlalchemy import (
    BigInteger,
    Boolean,
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
    text,
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
    "identifies",
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
        # Whether the value points at something that texts may hold; NULL where that isn't known.
        Column("identifies", Boolean),
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
    Index(
        "ix_preference_versions_identifying", "usr", "change_number", postgresql_where=text("identifies is not false")
    ),
)

# What was inferred and waits for the user. One that was decided is a stub: its key and what became of it.
preference_candidates = owned(
    "preference_candidates",
    Column("id", Uuid, nullable=False),
    Column("key_tag", LargeBinary, nullable=False),
    Column("key_sealed", LargeBinary, nullable=False),
    Column("agent", Text, nullable=False),
    Column("value_tag", LargeBinary, nullable=False),
    Column("value_sealed", LargeBinary),
    Column("reason_sealed", LargeBinary),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("because", Text, nullable=False),
    Column("confidence", Double, nullable=False),
    # [{kind, id}], oldest first: ids and nothing that was said.
    Column("evidence", JSONB, nullable=False),
    Column("proposed_through", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("usr", "id"),
    CheckConstraint("state in ('waiting', 'accepted', 'rejected', 'applied', 'withdrawn')", name="state"),
    CheckConstraint("(state = 'waiting') = (value_sealed is not null)", name="value"),
    # A statement waits once.
    Index(
        "ix_preference_candidates_waiting",
        "usr",
        "key_tag",
        "agent",
        "value_tag",
        unique=True,
        postgresql_where=text("state = 'waiting'"),
    ),
)

# What spoke for a statement, in keyed tags alone: it outlives the statement, so that what was rejected or retracted
# is not proposed again from it. An empty `value_tag` means any value, an empty `evidence_tag` that there was none.
preference_evidence = owned(
    "preference_evidence",
    Column("key_tag", LargeBinary, nullable=False),
    Column("agent", Text, nullable=False),
    Column("value_tag", LargeBinary, nullable=False),
    Column("evidence_tag", LargeBinary, nullable=False),
    Column("refused", Boolean, nullable=False),
    PrimaryKeyConstraint("usr", "key_tag", "agent", "value_tag", "evidence_tag"),
)
