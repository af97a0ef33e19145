"""The tables of what messages state: those that were heard, and what was inferred and waits for the user."""

from sqlalchemy import (
    ARRAY,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.infra.db.base import owned

# Ids and outcomes, and nothing that was said.
heard_messages = owned(
    "heard_messages",
    Column("message_id", Uuid, nullable=False),
    # What the token that appended it may write.
    Column("rights", ARRAY(Text), nullable=False),
    Column("heard_at", DateTime(timezone=True), nullable=False),
    # What became of each finding; NULL while it is owed.
    Column("fates", ARRAY(Text)),
    PrimaryKeyConstraint("usr", "message_id"),
)

# What was inferred and waits for the user. One that was decided is a stub: its key and what became of it.
candidates = owned(
    "candidates",
    Column("id", Uuid, nullable=False),
    # The kind of memory that it waits for: profile or memory.
    Column("waits", Text, nullable=False),
    # Of a fact, which has no key, the tag is empty.
    Column("key_tag", LargeBinary, nullable=False),
    Column("key_sealed", LargeBinary),
    # Of key and value; of a decided one it is empty.
    Column("statement_tag", LargeBinary, nullable=False),
    Column("value_sealed", LargeBinary),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("confidence", Double, nullable=False),
    # [{kind, id}], oldest first: ids and nothing that was said.
    Column("evidence", JSONB, nullable=False),
    Column("proposed_through", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("usr", "id"),
    CheckConstraint("waits in ('profile', 'memory')", name="waits"),
    CheckConstraint("state in ('waiting', 'accepted', 'rejected', 'applied', 'withdrawn')", name="state"),
    CheckConstraint("(state = 'waiting') = (value_sealed is not null)", name="value"),
    # A statement waits once.
    Index("ix_candidates_waiting", "usr", "statement_tag", unique=True, postgresql_where=text("state = 'waiting'")),
)

# What spoke for a statement, in keyed tags alone: it outlives the statement, so that what was rejected isn't proposed
# again from it. An empty `evidence_tag` means that there was none.
candidate_evidence = owned(
    "candidate_evidence",
    Column("statement_tag", LargeBinary, nullable=False),
    Column("evidence_tag", LargeBinary, nullable=False),
    Column("refused", Boolean, nullable=False),
    PrimaryKeyConstraint("usr", "statement_tag", "evidence_tag"),
)
