"""The embedder is changed: the worker makes all vectors anew beside the old ones, and each user goes over when all of
theirs are made; writes, erasures and ends of the worker in between cost nothing, and so does going back.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import select, update

from app import wiring as product
from app.commands import doctor
from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Scope
from app.infra.chroma.client import ChromaClient
from app.infra.chroma.index import ChromaIndex
from app.infra.db.tables import users
from app.infra.embedded.ports import free_port
from app.infra.embedders.use import UseEmbedder
from app.infra.segments import renewing
from app.infra.segments import store as segment_store
from app.infra.segments.cache import IndexCache
from app.infra.segments.codec import Segment
from app.infra.segments.packing import sets
from app.infra.segments.renewing import RenewVectors
from app.infra.segments.store import ROW, SegmentStore, opened, opened_segment
from app.infra.segments.tables import segment_items, segments
from app.knowledge.model import Mode
from app.knowledge.tables import chunk_texts
from app.memories.indexing import INDEX_JOB as INDEX_MEMORIES
from app.memories.model import Content, Origin, State, Trust
from app.memories.service import Memories
from app.sessions.indexing import INDEX_JOB as INDEX_MESSAGES
from app.sessions.model import Body, Draft, Opening, Recall, Role
from app.sessions.recall import Recalls
from app.sessions.service import Sessions
from app.settings import Settings
from tests.conftest import MakeScope, eventually
from tests.embedders import endpoint
from tests.embedders.endpoint import Answer, Recorder, embeddings, status
from tests.knowledge.conftest import Knowledge

OLD = f"use@{UseEmbedder().revision}"
NEW = "openai:hashing@"
KINDS = {"message": "renew_messages", "memory": "renew_memories", "chunk": "renew_chunks"}
QUESTION = "Who feeds the gulls?"


def text(someone: Scope, number: int) -> str:
    """Return one of many texts that nobody else has: what is embedded once isn't asked for again."""
    return f"The keeper of lighthouse {number} feeds the gulls of {someone.usr.hex[-6:]} every {number % 7}th day."


@pytest.fixture(scope="module")
def served() -> Iterator[Recorder]:
    with endpoint.running() as recorder:
        yield recorder


def changing(settings: Settings, served: Recorder, embedder: str, before: str = "") -> Settings:
    changed = {"embedder": embedder, "embedder_before": before, "llm_base_url": served.url, "exact_max_chunks": 0}
    return settings.model_copy(update=changed)


@asynccontextmanager
async def built(settings: Settings) -> AsyncIterator[Knowledge]:
    async with product.build(settings) as wired:
        yield Knowledge(wired)


@pytest_asyncio.fixture(scope="module")
async def old(settings: Settings, served: Recorder) -> AsyncIterator[Knowledge]:
    """The product as it was."""
    async with built(changing(settings, served, "use")) as wired:
        yield wired


@pytest_asyncio.fixture(scope="module")
async def both(settings: Settings, served: Recorder) -> AsyncIterator[Knowledge]:
    """The product while one takes the other's place."""
    async with built(changing(settings, served, "openai:hashing", "use")) as wired:
        yield wired


@pytest_asyncio.fixture(scope="module")
async def new(settings: Settings, served: Recorder) -> AsyncIterator[Knowledge]:
    """The product as it is afterwards."""
    async with built(changing(settings, served, "openai:hashing")) as wired:
        yield wired


async def write(knowledge: Knowledge, someone: Scope, numbers: range) -> None:
    """Write messages, facts and a document, and give them their vectors."""
    sessions, memories = knowledge.service(Sessions), knowledge.service(Memories)
    session = (await sessions.open(someone, Opening())).view.session.id
    await sessions.append(
        someone, session, [Draft(Role.USER, Body(content=text(someone, number))) for number in numbers]
    )
    for number in numbers[:5]:
        await memories.add(someone, Content(State.KEPT, text(someone, number), Trust.EXPLICIT, Origin.EXPLICIT), None)
    await knowledge.ready(someone, "\n\n".join(f"# {number}\n\n{text(someone, number)}" for number in numbers))
    for job in (INDEX_MESSAGES, INDEX_MEMORIES):
        await knowledge.job(job, someone)


async def written(knowledge: Knowledge, someone: Scope) -> None:
    """Write enough that each kind has several rows: a segment, and newer items."""
    await write(knowledge, someone, range(8))
    await write(knowledge, someone, range(8, 12))


async def found(knowledge: Knowledge, someone: Scope) -> list[tuple[str, float | None]]:
    """Return what a search by meaning, and a recall, find."""
    hits = (await knowledge.find(someone, QUESTION, 10, Mode.DENSE)).hits
    recalled = await knowledge.service(Recalls).recall(someone, Recall(QUESTION, 5))
    return [
        *((hit.passage.text, hit.score) for hit in hits),
        *((hit.message.text, hit.score) for hit in recalled.hits),
    ]


