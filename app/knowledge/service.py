"""What is done with documents. Each method is one transaction; what must follow is a job in it."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.jobs import Job
from app.core.scope import Scope
from app.core.versions import Precondition, expected
from app.infra.db.transaction import Database, Transaction
from app.infra.extraction.recognising import kind_of
from app.infra.segments.store import SegmentStore
from app.knowledge import chunk_store, store
from app.knowledge.model import PART_BYTES, Content, Description, Document, Page, Status, part_count
from app.knowledge.quota_store import take_turn
from app.knowledge.quotas import Quotas

INGEST_JOB = "ingest_document"
INDEX_JOB = "index_chunks"
REBUILD_JOB = "rebuild_index"
RENEW_JOB = "renew_chunks"
SWEEP_JOB = "sweep_upload"


class Documents:
    """The documents of users."""

    def __init__(self, db: Database, segments: SegmentStore, quotas: Quotas) -> None:
        """Take the doors, the sealed index of the chunks, and how much a user may give."""
        self._db = db
        self._segments = segments
        self._quotas = quotas

    async def add(self, scope: Scope, text: str, description: Description, attempt: Attempt | None) -> Document:
        """Keep a text as a new document and owe its ingestion; the same text, described the same, is the same document.

        Raises `quota_exceeded`.
        """
        body = text.encode()
        async with self._db.write(scope, attempt) as tx:
            await take_turn(tx)
            content = _content(tx, text, body)
            document = await known(tx, content, description)
            if document is None:
                await self._quotas.require_room(tx, len(body))
                document_id, now = uuid7(), datetime.now(UTC)
                entry = AuditEntry("create", "document", document_id)
                await store.create(tx, document_id, now, entry)
                document = await _write(tx, document_id, 1, body, description, content, entry)
            await tx.answer(document, document.id)
        return document

    async def replace(
        self,
        scope: Scope,
        document_id: UUID,
        text: str,
        description: Description,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Document:
        """Keep a text as the document's next version. Search finds the one before until this one is ready.

        Raises `not_found`, `stale_version`, `quota_exceeded`.
        """
        body = text.encode()
        async with self._db.write(scope, attempt) as tx:
            await take_turn(tx)
            version, entry = await self._next_version(tx, document_id, precondition)
            await self._quotas.require_room(tx, len(body), replaced=document_id)
            content = _content(tx, text, body)
            document = await _write(tx, document_id, version, body, description, content, entry)
            await tx.answer(document, document_id)
        return document

    async def retry(
        self,
        scope: Scope,
        document_id: UUID,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Document:
        """Owe the ingestion of a document that failed once more. Raises `not_found`, `stale_version`, `conflict`."""
        async with self._db.write(scope, attempt) as tx:
            document = await locked(tx, document_id)
            expected(precondition, document.version)
            if document.status is not Status.FAILED:
                raise AppError("conflict", "the document hasn't failed")
            document = await _begin_anew(tx, document)
            await tx.answer(document, document_id)
        return document

    async def read(self, scope: Scope, document_id: UUID) -> Document:
        """Return a document in its newest version. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            document = await store.find(tx, document_id)
            if document is None:
                raise AppError("not_found")
            tx.saw(AuditEntry("read", "document", document_id))
            return document

    async def page(self, scope: Scope, after: UUID | None, limit: int) -> Page:
        """Return documents, newest first, older than `after` where given."""
        async with self._db.read(scope) as tx:
            items = await store.page(tx, after, limit + 1)
            tx.saw(AuditEntry("list", "document"))
            return Page(items[:limit], more=len(items) > limit)

    async def delete(
        self,
        scope: Scope,
        document_id: UUID,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> None:
        """Let go of a document, whatever is being done with it. Raises `not_found`, `stale_version`."""
        async with self._db.maintain(scope, attempt) as tx:
            document = await locked(tx, document_id)
            version = expected(precondition, document.version) or document.version
            entry = AuditEntry("delete", "document", document_id)
            if document.indexed_version is not None:
                searched = await chunk_store.ids_of_version(tx, document_id, document.indexed_version)
                await self._segments.remove(tx, searched, entry)
                await chunk_store.note_changes(tx, document_id, [document.indexed_version], entry)
                tx.enqueue(Job(INDEX_JOB, once=INDEX_JOB))
            if not await store.drop(tx, document_id, version, entry):
                raise AppError("not_found")
            await tx.forget_answers(document_id, entry)
            await tx.answer(None)

    async def content(self, scope: Scope, document_id: UUID) -> tuple[Document, AsyncIterator[bytes]]:
        """Return a document and its bytes as they came, part by part. Raises `not_found`, `original_not_kept`."""
        document = await self.read(scope, document_id)
        if not document.original_kept:
            raise AppError("original_not_kept")
        return document, self._parts(scope, document)

    async def _parts(self, scope: Scope, document: Document) -> AsyncIterator[bytes]:
        """Yield the parts, each read in a transaction of its own: a slow reader holds none open."""
        for ordinal in range(part_count(document.size_bytes)):
            async with self._db.read(scope) as tx:
                part = await store.part(tx, document.id, document.version, ordinal)
            if part is None:  # deleted or replaced meanwhile: an answer that breaks off isn't taken for a whole one
                raise AppError("not_found")
            yield part

    async def _next_version(
        self,
        tx: Transaction,
        document_id: UUID,
        precondition: Precondition,
    ) -> tuple[int, AuditEntry]:
        document = await locked(tx, document_id)
        version = expected(precondition, document.version) or document.version
        entry = AuditEntry("replace", "document", document_id)
        if not await store.raise_version(tx, document_id, version, datetime.now(UTC), entry):
            raise AppError("not_found")
        # A version that was never searched is given up; what is being done with it ends by itself.
        searched = [] if document.indexed_version is None else [document.indexed_version]
        await store.drop_versions(tx, document_id, searched, entry)
        return version + 1, entry


async def locked(tx: Transaction, document_id: UUID) -> Document:
    """Return a document that nobody else changes until the transaction ends. Raises `not_found`."""
    await store.lock(tx, document_id)
    document = await store.find(tx, document_id)
    if document is None:
        raise AppError("not_found")
    return document


async def known(tx: Transaction, content: Content, description: Description) -> Document | None:
    """Return the user's document that has these bytes and is described the same; begun anew where it had failed.

    The caller holds the user's turn: of two that come at once, one finds the other's.
    """
    for each in await store.with_content(tx, content.tag):
        if not each.description.says_the_same(description):
            continue
        await store.lock(tx, each.id)
        # Read again: who deleted it meanwhile isn't undone.
        document = await store.find(tx, each.id)
        if document is None or document.version != each.version:
            continue
        tx.saw(AuditEntry("read", "document", document.id))
        return await _begin_anew(tx, document) if document.status is Status.FAILED else document
    return None


async def _begin_anew(tx: Transaction, document: Document) -> Document:
    entry = AuditEntry("retry", "document", document.id)
    if not await store.restart(tx, document.id, document.version, entry):
        raise AppError("conflict", "the document hasn't failed")
    return await _owe_ingestion(tx, document.id, document.version)


def _content(tx: Transaction, text: str, body: bytes) -> Content:
    return Content(kind_of(text), len(body), content_tag(tx, hashlib.sha256(body).hexdigest()))


def content_tag(tx: Transaction, digest: str) -> bytes:
    """Return what the same bytes of a user are known by."""
    return tx.box.tag("document", digest)


async def _write(
    tx: Transaction,
    document_id: UUID,
    version: int,
    body: bytes,
    description: Description,
    content: Content,
    entry: AuditEntry,
) -> Document:
    await store.receive(tx, document_id, version, datetime.now(UTC), entry)
    for ordinal, part in enumerate(_cut(body)):
        await store.add_part(tx, document_id, version, ordinal, part, entry)
    return await queue_ingestion(tx, document_id, version, description, content, entry)


async def queue_ingestion(
    tx: Transaction,
    document_id: UUID,
    version: int,
    description: Description,
    content: Content,
    entry: AuditEntry,
) -> Document:
    """Complete a version whose bytes are all there and owe its ingestion. Raises `not_found` where it is gone."""
    if not await store.queue(tx, document_id, version, description, content, entry):
        raise AppError("not_found")
    return await _owe_ingestion(tx, document_id, version)


async def _owe_ingestion(tx: Transaction, document_id: UUID, version: int) -> Document:
    tx.enqueue(Job(INGEST_JOB, {"document_id": str(document_id), "version": version}))
    document = await store.find(tx, document_id)
    if document is None:
        raise AppError("not_found")
    return document


def _cut(body: bytes) -> Sequence[bytes]:
    return [body[start : start + PART_BYTES] for start in range(0, len(body), PART_BYTES)]
