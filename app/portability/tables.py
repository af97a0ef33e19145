"""The tables of imports: each with how far it has come, and what was received of it, which goes when it was taken."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.infra.db.base import owned

imports = owned(
    "imports",
    Column("id", Uuid, nullable=False),
    Column("state", Text, nullable=False),
    Column("source", Text),
    # Whoever asked for it: '' where the token named no agent, and what it allowed.
    Column("agent", Text, nullable=False),
    Column("rights", ARRAY(Text), nullable=False),
    Column("keeps_trust", Boolean, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    # The last line that was taken, and what became of all up to it: numbers by file and verdict.
    Column("file", Text, nullable=False),
    Column("line", BigInteger, nullable=False),
    Column("counts", JSONB, nullable=False),
    # Ids of elsewhere are whatever somebody wrote there.
    Column("problems_sealed", LargeBinary),
    Column("omitted", Integer, nullable=False),
    Column("failure", Text),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("finished_at", DateTime(timezone=True)),
    PrimaryKeyConstraint("usr", "id"),
    CheckConstraint("state in ('receiving', 'queued', 'running', 'done', 'failed')", name="state"),
)

import_parts = owned(
    "import_parts",
    Column("import_id", Uuid, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("body_sealed", LargeBinary, nullable=False),
    PrimaryKeyConstraint("usr", "import_id", "ordinal"),
    ForeignKeyConstraint(["usr", "import_id"], ["imports.usr", "imports.id"], ondelete="CASCADE"),
)
