"""The writer of audit entries that have no transaction of their own: one statement for many, by a role that only
inserts.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import asyncpg
import structlog

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Actor, Scope
from app.infra.audit.tables import audit_row

CONNECT_TIMEOUT_S = 5
COMMAND_TIMEOUT_S = 10
# An entry is durable within a second: it waits this long for company, and as long as a commit takes.
GATHER_S = 0.2
RETRY_S = 1.0
# How long an answer waits for its entry before it is refused instead.
WAIT_S = 5.0
BATCH = 1_000
# Beyond this many the newest are refused and counted: memory is bounded even where the log's database is down.
BACKLOG = 50_000
# Reads that nobody is answered before they are durable, whoever they are.
AWAITED = frozenset({"export"})

_COLUMNS = {
    "tenant": "text",
    "usr": "uuid",
    "actor": "text",
    "agent": "text",
    "action": "text",
    "kind": "text",
    "item": "uuid",
    "outcome": "text",
    "request_id": "text",
    "address": "text",
    "operator": "uuid",
    "reason_sealed": "bytea",
}
_ARRAYS = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(_COLUMNS.values(), 1))
_INSERT = f"INSERT INTO audit_log ({', '.join(_COLUMNS)}) SELECT * FROM unnest({_ARRAYS})"  # noqa: S608 - the names above

log = structlog.get_logger("cairn.audit")


class AuditWriter:
    """Gathers entries and commits them together. `close` flushes what is left."""

    def __init__(self, url: str, *, awaits_reads: bool = False) -> None:
        """Take the URL of the insert-only role. It connects at the first flush.

        With `awaits_reads` every read waits for its entry; otherwise those of operators do, and exports.
        """
        self._url = url
        self._awaits_reads = awaits_reads
        self._waiting: list[tuple[Any, ...]] = []
        self._wake = asyncio.Event()
        # Somebody waits for an answer: no company is waited for.
        self._urgent = asyncio.Event()
        self._put = 0
        self._written = 0
        # How far somebody waits for it.
        self._awaited = 0
        self._progress = asyncio.Condition()
        self._closing = False
        self._connection: asyncpg.Connection | None = None
        self.lost = 0

    def put(self, scope: Scope, entry: AuditEntry) -> None:
        """Take one entry; it is durable within a second while the database answers."""
        self._take(scope, entry, None)

    async def saw(self, scope: Scope, entries: Sequence[AuditEntry], reason_sealed: bytes | None = None) -> None:
        """Take what was read, and wait until it is durable where it must be before the answer."""
        taken = [self._take(scope, entry, reason_sealed) for entry in entries]
        awaited = self._awaits_reads or scope.actor is Actor.OPERATOR
        if taken and (awaited or any(entry.action in AWAITED for entry in entries)):
            if not all(taken):
                raise _unavailable()
            await self.flushed()

    async def flushed(self) -> None:
        """Wait until what was put so far is durable. Raises `store_unavailable` where that takes too long."""
        target = self._awaited = self._put
        self._urgent.set()
        try:
            async with asyncio.timeout(WAIT_S), self._progress:
                await self._progress.wait_for(lambda: self._written >= target)
        except TimeoutError:
            raise _unavailable() from None

    async def run(self) -> None:
        """Write until `close`. One task of the process runs it."""
        while not (self._closing and not self._waiting):
            await self._wake.wait()
            if not self._closing:
                with suppress(TimeoutError):
                    async with asyncio.timeout(GATHER_S):
                        await self._urgent.wait()
            self._urgent.clear()
            await self._flush()
        if self._connection is not None:
            await self._connection.close()

    def close(self) -> None:
        """Let `run` write what is left and end."""
        self._closing = True
        self._wake.set()

    def _take(self, scope: Scope, entry: AuditEntry, reason_sealed: bytes | None) -> bool:
        """Take an entry; False where there are too many."""
        if len(self._waiting) >= BACKLOG:
            self.lost += 1
            return False
        row = audit_row(scope, entry, reason_sealed)
        self._waiting.append(tuple(row[name] for name in _COLUMNS))
        self._put += 1
        self._wake.set()
        return True

    async def _flush(self) -> None:
        batch = self._waiting[:BATCH]
        if not batch:
            self._wake.clear()
            return
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(
                    self._url,
                    timeout=CONNECT_TIMEOUT_S,
                    command_timeout=COMMAND_TIMEOUT_S,
                    statement_cache_size=0,
                )
            await self._connection.execute(_INSERT, *(list(column) for column in zip(*batch, strict=True)))
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            log.warning("audit_waits", waiting=len(self._waiting), lost=self.lost, error=type(error).__name__)
            if self._closing:
                self.lost += len(self._waiting)
                self._waiting.clear()
            await asyncio.sleep(RETRY_S)
            return
        del self._waiting[: len(batch)]
        async with self._progress:
            self._written += len(batch)
            self._progress.notify_all()
        if self._written < self._awaited:
            self._urgent.set()
        if not self._waiting:
            self._wake.clear()


def _unavailable() -> AppError:
    return AppError("store_unavailable", "the audit", headers={"Retry-After": "2"})
