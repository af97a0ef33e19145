"""The writer of audit entries that have no transaction of their own: one statement for many, by a role that only
inserts.
"""

import asyncio
from typing import Any

import asyncpg
import structlog

from app.core.audit import AuditEntry
from app.core.scope import Scope

CONNECT_TIMEOUT_S = 5
COMMAND_TIMEOUT_S = 10
# An entry is durable within a second: it waits this long for company, and as long as a commit takes.
GATHER_S = 0.2
RETRY_S = 1.0
BATCH = 1_000
# Beyond this many the newest are refused and counted: memory is bounded even where the log's database is down.
BACKLOG = 50_000

_INSERT = """
INSERT INTO audit_log (tenant, usr, actor, agent, action, kind, item, outcome, request_id, address)
SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::text[],
    $9::text[], $10::text[])
"""

log = structlog.get_logger("cairn.audit")


class AuditWriter:
    """Gathers entries and commits them together. `close` flushes what is left."""

    def __init__(self, url: str) -> None:
        """Take the URL of the insert-only role. It connects at the first flush."""
        self._url = url
        self._waiting: list[tuple[Any, ...]] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False
        self._connection: asyncpg.Connection | None = None
        self.lost = 0

    def put(self, scope: Scope, entry: AuditEntry) -> None:
        """Take one entry; it is durable within a second while the database answers."""
        if len(self._waiting) >= BACKLOG:
            self.lost += 1
            return
        self._waiting.append(
            (
                scope.tenant,
                scope.usr,
                scope.actor.value,
                scope.agent,
                entry.action,
                entry.kind,
                entry.item,
                entry.outcome,
                scope.request_id,
                scope.address,
            ),
        )
        self._idle.clear()
        self._wake.set()

    async def flushed(self) -> None:
        """Wait until what was put so far is durable."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write until `close`. One task of the process runs it."""
        while not (self._closing and not self._waiting):
            await self._wake.wait()
            if not self._closing:
                await asyncio.sleep(GATHER_S)
            await self._flush()
        if self._connection is not None:
            await self._connection.close()

    def close(self) -> None:
        """Let `run` write what is left and end."""
        self._closing = True
        self._wake.set()

    async def _flush(self) -> None:
        batch = self._waiting[:BATCH]
        if not batch:
            self._wake.clear()
            self._idle.set()
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
        if not self._waiting:
            self._wake.clear()
            self._idle.set()
            if self._closing:
                self._wake.set()
