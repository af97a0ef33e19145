"""The audit in Postgres, to be shown: each function is one statement."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Row, Select, Text, cast, func, literal, select, tuple_
from sqlalchemy.orm import aliased

from app.audit.model import Filters, Place
from app.infra.audit.tables import Xid8, audit_batches, audit_log
from app.infra.db.transaction import Transaction


async def of_user(tx: Transaction, filters: Filters, before: Place | None, limit: int) -> Sequence[Row[Any]]:
    """Return the user's entries, newest first."""
    asked = _entries(filters).where(audit_log.c.usr == tx.scope.usr).order_by(audit_log.c.id.desc()).limit(limit)
    return await tx.rows(asked if before is None else asked.where(audit_log.c.id < before.id))


async def of_tenant(tx: Transaction, filters: Filters, before: Place | None, limit: int) -> Sequence[Row[Any]]:
    """Return the tenant's entries, those of the newest transaction first."""
    asked = _entries(filters).where(audit_log.c.tenant == tx.scope.tenant)
    if filters.usr is not None:
        asked = asked.where(audit_log.c.usr == filters.usr)
    if before is not None:
        place = tuple_(cast(cast(literal(str(before.xid)), Text), Xid8), literal(before.id))
        asked = asked.where(tuple_(audit_log.c.xid, audit_log.c.id) < place)
    return await tx.rows(asked.order_by(audit_log.c.xid.desc(), audit_log.c.id.desc()).limit(limit))


def _entries(filters: Filters) -> Select[Any]:
    columns = audit_log.c
    asked = select(
        audit_log, cast(cast(columns.xid, Text), BigInteger).label("transaction"), _batch_number().label("batch")
    )
    for column, value in ((columns.action, filters.action), (columns.kind, filters.kind)):
        if value is not None:
            asked = asked.where(column == value)
    if filters.past is not None:
        asked = asked.where(columns.at > filters.past)
    if filters.until is not None:
        asked = asked.where(columns.at <= filters.until)
    return asked


def _batch_number() -> ColumnElement[int]:
    """Return the number of the batch that seals a row: the first of the row's line that ends past its transaction."""
    lines, batches = aliased(audit_batches), aliased(audit_batches)
    past_id = (
        select(func.max(lines.c.past_id))
        .where(lines.c.tenant == audit_log.c.tenant, lines.c.past_id < audit_log.c.id)
        .correlate(audit_log)
        .scalar_subquery()
    )
    return (
        select(batches.c.number)
        .where(
            batches.c.tenant == audit_log.c.tenant,
            batches.c.past_id == past_id,
            batches.c.to_xid > audit_log.c.xid,
            batches.c.from_xid <= audit_log.c.xid,
        )
        .order_by(batches.c.to_xid)
        .limit(1)
        .correlate(audit_log)
        .scalar_subquery()
    )
