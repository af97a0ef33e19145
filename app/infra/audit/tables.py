"""The audit's tables: content-free rows, and the batches that they are sealed in. Both are append-only."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.types import UserDefinedType

from app.core.audit import AuditEntry
from app.core.scope import Scope
from app.infra.db.base import metadata, owned


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
    # Which operator: a keyed tag of their token's `sub`, shown as an id.
    Column("operator", Uuid),
    # Why an operator acted: sealed under the key of the user it was done to, and gone with it.
    Column("reason_sealed", LargeBinary),
    Index(None, "usr", "id"),
    # A tenant's rows in the order that they are sealed in.
    Index(None, "tenant", "xid", "id"),
)

# What was sealed of a tenant's rows, batch by batch (app/infra/audit/chain.py).
audit_batches = Table(
    "audit_batches",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("previous", LargeBinary, nullable=False),
    Column("past_id", BigInteger, nullable=False),
    Column("from_xid", Xid8, nullable=False),
    Column("to_xid", Xid8, nullable=False),
    Column("last_id", BigInteger, nullable=False),
    Column("row_count", Integer, nullable=False),
    Column("rows_digest", LargeBinary, nullable=False),
    Column("sealed_at", DateTime(timezone=True), nullable=False),
    Column("key_id", Text, nullable=False),
    Column("signature", Text, nullable=False),
    PrimaryKeyConstraint("tenant", "number"),
    Index(None, "tenant", "past_id", "to_xid"),
)


def audit_row(scope: Scope, entry: AuditEntry, reason_sealed: bytes | None = None) -> dict[str, Any]:
    """Return the content-free row that the audit keeps of an entry. An operator's reason is sealed."""
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
        "operator": scope.operator,
        "reason_sealed": reason_sealed,
    }
