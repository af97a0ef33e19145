"""Which patterns a tenant has registered, known to every process: never an older state than what was answered.

A process goes by what it has read for HOLD_S, counted on its own clock from before it asked. It asks for one number,
that of the last change of any tenant's patterns, and reads a tenant's patterns again where the number has moved. Who
changes a pattern waits after the commit until what others may hold has run out (`settled`), and answers then.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from cachetools import LRUCache
from sqlalchemy import text

from app.core import clock
from app.core.scope import Operator
from app.core.withholding import Finder, withhold_also
from app.infra.db.transaction import Database
from app.verifications.patterns import store
from app.verifications.patterns.expression import Expressions, compiled

HOLD_S: Final = 0.5
# How far the clocks of two machines may drift apart in that time, and much more.
DRIFT_S: Final = 0.1
MAX_TENANTS: Final = 1_000
_LAST_CHANGE: Final = text("SELECT secret_patterns_number() AS number")


@dataclass(frozen=True, slots=True)
class _Held:
    number: int
    versions: Mapping[str, int]
    finder: Expressions


class RegisteredPatterns:
    """The patterns of tenants, as this process may go by them. A `Registered` of app.core.withholding."""

    def __init__(self, db: Database) -> None:
        """Take the doors. It asks at the first question."""
        self._db = db
        self._number = -1
        self._asked_at = self._good_until = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._held: LRUCache[str, _Held] = LRUCache(MAX_TENANTS)

    async def enter(self, tenant: str) -> Finder:
        """Have what this task takes in masked by what the tenant has registered too. Raises `store_unavailable`."""
        began = clock.now_s()
        while clock.now_s() >= self._good_until and self._asked_at < began:
            await asyncio.shield(self._renewing())
        held = self._held.get(tenant)
        if held is None or held.number != self._number:
            held = await self._read(tenant)
        withhold_also(held.finder)
        return held.finder

    async def settled(self) -> None:
        """Wait, after a change was committed, until no process goes by anything older."""
        self._good_until = float("-inf")
        await asyncio.sleep(HOLD_S + DRIFT_S)

    def _renewing(self) -> asyncio.Task[None]:
        """Return the question that is being asked, once for all who wait: where it fails, it fails for all of them."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._renew())
            self._asking.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
        return self._asking

    async def _renew(self) -> None:
        asked_at = clock.now_s()
        row = await self._db.glance(_LAST_CHANGE)
        self._number, self._asked_at, self._good_until = row.number, asked_at, asked_at + HOLD_S

    async def _read(self, tenant: str) -> _Held:
        number = self._number  # read before the patterns: where they are newer, they are read once more
        # Nobody operates: what is a tenant's own is read for any of its users.
        async with self._db.administer(Operator("", tenant, None)) as tx:
            entries = await store.registered(tx)
        held = self._held.get(tenant)
        versions = {entry.name: entry.version for entry in entries}
        if held is None or held.versions != versions:  # else the change was another tenant's
            said = [(entry.name, entry.registration) for entry in entries]
            finder = Expressions([compiled(name, each) for name, each in said if each is not None])
            held = _Held(number, versions, finder)
        held = replace(held, number=number)
        self._held[tenant] = held
        return held
