"""The tables that belong to no feature: the user's row that gates every write, and the answers kept for retries."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from app.infra.db.base import metadata, owned

# The row stays after an erasure, as the tombstone of a random reference: whatever is in flight for it is refused by it.
users = owned(
    "users",
    Column("state", Text, nullable=False, server_default="active"),
    Column("change_number", BigInteger, nullable=False, server_default="0"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("erased_at", DateTime(timezone=True)),
    # What the user lets be done (app/core/processing.py), and the version of that.
    Column("remember", Boolean, nullable=False, server_default=text("true")),
    Column("infer", Boolean, nullable=False, server_default=text("true")),
    Column("external_models", Boolean, nullable=False, server_default=text("true")),
    Column("processing_version", BigInteger, nullable=False, server_default="1"),
    CheckConstraint("state in ('active', 'erasing', 'erased')", name="state"),
    owner_is_key=True,
)

# When each change of user memory was made. A trigger on `users` writes it while the user's row is locked: the times are
# in the order of the numbers, and no two are equal.
user_changes = owned(
    "user_changes",
    Column("number", BigInteger, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("usr", "number"),
    # A moment is mapped to the number of the last change before it.
    Index(None, "usr", "at"),
)

# Which key store this data was written with: one row. With another one nothing here could be read, and every user would
# silently begin anew.
installation = Table(
    "installation",
    metadata,
    Column("singleton", Boolean, primary_key=True, server_default=text("true")),
    Column("key_store", LargeBinary, nullable=False),
    CheckConstraint("singleton", name="singleton"),
)

# Who outside is or was sent texts of users: of the installation, and of no user.
recipients = Table(
    "recipients",
    metadata,
    Column("purpose", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("since", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("until", DateTime(timezone=True)),
    PrimaryKeyConstraint("purpose", "host", "model"),
)

# Whether Redis is trusted, and which servers: one row (app/infra/db/generations.py), reached by functions alone.
generation = Table(
    "generation",
    metadata,
    Column("singleton", Boolean, primary_key=True, server_default=text("true")),
    # Another with each change: what is in Redis bears the name of the generation that it was put there in.
    Column("name", Uuid, nullable=False),
    # Empty where Redis isn't trusted.
    Column("servers", ARRAY(Text), nullable=False),
    # Whether no process may still believe in an earlier generation.
    Column("is_settled", Boolean, nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    # The database server and the transaction that wrote this: what was restored shows others.
    Column("written_on", Text, nullable=False),
    Column("written_by", BigInteger, nullable=False),
    CheckConstraint("singleton", name="singleton"),
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
    # Of an append: what its answer is made of. The numbers aren't known when it could be sealed.
    Column("first_seq", BigInteger),
    Column("message_ids", ARRAY(Uuid)),
    Column("message_times", ARRAY(DateTime(timezone=True))),
    PrimaryKeyConstraint("usr", "agent", "route", "key_tag"),
    Index(None, "expires_at"),
)
