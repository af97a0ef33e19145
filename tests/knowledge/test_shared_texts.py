"""Equal chunks of a user are stored once, and no chunk ever loses its text: whatever is uploaded, replaced and deleted
at once, by this code and by code of before.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg
import pytest
from sqlalchemy import select

from app.core.audit import AuditEntry
from app.core.scope import Scope
from app.core.versions import Anything
from app.knowledge import chunk_store, ingestion, sharing
from app.knowledge.ingestion import IngestDocument
from app.knowledge.model import Chunk, Description, Document, Limits, Location, Mode, StoredChunk, Usage, chunk_id
from app.knowledge.quota_store import take_turn
from app.knowledge.quotas import Usages
from app.knowledge.tables import chunk_texts, chunks, document_versions, documents
from app.settings import Settings
from tests.conftest import MakeScope, eventually
from tests.knowledge.conftest import NOTE, Knowledge
from tests.knowledge.test_ingestion import CountingEmbedder, args_of, ingestion_by
from tests.knowledge.test_interrupted import interrupted

CLAUSES = (
    "# Rent\n\nThe tenant pays 950 euros on the third of each month.",
    "# Notice\n\nEither side may end the contract with three months' notice.",
    "# 押金\n\n租客在入住前支付两个月租金作为押金。",
    "# Pets\n\nCats are allowed. Dogs need the owner's consent in writing.",
)
# Each is a passage, with the blank line that ends it.
TEXTS = [f"{clause}\n\n" for clause in CLAUSES]
# What another connection waits for, told by the server.
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1"


@pytest.fixture
def by_counting(knowledge: Knowledge) -> IngestDocument:
    return ingestion_by(knowledge, CountingEmbedder())


def lease(*clauses: int) -> str:
    return "".join(TEXTS[number] for number in clauses)


async def stored(knowledge: Knowledge, someone: Scope) -> tuple[list[bytes], set[bytes]]:
    """Return the tags of the texts that are there, and of those that chunks lean on."""
    async with knowledge.wiring.db.read(someone) as tx:
        there = await tx.rows(select(chunk_texts.c.content_tag).filter_by(usr=someone.usr))
        needed = await tx.rows(select(chunks.c.text_tag, chunks.c.text_sealed).filter_by(usr=someone.usr))
    assert all(row.text_sealed is None for row in needed)
    return [row.content_tag for row in there], {row.text_tag for row in needed}


async def passages(knowledge: Knowledge, someone: Scope, document: Document) -> list[str]:
    async with knowledge.wiring.db.read(someone) as tx:
        ids = await chunk_store.ids_of_version(tx, document.id, document.version)
        found = (await chunk_store.passages(tx, ids)).values()
    return [one.text for one in sorted(found, key=lambda one: one.location.start)]


async def counted(knowledge: Knowledge, someone: Scope) -> Usage:
    """Count what there is one by one."""
    async with knowledge.wiring.db.read(someone) as tx:
        sizes = await tx.rows(select(document_versions.c.size_bytes).filter_by(usr=someone.usr))
        places = await tx.rows(select(chunks.c.id).filter_by(usr=someone.usr))
        kept = await tx.rows(select(documents.c.id).filter_by(usr=someone.usr))
    return Usage(len(kept), sum(row.size_bytes for row in sizes), len(places))


async def test_equal_passages_of_a_user_are_one_text_that_goes_with_the_last_of_them(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone, other = await scope(), await scope()
    first = await knowledge.ready(someone, lease(0, 1, 2), Description("lease", "The first"))
    second = await knowledge.ready(someone, lease(3, 1, 2, 0), Description("lease", "The second"))
    await knowledge.ready(other, lease(1))
    there, needed = await stored(knowledge, someone)
    assert (len(there), set(there)) == (4, needed)
    assert {*there}.isdisjoint((await stored(knowledge, other))[0])
    # Each has its own place, title and headings; a search shows equal passages once.
    places = []
    async with knowledge.wiring.db.read(someone) as tx:
        for document in (first, second):
            ids = await chunk_store.ids_of_version(tx, document.id, 1)
            found = [one for one in (await chunk_store.passages(tx, ids)).values() if one.text == TEXTS[1]]
            places += [(one.title, one.location.start, one.location.headings) for one in found]
    assert [(title, headings) for title, _, headings in places] == [
        ("The first", ("Notice",)),
        ("The second", ("Notice",)),
    ]
    assert places[0][1] != places[1][1]
    assert (await knowledge.texts(someone, "How long is the notice?", 9)).count(TEXTS[1]) == 1
    for document in (first, second):
        limits = Limits(document_ids=frozenset({document.id}))
        hit = (await knowledge.find(someone, "How long is the notice?", limits=limits)).hits[0]
        assert (hit.passage.text, hit.passage.document_id) == (TEXTS[1], document.id)
    await knowledge.documents.delete(someone, first.id, Anything(), None)
    assert await passages(knowledge, someone, second) == [TEXTS[number] for number in (3, 1, 2, 0)]
    hit = (await knowledge.find(someone, "租客的押金是多少", mode=Mode.LEXICAL)).hits[0]
    assert (hit.passage.text, hit.passage.document_id) == (TEXTS[2], second.id)
    assert [hit.passage.text[start:end] for start, end in hit.highlights][:1] != []
    shorter = await knowledge.documents.replace(someone, second.id, lease(2), NOTE, Anything(), None)
    await knowledge.ingest(someone, shorter)
    assert len((await stored(knowledge, someone))[0]) == 1
    await knowledge.documents.delete(someone, second.id, Anything(), None)
    assert await stored(knowledge, someone) == ([], set())
    assert await knowledge.texts(other, "notice") == [TEXTS[1]]


async def test_a_text_stays_when_another_document_with_it_is_deleted_at_any_step_of_an_ingestion(
    knowledge: Knowledge, scope: MakeScope, monkeypatch: pytest.MonkeyPatch, by_counting: IngestDocument
) -> None:
    monkeypatch.setattr(ingestion, "BATCH_CHUNKS", 2)
    someone, at, happened = await scope(), 0, True
    while happened:
        at += 1
        first = await knowledge.documents.add(someone, lease(0, 1, 2, 3), Description("first", str(at)), None)
        await by_counting.run(someone, args_of(first))
        second = await knowledge.documents.add(someone, lease(3, 2, 1, 0), Description("second", str(at)), None)

        async def delete(gone: Document = first) -> None:
            await knowledge.documents.delete(someone, gone.id, Anything(), None)

        happened = await interrupted(knowledge, someone, second, at, delete)
        assert await passages(knowledge, someone, second) == [TEXTS[number] for number in (3, 2, 1, 0)], at
        there, needed = await stored(knowledge, someone)
        assert (len(there), set(there)) == (4, needed)
        await knowledge.documents.delete(someone, second.id, Anything(), None)
    assert at > 6


async def test_whatever_is_done_at_once_every_passage_has_its_text_and_every_text_a_passage(
    knowledge: Knowledge, scope: MakeScope, by_counting: IngestDocument, request: pytest.FixtureRequest
) -> None:
    for seed in range(20 if request.config.getoption("--long") else 1):
        await live_at_once(knowledge, await scope(), by_counting, random.Random(seed))  # noqa: S311 - what happens at once


async def live_at_once(
    knowledge: Knowledge, someone: Scope, by_counting: IngestDocument, chance: random.Random
) -> None:
    asked: dict[str, Sequence[int]] = {}

    async def live(name: str) -> None:
        """Upload a document, and replace or delete it as chance has it: each document is some of the clauses."""
        document: Document | None = None
        for _ in range(4):
            clauses = chance.sample(range(len(CLAUSES)), chance.randint(1, 3))
            done = chance.choice(("add", "replace", "delete")) if document else "add"
            if document is not None and done == "delete":
                await knowledge.documents.delete(someone, document.id, Anything(), None)
                document = None
                asked.pop(name)
                continue
            asked[name] = clauses
            if document is None:
                document = await knowledge.documents.add(someone, lease(*clauses), Description(name), None)
            else:
                said = Description(name)
                document = await knowledge.documents.replace(
                    someone, document.id, lease(*clauses), said, Anything(), None
                )
            # Two workers may be at it, and it may be deleted before either comes to it.
            await asyncio.gather(*(by_counting.run(someone, args_of(document)) for _ in range(2)))

    await asyncio.gather(*(live(f"lease {number}") for number in range(5)))
    kept = (await knowledge.documents.page(someone, None, 99)).items
    found = {one.description.doc_type: await passages(knowledge, someone, one) for one in kept}
    assert found == {name: [TEXTS[number] for number in clauses] for name, clauses in asked.items()}
    there, needed = await stored(knowledge, someone)
    assert set(there) == needed
    assert await knowledge.service(Usages).read(someone) == await counted(knowledge, someone)


@asynccontextmanager
async def code_of_before(settings: Settings, someone: Scope) -> AsyncIterator[asyncpg.Connection]:
    """Give a transaction of the user's that knows nothing of turns, nor of texts."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        async with connection.transaction():
            await connection.execute(
                "SELECT set_config('app.user_id', $1, true), set_config('app.tenant', $2, true)",
                str(someone.usr),
                someone.tenant,
            )
            yield connection
    finally:
        await connection.close()


