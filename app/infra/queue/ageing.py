"""Looks again and again for what has become too old, and owes its users the job that removes it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import structlog

from app.core.ageing import Ageing
from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Actor, Scope
from app.infra.db.transaction import Database

# What is kept for days may go some minutes later.
LOOKS_EVERY_S: Final = 900.0
GONE_CODES: Final = frozenset({"erasing", "erased"})

log = structlog.get_logger("cairn.ageing")


class AgeWatch:
    """Looks in each worker. A job is owed once, however many look."""

    def __init__(self, db: Database, kinds: Sequence[Ageing]) -> None:
        """Take the doors, and the kinds of memory that become too old."""
        self._db = db
        self._kinds = kinds

    async def run(self, stop: asyncio.Event) -> None:
        """Look until `stop` is set. A store that is down is for the next look."""
        while not stop.is_set():
            try:
                await self.look()
            except AppError as error:
                log.warning("ageing_waits", code=error.code)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOKS_EVERY_S):
                    await stop.wait()

    async def look(self) -> int:
        """Owe each user who has something too old its removal; return how many jobs that were."""
        owed = 0
        for kind in self._kinds:
            async for tenant, usr in kind.due():
                try:
                    async with self._db.maintain(Scope(tenant, usr, None, Actor.WORKER)) as tx:
                        tx.enqueue(Job(kind.job, once=kind.job))
                        owed += 1
                except AppError as error:
                    if error.code not in GONE_CODES:
                        raise
        return owed
