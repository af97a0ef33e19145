"""The tables of profiles: the current version of each user's, and every version that there was."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
)
from sqlalchemy.schema import SchemaItem

from app.infra.db.base import owned

# What a version consists of. Both tables have these columns: a row of versions is copied from the profile's row.
VERSION_COLUMNS = (
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


def _version_columns() -> tuple[SchemaItem, ...]:
    return (
        Column("version", Integer, nullable=False),
        Column("change_number", BigInteger, nullable=False),
        Column("name_sealed", LargeBinary),
        Column("role_sealed", LargeBinary),
        Column("department_sealed", LargeBinary),
        Column("attributes_sealed", LargeBinary, nullable=False),
        Column("active", Boolean, nullable=False),
        Column("last_login_at", DateTime(timezone=True)),
        Column("written_by", Text, nullable=False),
        Column("written_through", Text, nullable=False),
        Column("updated_at", DateTime(timezone=True), nullable=False),
    )


profiles = owned("profiles", *_version_columns(), owner_is_key=True)

profile_versions = owned(
    "profile_versions",
    *_version_columns(),
    PrimaryKeyConstraint("usr", "version"),
    ForeignKeyConstraint(["usr"], ["profiles.usr"]),
)