async def searched(knowledge: Knowledge, someone: Scope) -> dict[str, str]:
    """Return the model that each kind is searched by."""
    by_kind: dict[str, str] = {}
    for kind in KINDS:
        async with knowledge.wiring.db.read(someone) as tx:
            store = SegmentStore(kind, IndexCache(), *names(knowledge))
            by_kind[kind] = (await store.load(tx)).index.model
    return by_kind


def names(knowledge: Knowledge) -> tuple[str, ...]:
    return renewals(knowledge)[0]._segments.models  # noqa: SLF001 - what it was built with


def renewals(knowledge: Knowledge) -> list[RenewVectors]:
    return [handler for handler in knowledge.wiring.handlers if isinstance(handler, RenewVectors)]


async def made(knowledge: Knowledge, someone: Scope) -> set[tuple[str, ...]]:
    """Return which models have made the vectors of a row, as the rows themselves have them, and as they say."""
    async with knowledge.wiring.db.read(someone) as tx:
        older = await tx.rows(select(segments).filter_by(usr=someone.usr))
        newer = await tx.rows(select(*ROW).filter_by(usr=someone.usr, embedded=True))
        inside: list[tuple[list[str], Segment]] = [
            *((row.models, opened_segment(tx.box, row)) for row in older),
            *((row.models, opened(tx.box, row)) for row in newer),
        ]
    for models, segment in inside:
        assert sorted(models) == sorted(one.model for one in sets(segment))
        assert all((one.embedded > 0).all() for one in sets(segment))
    return {tuple(sorted(models)) for models, _ in inside}


async def renew(knowledge: Knowledge, someone: Scope) -> None:
    """Do what the worker does until nothing is owed any more."""
    for each in renewals(knowledge):
        while [usr async for _, usr in each.due() if usr == someone.usr]:
            await each.run(someone, {})
    await knowledge.index(someone)


