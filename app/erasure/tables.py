"""The erasures: kept, since they are the proof; they hold a reference that leads nowhere and numbers."""

from sqlalchemy import Boolean, Column, DateTime, PrimaryKeyConstraint, Text, UniqueConstraint, Uuid, func
from sqlalchemy.dialects.postgresql import JSONB

from app.infra.db.base import owned

erasures = owned(
    "erasures",
    Column("id", Uuid, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("agent", Text),
    Column("requested_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("stop", Boolean, nullable=False),
    # Whoever runs the steps holds this lease; a request and the worker never run them at once.
    Column("lease_until", DateTime(timezone=True)),
    Column("before", JSONB),
    Column("certificate", JSONB),
    Column("finished_at", DateTime(timezone=True)),
    PrimaryKeyConstraint("usr", "id"),
    UniqueConstraint("usr"),
)
