"""The table of usage: numbers, and no content."""

from sqlalchemy import BigInteger, Column, Date, Index, Integer, PrimaryKeyConstraint, Text

from app.infra.db.base import owned

usage = owned(
    "usage",
    Column("day", Date, nullable=False),
    # Empty for calls of no agent.
    Column("agent", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("hits", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("took_us", BigInteger, nullable=False),
    Column("missed", Integer, nullable=False),
    Column("useful", Integer, nullable=False),
    Column("useless", Integer, nullable=False),
    PrimaryKeyConstraint("usr", "day", "agent", "kind"),
    Index(None, "tenant", "day"),  # sums over a tenant
)
