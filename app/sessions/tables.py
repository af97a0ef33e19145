"""The tables of sessions and their messages. What a caller wrote is sealed; order, time and role are plain."""

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
    UniqueConstraint,
    Uuid,
    false,
    text,
)

from app.infra.db.base import owned

sessions = owned(
    "sessions",
    Column("id", Uuid, nullable=False),
    # Which agent made it; '' where the token named none.
    Column("agent", Text, nullable=False),
    # A framework's thread id. NULLs are distinct in a unique constraint: sessions without one don't meet.
    Column("external_tag", LargeBinary),
    Column("external_id_sealed", LargeBinary),
    Column("title_sealed", LargeBinary),
    Column("metadata_sealed", LargeBinary),
    Column("summary_sealed", LargeBinary),
    Column("window_size", Integer, nullable=False),
    Column("ttl_s", Integer, nullable=False),
    Column("next_seq", BigInteger, nullable=False, server_default="1"),
    Column("message_count", BigInteger, nullable=False, server_default="0"),
    # The last message that the summary covers; the newer ones are the window and what has just left it.
    Column("summary_seq", BigInteger, nullable=False, server_default="0"),
    # Raised where the session changes otherwise than by growing: an append tells a hot copy of which epoch it is.
    Column("content_version", BigInteger, nullable=False, server_default="1"),
    # Raised by every change that a reader of the session sees, appends too: it is the ETag.
    Column("version", BigInteger, nullable=False, server_default="1"),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("last_active_at", DateTime(timezone=True), nullable=False),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("pinned", Boolean, nullable=False, server_default=false()),
    PrimaryKeyConstraint("usr", "id"),
    UniqueConstraint("usr", "external_tag"),
)

messages = owned(
    "messages",
    Column("id", Uuid, nullable=False),
    Column("session_id", Uuid, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("role", Text, nullable=False),
    Column("body_sealed", LargeBinary, nullable=False),
    Column("constraints_sealed", LargeBinary),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("stored_at", DateTime(timezone=True), nullable=False),
    Column("context_id", Uuid),
    PrimaryKeyConstraint("usr", "id"),
    UniqueConstraint("usr", "session_id", "seq"),
    ForeignKeyConstraint(["usr", "session_id"], ["sessions.usr", "sessions.id"], ondelete="CASCADE"),
    CheckConstraint("role in ('user', 'assistant', 'system', 'tool')", name="role"),
    Index(None, "usr", "context_id", postgresql_where=text("context_id is not null")),
)

# Anonymous sessions that the user has made theirs. A row outlives its session: what is left of that in Redis brings
# nothing back, and an erasure finds it.
session_claims = owned(
    "session_claims",
    Column("session_id", Uuid, nullable=False),
    Column("claimed_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("usr", "session_id"),
)