async def waits(settings: Settings, query: str) -> bool:
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        return bool(await connection.fetchval(WAITS, query))
    finally:
        await connection.close()


async def test_code_of_before_that_deletes_while_the_same_text_is_ingested_takes_nothing_from_it(
    knowledge: Knowledge, scope: MakeScope, settings: Settings, by_counting: IngestDocument
) -> None:
    someone = await scope()
    first = await knowledge.documents.add(someone, lease(0, 1), Description("first"), None)
    await by_counting.run(someone, args_of(first))
    second = await knowledge.documents.add(someone, lease(1, 0), Description("second"), None)
    # It has deleted, and not committed: the ingestion waits for its turn, and then writes the texts anew.
    async with code_of_before(settings, someone) as before:
        await before.execute("DELETE FROM documents WHERE id = $1", first.id)
        ingesting = asyncio.create_task(by_counting.run(someone, args_of(second)))
        await eventually(lambda: waits(settings, "SELECT pg_advisory_xact_lock%"))
    await ingesting
    assert await passages(knowledge, someone, second) == [TEXTS[1], TEXTS[0]]
    # It deletes what an ingestion has just written chunks of, and not committed: it waits, and leaves the texts.
    third = await knowledge.documents.add(someone, lease(0), Description("third"), None)

    async def delete() -> None:
        async with code_of_before(settings, someone) as before:
            await before.execute("DELETE FROM documents WHERE id = $1", second.id)

    vector = CountingEmbedder().embed([TEXTS[0]])[0]
    async with knowledge.wiring.db.write(someone) as tx:
        await take_turn(tx)
        tag = chunk_store.text_tag(tx.box, TEXTS[0])
        place = chunk_id(third.id, 1, 0)
        piece = StoredChunk(place, 0, Chunk(TEXTS[0], Location(0, len(TEXTS[0]))), tag, {"counting@1": vector})
        await chunk_store.put(tx, third.id, 1, [piece], AuditEntry("ingest", "document", third.id))
        deleting = asyncio.create_task(delete())
        await eventually(lambda: waits(settings, "DELETE FROM documents%"))
    await deleting
    async with knowledge.wiring.db.read(someone) as tx:
        assert await chunk_store.texts_of(tx, [place]) == {place: [TEXTS[0]]}
    assert len((await stored(knowledge, someone))[0]) == 1


async def test_texts_of_their_own_are_read_as_before_and_shared_again_by_the_next_version(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone = await scope()
    documents = [await knowledge.ready(someone, lease(0, number), Description(f"lease {number}")) for number in (1, 2)]
    assert await sharing.unshare(knowledge.wiring.db, someone) == 4
    async with knowledge.wiring.db.read(someone) as tx:
        assert not await tx.rows(select(chunk_texts).filter_by(usr=someone.usr))
        own = await tx.rows(select(chunks).filter_by(usr=someone.usr))
    assert all(row.text_sealed and row.vector_sealed and row.model for row in own)
    for document, number in zip(documents, (1, 2), strict=True):
        assert await passages(knowledge, someone, document) == [TEXTS[0], TEXTS[number]]
    assert await knowledge.texts(someone, "950 euros on the third", 1) == [TEXTS[0]]
    again = await knowledge.documents.replace(someone, documents[0].id, lease(0), NOTE, Anything(), None)
    await knowledge.ingest(someone, again)
    await knowledge.documents.delete(someone, documents[1].id, Anything(), None)
    assert await passages(knowledge, someone, again) == [TEXTS[0]]
    assert len((await stored(knowledge, someone))[0]) == 1
