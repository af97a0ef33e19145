"""Whatever happens to a document between two steps of its ingestion wins: it is deleted, or replaced."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import func, select

from app.core.errors import AppError
from app.core.idempotency import Attempt
from app.core.scope import Scope
from app.core.versions import Anything, Exactly
from app.infra.db.transaction import Database, Transaction
from app.infra.extraction.extractor import Extractor
from app.infra.segments.cache import IndexCache
from app.infra.segments.store import SegmentStore
from app.infra.segments.tables import segment_items, segments
from app.knowledge import ingestion
from app.knowledge.ingestion import IngestDocument
from app.knowledge.model import Document, Status
from app.knowledge.tables import chunks, document_parts, document_versions, documents
from tests.conftest import MakeScope
from tests.knowledge.conftest import NOTE, Knowledge
from tests.knowledge.test_ingestion import EN, ENOUGH, CountingEmbedder, counting, long_text

Happens = Callable[[], Awaitable[object]]
TABLES = (documents, document_versions, document_parts, chunks, segment_items, segments)


class InterruptedDatabase(Database):
    """The doors, before the n-th of which something happens."""

    def __init__(self, doors: Database, at: int, happens: Happens) -> None:
        self.__dict__.update(doors.__dict__)
        self._left = at
        self._happens = happens
        self.has_happened = False

    async def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.has_happened = True
            await self._happens()

    @asynccontextmanager
    async def read(self, scope: Scope) -> AsyncIterator[Transaction]:
        await self._count()
        async with super().read(scope) as tx:
            yield tx

    @asynccontextmanager
    async def write(self, scope: Scope, attempt: Attempt | None = None) -> AsyncIterator[Transaction]:
        await self._count()
        async with super().write(scope, attempt) as tx:
            yield tx


async def interrupted(knowledge: Knowledge, scope: Scope, document: Document, at: int, happens: Happens) -> bool:
    """Ingest a document; return whether anything happened before it was done."""
    doors = InterruptedDatabase(knowledge.wiring.db, at, happens)
    store = SegmentStore("chunk", IndexCache(), "counting@1")
    models = counting(CountingEmbedder())
    handler = IngestDocument(doors, store, models, Extractor(), ENOUGH, knowledge.wiring.registered)
    await handler.run(scope, {"document_id": str(document.id), "version": document.version})
    return doors.has_happened


async def kept(knowledge: Knowledge, scope: Scope) -> dict[str, int]:
    async with knowledge.wiring.db.read(scope) as tx:
        return {
            table.name: await tx.scalar(select(func.count()).select_from(table).filter_by(usr=scope.usr))
            for table in TABLES
        }


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "BATCH_CHUNKS", 3)


async def test_deleting_wins_at_every_step_of_ingestion(knowledge: Knowledge, scope: MakeScope) -> None:
    someone, at, happened = await scope(), 0, True
    document = await knowledge.documents.add(someone, "To begin with.", NOTE, None)
    await knowledge.documents.delete(someone, document.id, Anything(), None)
    while happened:
        at += 1
        document = await knowledge.documents.add(someone, long_text(EN, 6_000), NOTE, None)

        async def delete(gone: Document = document) -> None:
            await knowledge.documents.delete(someone, gone.id, Anything(), None)

        happened = await interrupted(knowledge, someone, document, at, delete)
        if happened:
            assert not any((await kept(knowledge, someone)).values()), f"something is left at step {at}"
            with pytest.raises(AppError, match="not_found"):
                await knowledge.documents.read(someone, document.id)
    assert at > 8
    assert (await knowledge.documents.read(someone, document.id)).status is Status.READY


async def test_a_new_version_wins_at_every_step_of_the_ingestion_of_the_one_before(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    at, happened = 0, True
    while happened:
        at += 1
        someone = await scope()
        first = await knowledge.documents.add(someone, long_text(EN, 4_000), NOTE, None)

        async def replace(to: Scope = someone, old: Document = first) -> None:
            precondition = Exactly(frozenset({1}))
            new = await knowledge.documents.replace(to, old.id, "The cellar is dry.", NOTE, precondition, None)
            await knowledge.ingest(to, new)

        happened = await interrupted(knowledge, someone, first, at, replace)
        if happened:
            assert (await knowledge.documents.read(someone, first.id)).indexed_version == 2
            assert await knowledge.texts(someone, "cellar", 9) == ["The cellar is dry."]
            assert (await kept(knowledge, someone))["chunks"] == 1
    assert at > 6
