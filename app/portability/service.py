"""Exports: one archive of everything about a user, read in one transaction, and given away while it is read.

Nothing of it is kept, in memory or on a disk. What a slow client costs is bounded: a transaction that stays open too
long keeps PostgreSQL from tidying up.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import structlog

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.ids import show
from app.core.moments import NOW
from app.core.portability import ArchiveFile, Exported
from app.core.scope import Scope
from app.infra.db.snapshots import look
from app.infra.db.transaction import Database, Transaction
from app.portability import manifest
from app.portability.manifest import Manifest, SubjectRecord
from app.portability.zipping import Zip

# A client that takes nothing for so long is given up: before the server ends the transaction for being idle.
STALL_S: Final = 30.0
# Whoever takes longer than this holds one snapshot of the database too long.
EXPORT_S: Final = 3_600.0
# How often an export looks whether its user is still there.
LOOK_S: Final = 1.0
# Each holds a connection: so many of one process leave most of the pool to everybody else.
MAX_AT_ONCE: Final = 2
# What waits for the client: as many chunks.
AHEAD: Final = 4

log = structlog.get_logger("cairn.portability")


class StalledError(Exception):
    """The client doesn't take the archive any more."""


class Exports:
    """Makes archives of users' data."""

    def __init__(
        self,
        db: Database,
        kinds: Sequence[Exported[Transaction]],
        left_out: Mapping[str, str],
        *,
        stall_s: float = STALL_S,
    ) -> None:
        """Take the doors, every kind of a user's data that is given, and why others aren't."""
        self._db = db
        self._kinds = kinds
        self._left_out = left_out
        self._stall_s = stall_s
        self._running = 0

    async def begin(self, scope: Scope, sub: str | None) -> AsyncIterator[bytes]:
        """Return the archive, part by part. When this returns the audit has the export, and its first part is read.

        `sub` is who the user is to the issuer of their token; None where an operator asks. Raises `overloaded` where
        too many run. An archive that can't be finished breaks off: it isn't taken for a whole one.
        """
        if self._running >= MAX_AT_ONCE:
            raise AppError("overloaded", "too many exports run", headers={"Retry-After": "5"})
        self._running += 1
        ahead: asyncio.Queue[bytes] = asyncio.Queue(AHEAD)
        producing = asyncio.create_task(self._produce(scope, manifest.subject_of(sub), ahead))
        producing.add_done_callback(self._ended)
        try:
            first = await _next(ahead, producing)
        except BaseException:
            producing.cancel()
            raise
        return _given(first, ahead, producing)

    def _ended(self, producing: asyncio.Task[None]) -> None:
        self._running -= 1
        if not producing.cancelled() and (error := producing.exception()) is not None:
            log.warning("export_broke_off", error=getattr(error, "code", type(error).__name__))

    async def _produce(self, scope: Scope, subject: SubjectRecord | None, ahead: asyncio.Queue[bytes]) -> None:
        loop = asyncio.get_running_loop()
        looked = loop.time()
        async with asyncio.timeout(EXPORT_S), self._db.read(scope) as tx:
            await self._db.saw(scope, AuditEntry("export", "user", scope.usr))
            async for chunk in self._archive(tx, subject):
                await self._put(ahead, chunk)
                if loop.time() - looked > LOOK_S:
                    # This transaction sees the user as they were. Who is forgotten meanwhile isn't read to the end.
                    async with self._db.read(scope):
                        looked = loop.time()

    async def _put(self, ahead: asyncio.Queue[bytes], chunk: bytes) -> None:
        try:
            async with asyncio.timeout(self._stall_s):
                await ahead.put(chunk)
        except TimeoutError:
            raise StalledError from None

    async def _archive(self, tx: Transaction, subject: SubjectRecord | None) -> AsyncIterator[bytes]:
        now = datetime.now(UTC)
        snapshot = await look(tx, NOW)
        archive = Zip(now)
        for kind in self._kinds:
            async for file in kind.files(tx):
                async for chunk in archive.add(file):
                    yield chunk
        said = Manifest.kept(
            format=manifest.FORMAT,
            format_version=manifest.FORMAT_VERSION,
            product_version=manifest.product_version(),
            exported_at=now,
            snapshot=snapshot.id,
            user_id=show("usr", tx.scope.usr),
            subject=subject,
            counts=manifest.counts_of({file.path: file.records for file in archive.files}),
            left_out=dict(self._left_out),
            files=archive.files,
        )
        async for chunk in archive.add(ArchiveFile(manifest.FILE, _once(said.model_dump_json(indent=1).encode()))):
            yield chunk
        yield archive.close()


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _given(
    first: bytes | None, ahead: asyncio.Queue[bytes], producing: asyncio.Task[None]
) -> AsyncIterator[bytes]:
    try:
        chunk = first
        while chunk is not None:
            yield chunk
            chunk = await _next(ahead, producing)
    finally:
        # A client that hung up: the transaction isn't held for it.
        producing.cancel()


async def _next(ahead: asyncio.Queue[bytes], producing: asyncio.Task[None]) -> bytes | None:
    """Return the next part, None after the last. Raises what has ended the export before its end."""
    getting = asyncio.ensure_future(ahead.get())
    try:
        await asyncio.wait({getting, producing}, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            return getting.result()
    finally:
        getting.cancel()
    if not ahead.empty():
        return ahead.get_nowait()
    await producing
    return None
