"""The memory log: what each context was made of, by ids."""

from sqlalchemy import BigInteger, Column, DateTime, Index, Integer, LargeBinary, PrimaryKeyConstraint, Uuid
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
    PrimaryKeyConstraint("usr", "id"),
    Index(None, "usr", "session_id", "id"),
)
