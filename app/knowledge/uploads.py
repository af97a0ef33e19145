"""Uploads: a file is sealed part by part as it streams in, in short transactions, and is a document at its end."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog

from app.core.audit import AuditEntry
from app.core.errors import AppError, invalid
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.db.transaction import Database, Transaction
from app.infra.extraction.model import MediaType
from app.infra.extraction.recognising import HEAD_BYTES, UnknownKindError, recognise
from app.knowledge import store
from app.knowledge.model import MAX_DOCUMENT_BYTES, PART_BYTES, Content, Description, Document
from app.knowledge.quota_store import take_turn
from app.knowledge.quotas import Quotas
from app.knowledge.service import SWEEP_JOB, content_tag, known, queue_ingestion

# An upload that isn't complete after this time is given up.
UPLOAD_LIFE_S: Final = 6 * 3600
READ_KINDS: Final = "text, markdown, HTML, CSV, PDF and DOCX"

log = structlog.get_logger("cairn.knowledge")


class Upload:
    """One file that is being received. At most one part of it is held in memory."""

    def __init__(
        self,
        db: Database,
        scope: Scope,
        quotas: Quotas,
        max_bytes: int,
        document_id: UUID | None = None,
        at: datetime | None = None,
    ) -> None:
        """Take the doors, how much the user may give, and the largest size; of a document that comes from elsewhere the
        id that it gets, and when it was given there. Made by `Uploads.receive`.
        """
        self._db = db
        self._scope = scope
        self._quotas = quotas
        self._max_bytes = max_bytes
        self.id = document_id or uuid7()
        self._at = at
        self._entry = AuditEntry("create", "document", self.id)
        self._held = bytearray()
        self._digest = hashlib.sha256()
        self._media_type: MediaType | None = None
        self._parts = 0
        self._size_bytes = 0
        self.is_complete = False

    async def write(self, data: bytes) -> None:
        """Take the next bytes. Raises `too_large`, and `unsupported_media_type` for what isn't read."""
        self._size_bytes += len(data)
        if self._size_bytes > self._max_bytes:
            raise AppError("too_large", f"a document may have {self._max_bytes} bytes")
        self._digest.update(data)
        self._held += data
        if self._media_type is None and len(self._held) >= HEAD_BYTES:
            self._media_type = _recognised(bytes(self._held[:HEAD_BYTES]), whole=False)
        while len(self._held) >= PART_BYTES:
            async with self._db.write(self._scope) as tx:
                await self._keep_part(tx)

    async def finish(self, description: Description, attempt: Attempt | None) -> Document:
        """Make a document of what was received and owe its ingestion; of what is known already that document.

        Raises `invalid` for an empty file, `quota_exceeded`.
        """
        if not self._size_bytes:
            raise invalid("file", "is empty")
        media_type = self._media_type or _recognised(bytes(self._held), whole=True)
        async with self._db.write(self._scope, attempt) as tx:
            await take_turn(tx)
            content = Content(media_type, self._size_bytes, content_tag(tx, self._digest.hexdigest()))
            document = await known(tx, content, description)
            if document is None:
                if self._held:
                    await self._keep_part(tx)
                else:
                    await self._quotas.require_room(tx, self._size_bytes)
                document = await queue_ingestion(tx, self.id, 1, description, content, self._entry)
            await tx.answer(document, document.id)
        self.is_complete = document.id == self.id
        return document

    async def give_up(self) -> None:
        """Delete what was received."""
        if not self._parts:
            return
        try:
            async with self._db.maintain(self._scope) as tx:
                await store.drop_received(tx, self.id, AuditEntry("delete", "document", self.id))
        except AppError as error:
            # Whoever is forgotten, or swept later: either way it goes.
            log.info("upload_left_to_the_sweep", document=str(self.id), code=error.code)

    async def _keep_part(self, tx: Transaction) -> None:
        """Write a part. What can't become a document any more isn't received to its end."""
        await self._quotas.require_room(tx, self._size_bytes)
        if not self._parts:
            now = datetime.now(UTC)
            now = min(self._at or now, now)
            await store.create(tx, self.id, now, self._entry)
            await store.receive(tx, self.id, 1, now, self._entry)
            if len(self._held) >= PART_BYTES:  # more may follow, and may never come
                tx.enqueue(Job(SWEEP_JOB, {"document_id": str(self.id)}, delay_s=UPLOAD_LIFE_S))
        elif not await store.is_receiving(tx, self.id, 1):
            raise AppError("conflict", f"an upload must be complete within {UPLOAD_LIFE_S} seconds")
        await store.add_part(tx, self.id, 1, self._parts, bytes(self._held[:PART_BYTES]), self._entry)
        del self._held[:PART_BYTES]
        self._parts += 1


class Uploads:
    """Receives the files of users."""

    def __init__(self, db: Database, quotas: Quotas, max_bytes: int = MAX_DOCUMENT_BYTES) -> None:
        """Take the doors, how much a user may give, and the largest size of a document."""
        self._db = db
        self._quotas = quotas
        self._max_bytes = max_bytes

    @asynccontextmanager
    async def receive(
        self, scope: Scope, document_id: UUID | None = None, at: datetime | None = None
    ) -> AsyncIterator[Upload]:
        """Open an upload. What isn't finished when this is left is deleted: a client hung up, a file was refused.

        A document that comes from elsewhere has an id already, and a time at which it was given.
        """
        upload = Upload(self._db, scope, self._quotas, self._max_bytes, document_id, at)
        try:
            yield upload
        finally:
            if not upload.is_complete:
                await upload.give_up()


class SweepUpload:
    """The handler of the job that deletes an upload which was broken off by a crash."""

    name = SWEEP_JOB

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Delete it, unless it was completed."""
        document_id = UUID(str(args["document_id"]))
        async with self._db.maintain(scope) as tx:
            await store.drop_received(tx, document_id, AuditEntry("delete", "document", document_id))


def _recognised(head: bytes, *, whole: bool) -> MediaType:
    try:
        return recognise(head, whole=whole)
    except UnknownKindError as error:
        raise AppError("unsupported_media_type", f"the file {error}; {READ_KINDS} are read") from error
