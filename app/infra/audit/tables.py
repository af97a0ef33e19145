"""The audit's table: content-free rows, append-only."""

from typing import Any

from sqlalchemy import BigInteger, Column, DateTime, Identity, Index, Text, Uuid, func, text
from sqlalchemy.types import UserDefinedType

from app.core.audit import AuditEntry
from app.core.scope import Scope
from app.infra.db.base import owned


class Xid8(UserDefinedType[int]):
    """The 64-bit transaction id of PostgreSQL 13 and later."""

    cache_ok = True

    def get_col_spec(self, **_options: object) -> str:
        """Return the name of the type in SQL."""
        return "xid8"


audit_log = owned(
    "audit_log",
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    # Rows are sealed in batches below a snapshot's xmin: an id watermark leaves rows of slow transactions unsealed.
    Column("xid", Xid8, nullable=False, server_default=text("pg_current_xact_id()")),
    Column("actor", Text, nullable=False),
    Column("agent", Text),
    Column("action", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("item", Uuid),
    Column("outcome", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("address", Text, nullable=False),
    Index(None, "usr", "id"),
)


def audit_row(scope: Scope, entry: AuditEntry) -> dict[str, Any]:
    """Return the content-free row that the audit keeps of an entry."""
    return {
        "tenant": scope.tenant,
        "usr": scope.usr,
        "actor": scope.actor.value,
        "agent": scope.agent,
        "action": entry.action,
        "kind": entry.kind,
        "item": entry.item,
        "outcome": entry.outcome,
        "request_id": scope.request_id,
        "address": scope.address,
    }
