"""The tables of the sealed index: full segments, and one row for each newer item."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Text, Uuid, text
from sqlalchemy.dialects.postgresql import ARRAY

from app.infra.db.base import owned

segments = owned(
    "segments",
    Column("id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    # Which items are inside, so that one of them can be taken out without opening every segment.
    Column("item_ids", ARRAY(Uuid), nullable=False),
    # Which models have made vectors of all that is inside; NULL where that was never looked at.
    Column("models", ARRAY(Text)),
    Column("body_sealed", LargeBinary, nullable=False),
    PrimaryKeyConstraint("usr", "id"),
)

segment_items = owned(
    "segment_items",
    Column("id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    # Raised when a vector is attached: what a process has decoded is known by id and revision.
    Column("revision", Integer, nullable=False, server_default="0"),
    Column("embedded", Boolean, nullable=False),
    # Which models have made vectors of it; NULL where that was never looked at.
    Column("models", ARRAY(Text), server_default="{}"),
    Column("body_sealed", LargeBinary, nullable=False),
    # The place in its group and the time of an item that was sealed before these were known; else NULL.
    Column("ordinal", BigInteger),
    Column("time_ms", BigInteger),
    PrimaryKeyConstraint("usr", "kind", "id"),
    Index("ix_segment_items_waiting", "usr", "kind", postgresql_where=text("not embedded")),
)
