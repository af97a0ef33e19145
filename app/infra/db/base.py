"""The base of every table declaration."""

from sqlalchemy import Column, MetaData, Table, Text, Uuid
from sqlalchemy.schema import SchemaItem

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    },
)


def owned(name: str, *items: SchemaItem, owner_is_key: bool = False) -> Table:
    """Declare a table that holds a user's data: it begins with tenant and usr, and row-level security binds it to them.

    `owner_is_key` makes `usr` the primary key, for tables with one row a user.
    """
    return Table(
        name,
        metadata,
        Column("tenant", Text, nullable=False),
        Column("usr", Uuid, nullable=False, primary_key=owner_is_key),
        *items,
        info={"owned": True},
    )
