"""Usage in Postgres: one row for a kind, an agent and a day, which each context raises."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from sqlalchemy import ColumnElement, Date, Row, Text, bindparam, func, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction
from app.usage.model import Counts, DayCounts, KindCounts, Span
from app.usage.tables import usage

COUNTED: Final = ("calls", "hits", "tokens", "took_us", "missed", "useful", "useless")
_SUMS: Final = tuple(func.coalesce(func.sum(usage.c[name]), 0).label(name) for name in COUNTED)
_KEY: Final = (usage.c.day, usage.c.agent, usage.c.kind)
_OF_TENANT: Final = text("SELECT * FROM tenant_usage(:first, :last)").bindparams(
    bindparam("first", type_=Date), bindparam("last", type_=Date)
)

Position = tuple[date, str, str]


async def add(
    tx: Transaction, day: date, agent: str | None, counts: Mapping[str, Mapping[str, int]], entry: AuditEntry
) -> None:
    """Raise the counts of kinds. Always in one order: of two at once neither waits for what the other waits with."""
    rows = [
        {
            **tx.owner,
            "day": day,
            "agent": agent or "",
            "kind": kind,
            **dict.fromkeys(COUNTED, 0),
            **counts[kind],
        }
        for kind in sorted(counts)
    ]
    added = insert(usage).values(rows)
    raised = {name: usage.c[name] + added.excluded[name] for name in COUNTED}
    await tx.change(added.on_conflict_do_update(index_elements=["usr", "day", "agent", "kind"], set_=raised), entry)


async def page(tx: Transaction, span: Span, after: Position | None, limit: int) -> Sequence[DayCounts]:
    """Return the user's counts, newest day first, those that follow `after` where it is given."""
    query = select(usage).where(*_within(tx, span))
    if after is not None:
        day, agent, kind = after
        later = tuple_(usage.c.agent, usage.c.kind) > tuple_(bindparam(None, agent, Text), bindparam(None, kind, Text))
        query = query.where((usage.c.day < day) | ((usage.c.day == day) & later))
    rows = await tx.rows(query.order_by(usage.c.day.desc(), usage.c.agent, usage.c.kind).limit(limit))
    return [DayCounts(row.day, row.agent or None, row.kind, _counts(row)) for row in rows]


async def totals(tx: Transaction, span: Span) -> Sequence[KindCounts]:
    """Return the user's counts of each kind, all days and agents together."""
    query = select(usage.c.kind, *_SUMS).where(*_within(tx, span)).group_by(usage.c.kind).order_by(usage.c.kind)
    return [KindCounts(row.kind, 1, _counts(row)) for row in await tx.rows(query)]


async def of_tenant(tx: Transaction, span: Span) -> Sequence[KindCounts]:
    """Return the counts of each kind for all users of the operator's tenant together."""
    rows = await tx.rows(_OF_TENANT.bindparams(first=span.first, last=span.last))
    return [KindCounts(row.kind, row.users, _counts(row)) for row in rows]


def _within(tx: Transaction, span: Span) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [usage.c.usr == tx.scope.usr]
    if span.first is not None:
        conditions.append(usage.c.day >= span.first)
    if span.last is not None:
        conditions.append(usage.c.day <= span.last)
    if span.agent is not None:
        conditions.append(usage.c.agent == span.agent)
    if span.kind is not None:
        conditions.append(usage.c.kind == span.kind)
    return conditions


def _counts(row: Row[Any]) -> Counts:
    return Counts(**{name: int(getattr(row, name)) for name in COUNTED})
