"""The tables that belong to no feature: the user's row that gates every write, and the answers kept for retries."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY

from app.infra.db.base import owned

# The row stays after an erasure, as the tombstone of a random reference: whatever is in flight for it is refused by it.
users = owned(
    "users",
    Column("state", Text, nullable=False, server_default="active"),
    Column("change_number", BigInteger, nullable=False, server_default="0"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("erased_at", DateTime(timezone=True)),
    CheckConstraint("state in ('active', 'erasing', 'erased')", name="state"),
    owner_is_key=True,
)

idempotency = owned(
    "idempotency",
    Column("agent", Text, nullable=False),
    Column("route", Text, nullable=False),
    Column("key_tag", LargeBinary, nullable=False),
    Column("request_tag", LargeBinary, nullable=False),
    Column("answer_sealed", LargeBinary),
    # What the answer shows: it goes when one of them is deleted.
    Column("item_ids", ARRAY(Uuid)),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("usr", "agent", "route", "key_tag"),
)
