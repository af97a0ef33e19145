"""Archives are received part by part, each sealed at once: nothing of them stands anywhere that can be read."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection
from typing import Final
from uuid import UUID

import structlog

from app.core.audit import AuditEntry
from app.core.errors import AppError, invalid
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.portability import manifest, store
from app.portability.importing import FETCH_S, IMPORT_JOB, SWEEP_JOB
from app.portability.model import MAX_WAITING, PART_BYTES, Failure, Import, Source, UnreadableError
from app.portability.unzipping import MAX_RATIO, Archive

# What isn't received completely after this time is given up.
RECEIVING_S: Final = 6 * 3600
_ZIP: Final = b"PK\x03\x04"

log = structlog.get_logger("cairn.portability")


class Receiving:
    """One archive that is being received. At most one part of it is held in memory."""

    def __init__(self, db: Database, scope: Scope, most_bytes: int) -> None:
        """Take the doors, and how large an archive may be."""
        self._db = db
        self._scope = scope
        self._most_bytes = most_bytes
        self.id = uuid7()
        self._entry = AuditEntry("import", "import", self.id)
        self._held = bytearray()
        self._digest = hashlib.sha256()
        self._head = b""
        self._parts = 0
        self._size_bytes = 0
        self._is_complete = False

    @property
    def digest(self) -> bytes:
        """What stands for all that was received."""
        return self._digest.digest()

    async def receive(self, stream: AsyncIterator[bytes]) -> None:
        """Take all of a stream. Raises `too_large`, and `invalid` where it is empty."""
        async for data in stream:
            self._size_bytes += len(data)
            if self._size_bytes > self._most_bytes:
                raise AppError("too_large", f"an archive may have {self._most_bytes} bytes")
            self._digest.update(data)
            self._held += data
            while len(self._held) >= PART_BYTES:
                await self._keep(PART_BYTES)
        if not self._size_bytes:
            raise invalid("body", "is empty")
        await self._keep(len(self._held))

    async def finish(
        self, source: Source | None, rights: Collection[str], sub: str | None, attempt: Attempt | None
    ) -> Import:
        """Owe the import. Raises `invalid` for what is no whole archive of this product's, where it should be one."""
        if source is None and self._head.startswith(_ZIP):
            source = Source.CAIRN
        keeps_trust = source is Source.CAIRN and manifest.is_of(await self._subject(), sub)
        async with self._db.write(self._scope, attempt) as tx:
            queued = await store.queue(
                tx, self.id, source, self._size_bytes, rights, self._entry, keeps_trust=keeps_trust
            )
            made = await store.find(tx, self.id)
            if not queued or made is None:
                raise AppError("conflict", f"an archive must be complete within {RECEIVING_S} seconds")
            tx.enqueue(Job(IMPORT_JOB, {"import_id": str(self.id)}))
            await tx.answer(made)
        self._is_complete = True
        return made

    async def give_up(self) -> None:
        """Delete what was received, unless all of it was."""
        if self._is_complete or not self._parts:
            return
        try:
            async with self._db.maintain(self._scope) as tx:
                await store.drop_received(tx, self.id, self._entry)
        except AppError as error:
            # Whoever is forgotten, or swept later: either way it goes.
            log.info("import_left_to_the_sweep", import_id=str(self.id), code=error.code)

    async def _keep(self, size_bytes: int) -> None:
        if not size_bytes:
            return
        body = bytes(self._held[:size_bytes])
        async with self._db.write(self._scope) as tx:
            if not self._parts:
                if await store.count_waiting(tx) >= MAX_WAITING:
                    raise AppError("conflict", f"{MAX_WAITING} imports wait already")
                await store.create(tx, self.id, self._scope.agent, self._entry)
                tx.enqueue(Job(SWEEP_JOB, {"import_id": str(self.id)}, delay_s=RECEIVING_S))
                self._head = body[: len(_ZIP)]
            await store.add_part(tx, self.id, self._parts, body, self._entry)
        del self._held[:size_bytes]
        self._parts += 1

    async def _subject(self) -> manifest.SubjectRecord | None:
        """Return whose archive it is, by its own words. Raises `invalid` for one that can't be read."""
        loop = asyncio.get_running_loop()

        async def part(ordinal: int) -> bytes:
            async with self._db.read(self._scope) as tx:
                return await store.part(tx, self.id, ordinal) or b""

        def fetch(ordinal: int) -> bytes:
            return asyncio.run_coroutine_threadsafe(part(ordinal), loop).result(FETCH_S)

        try:
            archive = await asyncio.to_thread(Archive, self._size_bytes, fetch, self._most_bytes * MAX_RATIO)
        except UnreadableError as error:
            raise invalid("body", _WORDS.get(error.failure, "isn't an archive of this product's")) from None
        return archive.manifest.subject


_WORDS: Final = {
    Failure.INCOMPLETE: "broke off: the archive has no manifest.json",
    Failure.UNSUPPORTED_VERSION: "is an archive of a later version",
    Failure.TOO_MANY_FILES: "has too many files",
}


class Imports:
    """Receives archives, and tells what became of them."""

    def __init__(self, db: Database, most_bytes: int) -> None:
        """Take the doors, and how large an archive may be."""
        self._db = db
        self._most_bytes = most_bytes

    def begin(self, scope: Scope) -> Receiving:
        """Begin to receive an archive; whoever does must give it up where it isn't finished."""
        return Receiving(self._db, scope, self._most_bytes)

    async def read(self, scope: Scope, import_id: UUID) -> Import:
        """Return how far an import has come, and what became of its records. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            found = await store.find(tx, import_id)
            if found is None:
                raise AppError("not_found")
            tx.saw(AuditEntry("read", "import", import_id))
            return found
