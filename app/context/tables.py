"""The memory log: what each context was made of, by ids; and what its readers said of it."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    Uuid,
    false,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.infra.db.base import owned

memory_log = owned(
    "memory_log",
    Column("id", Uuid, nullable=False),
    Column("session_id", Uuid),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("query_sealed", LargeBinary, nullable=False),
    # Of the prompt as the model saw it, keyed: a plain hash of a guessable text would say what the text was.
    Column("prompt_tag", LargeBinary, nullable=False),
    Column("snapshot", BigInteger, nullable=False),
    Column("budget_tokens", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    # Ids, versions, reasons and numbers: no content.
    Column("missing", JSONB, nullable=False),
    Column("decisions", JSONB, nullable=False),
    # What was asked for beside the question: with it the same call is made again. NULL in lines of before.
    Column("call", JSONB(none_as_null=True)),
    Column("revisions", JSONB(none_as_null=True)),
    # The summary as it was shown, and the prompt's plain hash, for whoever has the prompt.
    Column("shown_sealed", LargeBinary),
    # Of the question: a message that says the same takes it along when it is deleted.
    Column("query_tag", LargeBinary),
    # Whether texts were taken out, with a message that they held.
    Column("is_cut", Boolean, nullable=False, server_default=false()),
    PrimaryKeyConstraint("usr", "id"),
    Index(None, "usr", "session_id", "id"),
)

# One row a context: what was said of it last.
context_feedback = owned(
    "context_feedback",
    Column("context_id", Uuid, nullable=False),
    Column("version", Integer, nullable=False),
    Column("useful", Boolean, nullable=False),
    # Kinds, ids, versions and marks: no content.
    Column("items", JSONB, nullable=False),
    Column("correction_sealed", LargeBinary),
    # Who said so; '' where the token named no agent.
    Column("agent", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("usr", "context_id"),
    ForeignKeyConstraint(["usr", "context_id"], ["memory_log.usr", "memory_log.id"], ondelete="CASCADE"),
)
