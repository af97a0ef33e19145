"""Ingestion: it ends ready or failed with a reason, may run twice, and never brings back what was let go of."""

import asyncio
from datetime import UTC, datetime
from uuid import RFC_4122, UUID

import numpy as np
import pytest
from sqlalchemy import func, select

from app.core.errors import AppError
from app.core.ids import uuid7
from app.core.scope import Scope
from app.core.versions import Anything, Exactly
from app.core.withholding import withhold_also
from app.infra.embedders.models import Model, Models
from app.infra.embedders.port import EmbedderUnavailableError, Vectors
from app.infra.embedders.service import EmbeddingService
from app.infra.extraction.extractor import Extractor
from app.infra.segments.cache import IndexCache
from app.infra.segments.store import SegmentStore
from app.knowledge import chunk_store
from app.knowledge.ingestion import MAX_ATTEMPTS, IngestDocument
from app.knowledge.model import Description, Document, Failure, Status, chunk_id
from app.knowledge.quotas import Quotas
from app.knowledge.tables import chunk_texts, chunks, document_parts, document_versions, documents
from app.verifications.patterns.expression import Expressions, compiled
from app.verifications.patterns.model import Check, Registration
from tests.conftest import MakeScope, eventually
from tests.knowledge.conftest import NOTE, Knowledge

ENOUGH = Quotas(1_000, 2**30, 100_000)
EN = (
    "The harbour of {n} was built in the year {y}. Ships of the {n} line carried salt, tin and wool to the north. "
    "The keeper of lighthouse number {n} wrote down the weather every morning. In winter the ice closed the bay. "
)
ZH = "第{n}号灯塔建于{y}年。每天早晨，守塔人都会记录天气。冬天，海湾被冰封住了。{n}号航线的船只把盐和羊毛运往北方。"


def long_text(pattern: str, chars: int) -> str:
    """Return about so many characters, no two sentences the same."""
    pieces, size, number = [], 0, 0
    while size < chars:
        pieces.append(pattern.format(n=number, y=1500 + number) + ("\n\n" if number % 5 == 4 else ""))
        size += len(pieces[-1])
        number += 1
    return "".join(pieces)


async def rows_of(knowledge: Knowledge, scope: Scope) -> dict[str, int]:
    async with knowledge.wiring.db.read(scope) as tx:
        return {
            table.name: await tx.scalar(select(func.count()).select_from(table).filter_by(usr=scope.usr))
            for table in (documents, document_versions, document_parts, chunks)
        }


@pytest.mark.parametrize(("pattern", "question"), [(EN, "the lighthouse of number 7"), (ZH, "7号灯塔的天气")])
async def test_a_long_document_becomes_ready_and_is_found_to_its_end(
    knowledge: Knowledge, scope: MakeScope, pattern: str, question: str
) -> None:
    someone = await scope()
    text = long_text(pattern, 20_000) + "\n\nThe password of the cellar is xylophone 4711."
    document = await knowledge.ready(someone, text)
    assert (document.status, document.progress, document.indexed_version) == (Status.READY, 1.0, 1)
    found = await knowledge.find(someone, "password cellar xylophone", top_k=1)
    assert "xylophone 4711" in found.hits[0].passage.text
    assert found.pending == 0
    for hit in (await knowledge.find(someone, question, top_k=5)).hits:
        location = hit.passage.location
        assert text[location.start : location.end] == hit.passage.text


