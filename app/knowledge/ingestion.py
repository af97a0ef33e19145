"""Ingestion: a version's bytes become chunks with vectors, then search finds them instead of the version before.

Numbers that are never stored are masked in the text, and bytes that held one go when the version is ready.

It may be killed anywhere and run again: what was embedded is kept, chunk by chunk, and the swap is one transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.core.text.language import language_code
from app.core.text.terms import terms
from app.core.withholding import Registered, holds_secret, withheld_with_places
from app.infra.crypto.box import Box
from app.infra.db.transaction import Database
from app.infra.embedders.models import Models
from app.infra.embedders.port import EmbedderUnavailableError
from app.infra.extraction.extractor import ExtractionUnavailableError, Extractor
from app.infra.extraction.model import Extracted, Heading, Layout, Refusal, RefusedError
from app.infra.segments.packing import Item
from app.infra.segments.store import SegmentStore
from app.knowledge import chunk_store, store, text_store
from app.knowledge.chunking import chunk
from app.knowledge.model import Chunk, Document, Failure, StoredChunk, chunk_id, part_count
from app.knowledge.quota_store import note_chunks, take_turn
from app.knowledge.quotas import Quotas
from app.knowledge.service import INDEX_JOB, INGEST_JOB

BATCH_CHUNKS: Final = 64
# A document that takes the worker down with it is given up after so many beginnings.
MAX_ATTEMPTS: Final = 5
# What stops ingestion and isn't the document's fault.
_NOT_ITS_FAULT: Final = frozenset({"store_unavailable", "overloaded", "in_progress", "processing_stopped"})

log = structlog.get_logger("cairn.knowledge")


class GoneError(Exception):
    """The version that is being ingested was deleted, or replaced by a newer one."""


class IngestDocument:
    """The handler of the job that ingests one version of a document."""

    name = INGEST_JOB

    def __init__(
        self,
        db: Database,
        segments: SegmentStore,
        models: Models,
        extractor: Extractor,
        quotas: Quotas,
        registered: Registered,
    ) -> None:
        """Take the doors, the sealed index of the chunks, what embeds, what reads files, how many chunks a user may
        have, and what knows the numbers that a tenant never stores.
        """
        self._db = db
        self._quotas = quotas
        self._segments = segments
        self._models = models
        self._extractor = extractor
        self._registered = registered

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Ingest the version, or find that there is nothing to ingest any more."""
        document_id, version = UUID(str(args["document_id"])), int(args["version"])
        entry = AuditEntry("ingest", "document", document_id)
        try:
            if await self._begin(scope, document_id, version, entry):
                await self._ingest(scope, document_id, version, entry)
        except GoneError:
            log.info("ingestion_overtaken", document=str(document_id), version=version)
        except RefusedError as error:
            await self._fail(scope, document_id, version, Failure(error.reason.value), entry)
        except (AppError, EmbedderUnavailableError, ExtractionUnavailableError) as error:
            if isinstance(error, AppError) and error.code == Failure.QUOTA_EXCEEDED.value:
                await self._fail(scope, document_id, version, Failure.QUOTA_EXCEEDED, entry)
                return
            unavailable = error if isinstance(error, AppError) else AppError("store_unavailable")
            if unavailable.code in _NOT_ITS_FAULT:
                async with self._db.maintain(scope) as tx:
                    await store.give_back(tx, document_id, version, entry)
            raise unavailable from error

    async def _begin(self, scope: Scope, document_id: UUID, version: int, entry: AuditEntry) -> bool:
        async with self._db.write(scope) as tx:
            attempts = await store.start(tx, document_id, version, entry)
            if attempts is not None and attempts > MAX_ATTEMPTS:
                await store.fail(tx, document_id, version, Failure.GAVE_UP, entry)
        return attempts is not None and attempts <= MAX_ATTEMPTS

    async def _fail(self, scope: Scope, document_id: UUID, version: int, failure: Failure, entry: AuditEntry) -> None:
        log.info("ingestion_failed", document=str(document_id), version=version, failure=failure.value)
        async with self._db.write(scope) as tx:
            await store.fail(tx, document_id, version, failure, entry)
            if failure is Failure.QUOTA_EXCEEDED:
                await chunk_store.trim(tx, document_id, version, 0, entry)

    async def _ingest(self, scope: Scope, document_id: UUID, version: int, entry: AuditEntry) -> None:
        document = await self._document(scope, document_id, version)
        extracted = await self._extractor.extract(
            document.media_type, document.size_bytes, self._parts(scope, document)
        )
        finder = await self._registered.enter(scope.tenant)
        text, layout, is_masked = await asyncio.to_thread(_withheld, extracted)
        pieces = await asyncio.to_thread(chunk, text, document.media_type, layout)
        if not pieces:
            raise RefusedError(Refusal.NO_TEXT)
        async with self._db.read(scope) as tx:
            # Before anything is embedded; it is decided as the chunks are written, where nobody else can write any.
            await self._quotas.require_chunks(tx, document_id, len(pieces))
        items: list[Item] = []
        for first in range(0, len(pieces), BATCH_CHUNKS):
            batch = pieces[first : first + BATCH_CHUNKS]
            stored, box = await self._embedded(scope, document, first, batch)
            progress = (first + len(batch)) / (len(pieces) + 1)
            async with self._db.write(scope) as tx:
                await take_turn(tx)
                await self._quotas.require_chunks(tx, document_id, first + len(batch))
                if not await store.advance(tx, document_id, version, progress, entry):
                    raise GoneError
                await chunk_store.put(tx, document_id, version, stored, entry)
            items += await asyncio.to_thread(_items, document, stored, box)
        if await self._registered.enter(scope.tenant) is not finder:
            # Something was registered meanwhile: the text is masked anew, before anybody can find it.
            return await self._ingest(scope, document_id, version, entry)
        ready = replace(document, encoding=extracted.encoding, original_kept=not is_masked)
        return await self._swap(scope, ready, items, entry)

    async def _document(self, scope: Scope, document_id: UUID, version: int) -> Document:
        async with self._db.read(scope) as tx:
            document = await store.find(tx, document_id)
        if document is None or document.version != version:
            raise GoneError
        return document

    async def _parts(self, scope: Scope, document: Document) -> AsyncIterator[bytes]:
        """Yield the bytes part by part, no more than one of them held."""
        for ordinal in range(part_count(document.size_bytes)):
            async with self._db.read(scope) as tx:
                part = await store.part(tx, document.id, document.version, ordinal)
            if part is None:
                raise GoneError
            yield part

    async def _embedded(
        self,
        scope: Scope,
        document: Document,
        first: int,
        pieces: Sequence[Chunk],
    ) -> tuple[Sequence[StoredChunk], Box]:
        """Return chunks with their vectors; a text that the user has already is not embedded again."""
        async with self._db.read(scope) as tx:
            box = tx.box
            tags = [chunk_store.text_tag(box, piece.text) for piece in pieces]
            known = {name: await text_store.known_vectors(tx, set(tags), name) for name in self._models.names}
        texts = dict(zip(tags, (piece.text for piece in pieces), strict=True))
        new = {tag: text for tag, text in texts.items() if any(tag not in vectors for vectors in known.values())}
        made = await self._models.embed(scope, list(new.values()))
        vectors = {name: {**known[name], **dict(zip(new, rows, strict=True))} for name, rows in made.items()}
        by_tag = {tag: {name: made[tag] for name, made in vectors.items()} for tag in texts}
        stored = [
            StoredChunk(chunk_id(document.id, document.version, ordinal), ordinal, piece, tag, by_tag[tag])
            for ordinal, (piece, tag) in enumerate(zip(pieces, tags, strict=True), first)
        ]
        return stored, box

    async def _swap(
        self,
        scope: Scope,
        document: Document,
        items: Sequence[Item],
        entry: AuditEntry,
    ) -> None:
        """Make this version the one that is searched, and let go of the one before, in one transaction."""
        document_id, version = document.id, document.version
        async with self._db.write(scope) as tx:
            await store.lock(tx, document_id)
            current = await store.find(tx, document_id)
            if current is None or not await store.finish(tx, document_id, version, document.encoding, entry):
                raise GoneError
            if not document.original_kept:
                await store.drop_original(tx, document_id, version, entry)
            await chunk_store.trim(tx, document_id, version, len(items), entry)
            versions = [version]
            if current.indexed_version is not None:
                versions.append(current.indexed_version)
                before = await chunk_store.ids_of_version(tx, document_id, current.indexed_version)
                await self._segments.remove(tx, before, entry)
            await self._segments.add(tx, items, entry)
            await chunk_store.note_changes(tx, document_id, versions, entry)
            if not await store.search_in(tx, document_id, version, datetime.now(UTC), entry):
                raise GoneError
            await note_chunks(tx, entry)
            await store.drop_versions(tx, document_id, [version], entry)
            tx.enqueue(Job(INDEX_JOB, once=INDEX_JOB))


