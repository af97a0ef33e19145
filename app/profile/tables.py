"""The tables of profiles: the current version of each user's, and every version that there was."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    Uuid,
    text,
)
from sqlalchemy.schema import SchemaItem

from app.infra.db.base import owned

# What both tables hold of a version: a row of versions is copied from the profile's row.
HEAD_COLUMNS = (
    "version",
    "change_number",
    "name_sealed",
    "role_sealed",
    "department_sealed",
    "attributes_sealed",
    "active",
    "last_login_at",
    "written_by",
    "written_through",
    "updated_at",
)
# What the row of versions holds beside them.
BESIDE_COLUMNS = (
    "active_sealed",
    "last_login_at_sealed",
    "erased_sealed",
    "source",
    "reason_sealed",
    "evidence_kind",
    "evidence_id",
    "supersedes",
)


def _head_columns() -> tuple[SchemaItem, ...]:
    return (
        Column("version", Integer, nullable=False),
        Column("change_number", BigInteger, nullable=False),
        Column("name_sealed", LargeBinary),
        Column("role_sealed", LargeBinary),
        Column("department_sealed", LargeBinary),
        Column("attributes_sealed", LargeBinary, nullable=False),
        # These two say something only in versions without a `source`, which were written before they were sealed.
        Column("active", Boolean, nullable=False),
        Column("last_login_at", DateTime(timezone=True)),
        Column("written_by", Text, nullable=False),
        Column("written_through", Text, nullable=False),
        Column("updated_at", DateTime(timezone=True), nullable=False),
    )


profiles = owned("profiles", *_head_columns(), owner_is_key=True)

profile_versions = owned(
    "profile_versions",
    *_head_columns(),
    Column("active_sealed", LargeBinary),
    Column("last_login_at_sealed", LargeBinary),
    # The places whose value was erased from this version.
    Column("erased_sealed", LargeBinary),
    Column("source", Text),
    Column("reason_sealed", LargeBinary),
    Column("evidence_kind", Text),
    Column("evidence_id", Uuid),
    # Whether it took a value out of force that texts may hold; NULL where that isn't known.
    Column("supersedes", Boolean),
    PrimaryKeyConstraint("usr", "version"),
    ForeignKeyConstraint(["usr"], ["profiles.usr"]),
    CheckConstraint("(evidence_kind is null) = (evidence_id is null)", name="evidence"),
    Index("ix_profile_versions_superseding", "usr", "change_number", postgresql_where=text("supersedes is not false")),
)