@pytest.fixture(autouse=True)
def _slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row a turn, and few items a row."""
    monkeypatch.setattr(segment_store, "SMALL_ITEMS", 8)
    monkeypatch.setattr(renewing, "ROWS_A_TURN", 1)
    monkeypatch.setattr(renewing, "NEWER_ITEMS", 3)


async def test_everything_is_made_anew_and_each_user_goes_over_when_all_is_made(
    old: Knowledge, both: Knowledge, new: Knowledge, scope: MakeScope, settings: Settings
) -> None:
    someone = await scope()
    await written(old, someone)
    before = await found(old, someone)
    assert await searched(both, someone) == dict.fromkeys(KINDS, OLD)
    assert await found(both, someone) == before
    for each in renewals(both):
        await each.run(someone, {})
        assert await found(both, someone) == before, "half of it is made, and nothing has changed"
    assert await made(both, someone) > {(OLD,)}

    await write(both, someone, range(12, 14))
    assert (await both.texts(someone, "lighthouse 13", 1))[0].endswith(text(someone, 13))
    await renew(both, someone)
    assert await searched(both, someone) == dict.fromkeys(KINDS, NEW)
    assert await made(both, someone) == {(OLD, NEW) if OLD < NEW else (NEW, OLD)}
    assert len(await found(both, someone)) == 15
    assert await found(both, someone) == await found(new, someone) != before

    client = ChromaClient(settings.chroma_url)
    collections = {model: ChromaIndex(client, model) for model in (OLD, NEW)}
    assert {model: await each.count(someone.usr) for model, each in collections.items()} == {OLD: 14, NEW: 14}
    await renew(new, someone)
    assert {model: await each.count(someone.usr) for model, each in collections.items()} == {OLD: 0, NEW: 14}
    await client.close()
    assert await made(new, someone) == {(NEW,)}
    assert await found(both, someone) == await found(new, someone)
    async with new.wiring.db.read(someone) as tx:
        assert {row.model for row in await tx.rows(select(chunk_texts.c.model).filter_by(usr=someone.usr))} == {NEW}


async def test_a_worker_that_ends_in_the_middle_and_a_model_that_fails_lose_nothing(
    old: Knowledge, both: Knowledge, scope: MakeScope, served: Recorder
) -> None:
    someone = await scope()
    await written(old, someone)
    before = await found(old, someone)
    each = renewals(both)[0]
    served.answers += [status(400)]
    with pytest.raises(AppError, match="store_unavailable"):
        await each.run(someone, {})
    ended = threading.Event()

    def late(body: dict[str, Any]) -> Answer:  # Any: JSON
        ended.wait(20)
        return embeddings(body)

    asked = len(served.bodies)
    served.answers += [late]
    running = asyncio.create_task(each.run(someone, {}))

    async def is_embedding() -> bool:
        return len(served.bodies) > asked

    await eventually(is_embedding)
    running.cancel()
    await asyncio.wait({running})
    ended.set()
    assert await found(both, someone) == before
    await renew(both, someone)
    assert await searched(both, someone) == dict.fromkeys(KINDS, NEW)


async def test_going_back_in_the_middle_and_afterwards_finds_everything(
    old: Knowledge, both: Knowledge, new: Knowledge, scope: MakeScope
) -> None:
    someone = await scope()
    await written(old, someone)
    before = await found(old, someone)
    for each in renewals(both):
        await each.run(someone, {})
    assert await found(old, someone) == before, "as soon as the settings are back"
    await renew(old, someone)
    assert await made(old, someone) == {(OLD,)}
    assert await found(old, someone) == before

    await renew(new, someone)  # without the model before it
    await write(new, someone, range(12, 14))
    assert await made(new, someone) == {(NEW,)}
    assert (await old.texts(someone, "lighthouse 13", 1))[0].endswith(text(someone, 13)), "by its words"
    await renew(old, someone)
    assert await made(old, someone) == {(OLD,)}
    assert await searched(old, someone) == dict.fromkeys(KINDS, OLD)
    assert len(await found(old, someone)) == 15


async def test_a_new_model_that_never_answers_costs_nothing(
    old: Knowledge, scope: MakeScope, settings: Settings, served: Recorder
) -> None:
    someone = await scope()
    await written(old, someone)
    before = await found(old, someone)
    away = changing(settings, served, "openai:hashing", "use").model_copy(
        update={"llm_base_url": f"http://127.0.0.1:{free_port()}/v1"}
    )
    async with built(away) as failing:
        assert await found(failing, someone) == before
        await failing.ready(someone, "Otters hold hands.")
        assert await failing.texts(someone, "otters", 1) == ["Otters hold hands."]
        with pytest.raises(AppError, match="store_unavailable"):
            await renewals(failing)[0].run(someone, {})
    assert await made(old, someone) == {(OLD,)}
    assert await old.texts(someone, "otters", 1) == ["Otters hold hands."]


async def test_an_erasure_in_the_middle_leaves_nothing(old: Knowledge, both: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    await written(old, someone)
    for each in renewals(both):
        await each.run(someone, {})
    await both.index(someone)
    async with both.wiring.db.gate(someone) as (tx, _):
        closed = update(users).filter_by(usr=someone.usr).values(state="erasing")
        await tx.change(closed, AuditEntry("forget", "user"))
    for each in renewals(both):
        with pytest.raises(AppError, match="erasing"):
            await each.run(someone, {})
    kinds = [data for data in both.wiring.user_data if data.name in {"index", "vectors", "knowledge"}]
    assert len(kinds) == 3
    for data in kinds:
        await data.erase(someone)
    assert [await data.count(someone) for data in kinds] == [0, 0, 0]


async def test_rows_of_before_are_looked_into_and_left_as_they_are(old: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    await written(old, someone)
    before = await found(old, someone)
    async with old.wiring.db.write(someone) as tx:
        for table in (segments, segment_items):
            entry = AuditEntry("index", "message")
            await tx.change(update(table).filter_by(usr=someone.usr).values(models=None), entry)
    due = [usr for each in renewals(old) async for _, usr in each.due()]
    assert due.count(someone.usr) == len(KINDS)
    await renew(old, someone)
    assert await made(old, someone) == {(OLD,)}
    assert await found(old, someone) == before
    assert [usr for each in renewals(old) async for _, usr in each.due() if usr == someone.usr] == []


async def test_an_operator_sees_how_far_it_is(
    old: Knowledge, both: Knowledge, scope: MakeScope, settings: Settings, served: Recorder
) -> None:
    someone = await scope()
    await written(old, someone)
    during = changing(settings, served, "openai:hashing", "use")
    told = await doctor._embedder(during)  # noqa: SLF001 - one line of many, each of which looks by itself
    assert told.well
    assert f"vectors are of {NEW}" in told.text
    assert f"who lacks some is searched by {OLD}" in told.text
    alone = await doctor._embedder(changing(settings, served, "openai:hashing"))  # noqa: SLF001 - as above
    assert not alone.well
    assert "set CAIRN_EMBEDDER_BEFORE" in alone.text

    async def missing() -> int:
        rows = await renewing.progress(both.wiring.db, names(both))
        return sum(row.items - row.made for row in rows if row.model == NEW)

    before = await missing()
    await renew(both, someone)
    assert await missing() == before - (12 + 9 + 12)
