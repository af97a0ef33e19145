"""Usage: counted with each context, read by the user and, as sums over a tenant, by its operators."""

from collections.abc import Mapping, Sequence
from datetime import date

from app.core.audit import AuditEntry
from app.core.scope import Operator, Scope
from app.core.usage import Mark, Use
from app.infra.db.transaction import Database, Transaction
from app.usage import store
from app.usage.model import KindCounts, Span, UsagePage


class UsageMeter:
    """Counts in somebody else's transaction. A Meter of app.core.usage."""

    async def note(self, tx: Transaction, day: date, uses: Sequence[Use], entry: AuditEntry) -> None:
        """Count one context of the caller's."""
        counts: dict[str, Mapping[str, int]] = {
            use.kind: {
                "calls": 1,
                "hits": use.hits,
                "tokens": use.tokens,
                "took_us": use.took_us,
                "missed": int(use.missed),
            }
            for use in uses
        }
        if counts:
            await store.add(tx, day, tx.scope.agent, counts, entry)

    async def mark(
        self, tx: Transaction, day: date, agent: str | None, marks: Mapping[str, Mark], entry: AuditEntry
    ) -> None:
        """Count what was said of a context of that day and agent, by kind."""
        counts = {kind: {"useful": mark.useful, "useless": mark.useless} for kind, mark in marks.items()}
        if counts:
            await store.add(tx, day, agent, counts, entry)


class Usage:
    """Reads what was counted."""

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def read(self, scope: Scope, span: Span, after: store.Position | None, limit: int) -> UsagePage:
        """Return the caller's counts by day, agent and kind, newest first, and the sums of each kind."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("list", "usage"))
            return UsagePage(await store.page(tx, span, after, limit), await store.totals(tx, span))

    async def of_tenant(self, operator: Operator, span: Span) -> Sequence[KindCounts]:
        """Return the sums of each kind over all users of the operator's tenant."""
        async with self._db.administer(operator) as tx:
            tx.saw(AuditEntry("list", "usage"))
            return await store.of_tenant(tx, span)
