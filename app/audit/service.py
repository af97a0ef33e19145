"""Showing trails, and verifying them."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from app.audit import store
from app.audit.model import Entry, Filters, Page, Place
from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Operator, Scope
from app.infra.audit.reasons import opened_reason
from app.infra.audit.verifying import Verdict, Verifier
from app.infra.db.transaction import Database

_KIND = "audit"
_GONE = frozenset({"erasing", "erased"})


class Trails:
    """What was done with users' memory. A user sees their own trail, an operator that of the tenant."""

    def __init__(self, db: Database, verifier: Verifier) -> None:
        """Take the doors, and what verifies."""
        self._db = db
        self._verifier = verifier
        # Hashing takes a core: one at a time of each process.
        self._verifying = asyncio.Lock()

    async def own(self, scope: Scope, filters: Filters, before: Place | None, limit: int) -> Page:
        """Return the user's entries, newest first, below the place `before`."""
        async with self._db.read(scope) as tx:
            rows = await store.of_user(tx, filters, before, limit + 1)
            tx.saw(AuditEntry("list", _KIND))
        return await self._page(rows, limit)

    async def of_tenant(self, operator: Operator, filters: Filters, before: Place | None, limit: int) -> Page:
        """Return the entries of the operator's tenant, newest first, below the place `before`."""
        async with self._db.administer(operator) as tx:
            rows = await store.of_tenant(tx, filters, before, limit + 1)
            tx.saw(AuditEntry("list", _KIND, filters.usr))
        return await self._page(rows, limit)

    async def verify_own(self, scope: Scope, first: int) -> Verdict:
        """Verify the chain that the user's entries are on, from a batch on, and count those of the user."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("verify", _KIND))
        return await self._verify(scope.tenant, scope.usr, first)

    async def verify_tenant(self, operator: Operator, first: int) -> Verdict:
        """Verify the chain of the operator's tenant from a batch on."""
        async with self._db.administer(operator) as tx:
            tx.saw(AuditEntry("verify", _KIND))
        return await self._verify(operator.tenant, None, first)

    async def _verify(self, tenant: str, usr: UUID | None, first: int) -> Verdict:
        async with self._verifying:
            return await self._verifier.verify(tenant, usr, first)

    async def _page(self, rows: Sequence[Row[Any]], limit: int) -> Page:
        return Page([entry_of(row, await self._reason(row)) for row in rows[:limit]], more=len(rows) > limit)

    async def _reason(self, row: Row[Any]) -> str | None:
        """Return why an operator acted; None where they didn't say, and where the user is no more."""
        if row.reason_sealed is None:
            return None
        try:
            box = await self._db.box(Scope(row.tenant, row.usr, None))
        except AppError as error:
            if error.code not in _GONE:
                raise
            return None
        return opened_reason(row.reason_sealed, row.request_id, box)


def entry_of(row: Row[Any], reason: str | None) -> Entry:
    """Return a row as an entry of the trail."""
    return Entry(
        place=Place(row.transaction, row.id),
        at=row.at,
        usr=row.usr,
        actor=row.actor,
        agent=row.agent,
        operator=row.operator,
        action=row.action,
        kind=row.kind,
        item=row.item,
        outcome=row.outcome,
        request_id=row.request_id,
        address=row.address,
        reason=reason,
        batch=row.batch,
    )