def _withheld(extracted: Extracted) -> tuple[str, Layout, bool]:
    """Return the text without what is never stored, its headings and pages, and whether the file held such."""
    layout = extracted.layout
    places = [*layout.pages, *(place for each in layout.headings for place in (each.start, each.end))]
    text, moved = withheld_with_places(extracted.text, places)
    count = len(layout.pages)
    bounds = zip(moved[count::2], moved[count + 1 :: 2], strict=True)
    headings = tuple(
        Heading(start, end, each.level) for (start, end), each in zip(bounds, layout.headings, strict=True)
    )
    is_masked = text != extracted.text or holds_secret(extracted.aside)
    return text, Layout(headings, tuple(moved[:count])), is_masked


def _items(document: Document, stored: Sequence[StoredChunk], box: Box) -> list[Item]:
    """Return what the sealed index keeps of chunks. The headings above a chunk are among its words."""
    time_ms = int(document.created_at.timestamp() * 1000)
    return [
        Item(
            id=one.id,
            group=document.id,
            ordinal=one.ordinal,
            time_ms=time_ms,
            terms=box.term_ids(terms(_with_headings(one.chunk))),
            language=language_code(one.chunk.text),
            beside=one.vectors,
        )
        for one in stored
    ]


def _with_headings(piece: Chunk) -> str:
    above = [heading for heading in piece.location.headings if heading not in piece.text]
    return "\n".join([*above, piece.text])