async def test_ingestion_that_runs_twice_comes_to_the_same_end(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    added = await knowledge.documents.add(someone, long_text(EN, 3_000), NOTE, None)
    first = await knowledge.ingest(someone, added)
    before, hits = await rows_of(knowledge, someone), await knowledge.texts(someone, "salt and tin")
    assert await knowledge.ingest(someone, added) == first
    assert (await rows_of(knowledge, someone), await knowledge.texts(someone, "salt and tin")) == (before, hits)


async def test_two_workers_at_one_document_come_to_one_end(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    added = await knowledge.documents.add(someone, long_text(EN, 12_000), NOTE, None)
    await asyncio.gather(*(knowledge.ingest(someone, added) for _ in range(4)))
    await knowledge.index(someone)
    assert (await knowledge.documents.read(someone, added.id)).status is Status.READY
    hits = (await knowledge.find(someone, "salt and tin", top_k=50)).hits
    assert len({hit.passage.location.start for hit in hits}) == len(hits)
    assert len(hits) == (await rows_of(knowledge, someone))["chunks"] > 5


def test_chunk_ids_are_of_version_7_and_sorted_by_the_time_of_their_document() -> None:
    older, newer = uuid7(), UUID(int=uuid7().int + (5 << 80))
    ids = [chunk_id(document_id, 1, ordinal) for document_id in (older, newer) for ordinal in range(100)]
    assert {(one.version, one.variant) for one in ids} == {(7, RFC_4122)}
    assert max(ids[:100]) < min(ids[100:])
    assert len({*ids, *(chunk_id(older, 2, ordinal) for ordinal in range(100))}) == 300


async def test_deleting_during_ingestion_wins(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    added = await knowledge.documents.add(someone, long_text(EN, 120_000), NOTE, None)
    running = asyncio.create_task(knowledge.ingest(someone, added))

    async def has_begun() -> bool:
        return (await knowledge.documents.read(someone, added.id)).progress > 0

    await eventually(has_begun)
    await knowledge.documents.delete(someone, added.id, Anything(), None)
    with pytest.raises(AppError, match="not_found"):
        await running
    await knowledge.index(someone)
    assert not any((await rows_of(knowledge, someone)).values())
    assert (await knowledge.find(someone, "salt and tin")).hits == []


async def test_a_new_version_replaces_the_old_in_search_at_once(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    old = await knowledge.ready(someone, "The meeting room is called Nautilus.", Description("memo", "Old"))
    new = await knowledge.documents.replace(
        someone,
        old.id,
        "The meeting room is called Pequod.",
        Description("notice", "New"),
        Exactly(frozenset({1})),
        None,
    )
    assert (new.version, new.indexed_version, new.status) == (2, 1, Status.QUEUED)
    meanwhile = (await knowledge.find(someone, "meeting room")).hits[0].passage
    assert (meanwhile.text, meanwhile.title, meanwhile.doc_type) == (
        "The meeting room is called Nautilus.",
        "Old",
        "memo",
    )
    ready = await knowledge.ingest(someone, new)
    assert (ready.version, ready.indexed_version) == (2, 2)
    found = [hit.passage for hit in (await knowledge.find(someone, "meeting room Nautilus", top_k=9)).hits]
    assert [(one.text, one.title, one.version) for one in found] == [("The meeting room is called Pequod.", "New", 2)]
    assert (await rows_of(knowledge, someone))["document_versions"] == 1


async def test_a_version_that_fails_leaves_the_one_before_in_search(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    old = await knowledge.ready(someone, "The meeting room is called Nautilus.")
    wrong = "The meeting room is called \u0001\u0002\u0003\u0004\u0005."
    new = await knowledge.documents.replace(someone, old.id, wrong, NOTE, Exactly(frozenset({1})), None)
    failed = await knowledge.ingest(someone, new)
    assert (failed.status, failed.failure, failed.indexed_version) == (Status.FAILED, Failure.NOT_TEXT, 1)
    assert await knowledge.texts(someone, "meeting room") == ["The meeting room is called Nautilus."]
    better = await knowledge.documents.replace(
        someone, old.id, "The meeting room is called Pequod.", NOTE, Exactly(frozenset({2})), None
    )
    assert (await knowledge.ingest(someone, better)).version == 3
    assert await knowledge.texts(someone, "meeting room") == ["The meeting room is called Pequod."]


async def test_only_the_newest_of_versions_that_were_never_ready_is_ingested(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone = await scope()
    first = await knowledge.documents.add(someone, "The code is one.", NOTE, None)
    second = await knowledge.documents.replace(
        someone, first.id, "The code is two.", NOTE, Exactly(frozenset({1})), None
    )
    await knowledge.ingest(someone, second)
    await knowledge.ingest(someone, first)
    assert await knowledge.texts(someone, "what is the code") == ["The code is two."]


async def test_of_ten_replacements_at_once_one_wins(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    document = await knowledge.documents.add(someone, "The code is zero.", NOTE, None)

    async def replace(number: int) -> Document | AppError:
        try:
            return await knowledge.documents.replace(
                someone, document.id, f"The code is {number}.", NOTE, Exactly(frozenset({1})), None
            )
        except AppError as error:
            return error

    outcomes = await asyncio.gather(*(replace(number) for number in range(10)))
    refused = [outcome for outcome in outcomes if isinstance(outcome, AppError)]
    assert len(refused) == 9
    assert {(error.code, error.extra["current_version"]) for error in refused} == {("stale_version", 2)}


class CountingEmbedder:
    """A model of eight dimensions that counts what it is asked, and fails when told to."""

    name, revision, dimensions, max_chars = "counting", "1", 8, 10_000

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails_with: Exception | None = None

    def load(self) -> None: ...

    def embed(self, texts: list[str]) -> Vectors:
        if self.fails_with is not None:
            raise self.fails_with
        self.asked += texts
        rows = np.array([[ord(text[0]) + place * len(text) for place in range(8)] for text in texts], np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self) -> None: ...


@pytest.fixture
def model() -> CountingEmbedder:
    return CountingEmbedder()


def counting(model: CountingEmbedder) -> Models:
    return Models(Model("counting@1", EmbeddingService(model)))


def ingestion_by(knowledge: Knowledge, model: CountingEmbedder) -> IngestDocument:
    segments = SegmentStore("chunk", IndexCache(), "counting@1")
    return IngestDocument(
        knowledge.wiring.db, segments, counting(model), Extractor(), ENOUGH, knowledge.wiring.registered
    )


@pytest.fixture
def ingestion(knowledge: Knowledge, model: CountingEmbedder) -> IngestDocument:
    return ingestion_by(knowledge, model)


def args_of(document: Document) -> dict[str, str | int]:
    return {"document_id": str(document.id), "version": document.version}


async def test_equal_texts_of_one_user_are_embedded_once(
    knowledge: Knowledge, scope: MakeScope, ingestion: IngestDocument, model: CountingEmbedder
) -> None:
    someone, other = await scope(), await scope()
    text = long_text(EN, 6_000)
    for _ in range(3):
        await ingestion.run(someone, args_of(await knowledge.documents.add(someone, text, NOTE, None)))
    asked = len(model.asked)
    assert 0 < asked == len(set(model.asked))
    await ingestion.run(other, args_of(await knowledge.documents.add(other, text, NOTE, None)))
    async with knowledge.wiring.db.read(someone) as tx:
        theirs = await tx.scalar(select(func.count(chunks.c.content_tag.distinct())).filter_by(usr=someone.usr))
    async with knowledge.wiring.db.read(other) as tx:
        shared = await tx.rows(select(chunks.c.content_tag).filter_by(usr=other.usr))
    async with knowledge.wiring.db.read(someone) as tx:
        known = {row.content_tag for row in await tx.rows(select(chunks.c.content_tag).filter_by(usr=someone.usr))}
    assert theirs == asked
    assert known.isdisjoint(row.content_tag for row in shared), "tags tell nothing across users"


async def test_a_model_that_is_away_costs_the_document_no_attempt(
    knowledge: Knowledge, scope: MakeScope, ingestion: IngestDocument, model: CountingEmbedder
) -> None:
    someone = await scope()
    document = await knowledge.documents.add(someone, "The code is one.", NOTE, None)
    model.fails_with = EmbedderUnavailableError("away")
    for _ in range(2 * MAX_ATTEMPTS):
        with pytest.raises(AppError, match="store_unavailable"):
            await ingestion.run(someone, args_of(document))
    assert (await knowledge.documents.read(someone, document.id)).status is Status.QUEUED
    model.fails_with = None
    await ingestion.run(someone, args_of(document))
    assert (await knowledge.documents.read(someone, document.id)).status is Status.READY


async def test_a_document_that_fails_again_and_again_is_given_up_with_a_reason(
    knowledge: Knowledge, scope: MakeScope, ingestion: IngestDocument, model: CountingEmbedder
) -> None:
    someone = await scope()
    document = await knowledge.documents.add(someone, "The code is one.", NOTE, None)
    model.fails_with = ValueError("a fault in the model")
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(ValueError, match="fault"):
            await ingestion.run(someone, args_of(document))
    await ingestion.run(someone, args_of(document))
    failed = await knowledge.documents.read(someone, document.id)
    assert (failed.status, failed.failure) == (Status.FAILED, Failure.GAVE_UP)


async def test_the_worker_ingests_what_was_added(knowledge: Knowledge, scope: MakeScope, worker: None) -> None:  # noqa: ARG001 - it runs beside
    someone = await scope()
    started = datetime.now(UTC)
    added = await knowledge.documents.add(someone, "The code is one.", NOTE, None)
    settled = await knowledge.watching.settled(someone, added.id, 20)
    assert settled.status is Status.READY
    assert settled.updated_at > started
    assert await knowledge.texts(someone, "code") == ["The code is one."]


class Late:
    """What is registered when a document has been read for the first time: something, which nothing was before."""

    def __init__(self) -> None:
        self.asked = 0
        said = Registration(r"EMP-\d{6}", Check.NONE, "")
        self.before, self.after = Expressions([]), Expressions([compiled("employee", said)])

    async def enter(self, tenant: str) -> Expressions:
        assert tenant
        self.asked += 1
        finder = self.before if self.asked == 1 else self.after
        withhold_also(finder)
        return finder


async def test_what_is_registered_while_a_document_is_read_is_masked_in_it(
    knowledge: Knowledge, scope: MakeScope, model: CountingEmbedder
) -> None:
    someone, late = await scope(), Late()
    segments = SegmentStore("chunk", IndexCache(), "counting@1")
    ingestion = IngestDocument(knowledge.wiring.db, segments, counting(model), Extractor(), ENOUGH, late)
    document = await knowledge.documents.add(someone, "The badge says EMP-123456.", NOTE, None)
    try:
        await ingestion.run(someone, args_of(document))
    finally:
        withhold_also(None)
    assert late.asked == 4
    async with knowledge.wiring.db.read(someone) as tx:
        ids = await chunk_store.ids_of_version(tx, document.id, document.version)
        kept = await chunk_store.passages(tx, ids)
        texts = await tx.rows(select(chunk_texts.c.content_tag).filter_by(usr=someone.usr))
        masked = chunk_store.text_tag(tx.box, "The badge says [employee withheld].")
    assert [passage.text for passage in kept.values()] == ["The badge says [employee withheld]."]
    assert [row.content_tag for row in texts] == [masked], "what was written before it was masked is gone"
    assert not (await knowledge.documents.read(someone, document.id)).original_kept
