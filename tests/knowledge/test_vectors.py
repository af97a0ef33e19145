"""The vector store: it is told what is searched, answers as the exact index does, and whatever it loses comes back."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any
from uuid import UUID

import httpx
import numpy as np
import pytest
import pytest_asyncio
from sqlalchemy import select, update

from app import wiring as product
from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Scope
from app.core.versions import Anything, Exactly
from app.infra.chroma.client import READ_TIMEOUT_S, ChromaClient, NoCollectionError
from app.infra.chroma.index import ChromaIndex
from app.infra.db.tables import users
from app.infra.embedders.build import build
from app.infra.embedders.port import Embedder
from app.knowledge.indexing import Check, VectorKeeper
from app.knowledge.model import Mode
from app.knowledge.tables import chunks
from app.knowledge.userdata import CollectionData
from app.knowledge.vectors import ChromaVectors, UnfitError
from app.settings import Settings
from tests.conftest import MakeScope, eventually
from tests.knowledge.chroma_server import ChromaServer
from tests.knowledge.conftest import NOTE, Knowledge, working

Contents = dict[str, Any]  # Any: Chroma's JSON
AskForTea = Callable[[Scope], Awaitable[AbstractSet[UUID]]]

TOPICS = ("the harbour", "bee-keeping", "a violin", "tax law", "the desert", "糕点", "铁路", "围棋", "gravity", "tea")
QUESTIONS = ("keeping bees", "围棋怎么下", "what does the law say of taxes", "音乐", "how strong is gravity", "火车")


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    server = ChromaServer(tmp_path_factory.mktemp("chroma"))
    server.start()
    yield server
    server.stop()


@pytest_asyncio.fixture(scope="module")
async def by_chroma(settings: Settings, chroma: ChromaServer) -> AsyncIterator[Knowledge]:
    """The product on that server, asking it for every search."""
    changed = settings.model_copy(update={"chroma_url": chroma.url, "exact_max_chunks": 0})
    async with product.build(changed) as wired:
        yield Knowledge(wired)


@pytest_asyncio.fixture
async def client(chroma: ChromaServer) -> AsyncIterator[ChromaClient]:
    client = ChromaClient(chroma.url)
    yield client
    await client.close()


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return build("use")


@pytest.fixture
def model(embedder: Embedder) -> str:
    return f"{embedder.name}@{embedder.revision}"


@pytest.fixture
def index(client: ChromaClient, model: str) -> ChromaIndex:
    return ChromaIndex(client, model)


@pytest.fixture
def keeper(by_chroma: Knowledge, index: ChromaIndex, model: str) -> VectorKeeper:
    return VectorKeeper(by_chroma.wiring.db, index, model)


@pytest.fixture
def tea(by_chroma: Knowledge, index: ChromaIndex, model: str, embedder: Embedder) -> AskForTea:
    """Asks Chroma alone for what is near to tea: the ids of five chunks, or UnfitError."""
    vectors = ChromaVectors(by_chroma.wiring.db, index, model)
    vector = embedder.embed(["tea"])[0]
    return lambda someone: vectors.nearest(someone, vector, 5)


async def erasing(knowledge: Knowledge, someone: Scope) -> None:
    """Close the gate, as an erasure does first."""
    async with knowledge.wiring.db.gate(someone) as (tx, _):
        closed = update(users).filter_by(usr=someone.usr).values(state="erasing")
        await tx.change(closed, AuditEntry("forget", "user"))


async def contents(chroma: ChromaServer, name: str) -> Contents:
    """Return everything that a collection holds."""
    base = f"{chroma.url}/api/v2/tenants/default_tenant/databases/default_database/collections"
    async with httpx.AsyncClient() as http:
        collection = (await http.get(f"{base}/{name}")).json()["id"]
        include = ["embeddings", "metadatas", "documents"]
        found: Contents = (await http.post(f"{base}/{collection}/get", json={"include": include})).json()
    return found


def note(topic: str, number: int) -> str:
    return f"Note {number} is about {topic}. It was written on day {number} by the {number % 7}th member of the club."


async def filled(knowledge: Knowledge, someone: Scope, texts: int = 30) -> None:
    body = "\n\n".join(f"# {number}\n\n{note(TOPICS[number % len(TOPICS)], number)}" for number in range(texts))
    await knowledge.ready(someone, body + "\n# End\n\nThe end.")


async def answers(knowledge: Knowledge, someone: Scope) -> list[list[str]]:
    return [await knowledge.texts(someone, question, 5) for question in QUESTIONS]


async def test_chroma_gives_the_same_hits_as_the_exact_index(
    by_chroma: Knowledge, knowledge: Knowledge, scope: MakeScope, tea: AskForTea
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    assert await tea(someone), "Chroma is asked, and answers"
    assert await answers(by_chroma, someone) == await answers(knowledge, someone)
    for mode in Mode:
        one, other = [await each.find(someone, "围棋", 5, mode) for each in (by_chroma, knowledge)]
        assert [hit.passage for hit in one.hits] == [hit.passage for hit in other.hits]


async def test_with_chroma_stopped_search_answers_the_same_and_afterwards_it_heals(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer, keeper: VectorKeeper, tea: AskForTea
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    chroma.stop()
    assert await answers(by_chroma, someone) == before
    added = await by_chroma.ingest(someone, await by_chroma.documents.add(someone, "Otters hold hands.", NOTE, None))
    assert (await by_chroma.texts(someone, "otters", 1)) == ["Otters hold hands."]
    with pytest.raises(AppError, match="store_unavailable"):
        await by_chroma.index(someone)
    await by_chroma.documents.delete(someone, added.id, Anything(), None)
    assert "Otters hold hands." not in await by_chroma.texts(someone, "otters", 50)
    chroma.start()
    await by_chroma.index(someone)
    assert (await keeper.check(someone)).is_complete
    assert await tea(someone)
    assert await answers(by_chroma, someone) == before


async def test_with_chroma_hanging_one_search_waits_and_the_next_ones_do_not(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    chroma.send(signal.SIGSTOP)
    try:
        async with asyncio.timeout(2 * READ_TIMEOUT_S + 10):
            assert await answers(by_chroma, someone) == before
    finally:
        chroma.send(signal.SIGCONT)


async def test_what_chroma_lost_is_answered_exactly_and_built_anew(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, keeper: VectorKeeper, tea: AskForTea
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    async with by_chroma.wiring.db.read(someone) as tx:
        rows = await tx.rows(select(chunks.c.content_tag).filter_by(usr=someone.usr).limit(3))
    some = [UUID(bytes=row.content_tag) for row in rows]
    harms: list[Callable[[], Awaitable[object]]] = [
        lambda: index.delete(someone.usr, some),
        lambda: index.drop(index.name(someone.usr)),
    ]
    for harm in harms:
        await harm()
        assert not (await keeper.check(someone)).is_complete
        with pytest.raises(UnfitError, match="broken"):
            await tea(someone)
        assert await answers(by_chroma, someone) == before
        await by_chroma.rebuild(someone)
        assert await keeper.check(someone) == Check(expected=31, actual=31, owed=0)
        assert await answers(by_chroma, someone) == before


async def test_a_search_that_meets_a_broken_index_has_it_built_anew(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, keeper: VectorKeeper, settings: Settings
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    await index.drop(index.name(someone.usr))
    before = await answers(by_chroma, someone)

    async def is_complete() -> bool:
        await by_chroma.find(someone, "tea")  # a pause that another test has caused may have to pass first
        return (await keeper.check(someone)).is_complete

    async with working(by_chroma.wiring, settings):
        await eventually(is_complete)
    assert await answers(by_chroma, someone) == before


@pytest.mark.parametrize("round_number", range(3))
async def test_chroma_killed_while_it_is_written_to_is_whole_again(
    by_chroma: Knowledge,
    scope: MakeScope,
    chroma: ChromaServer,
    keeper: VectorKeeper,
    tea: AskForTea,
    round_number: int,
) -> None:
    people = [await scope() for _ in range(4)]
    for someone in people:
        await by_chroma.ingest(someone, await by_chroma.documents.add(someone, "Otters hold hands.", NOTE, None))
        await by_chroma.ingest(someone, await by_chroma.documents.add(someone, note("tea", round_number), NOTE, None))
    writing = [asyncio.create_task(by_chroma.index(someone)) for someone in people]
    await asyncio.sleep(
        0.03 * (round_number + 1)
    )  # not to wait for anything: the kill shall fall somewhere in the writes
    chroma.kill()
    await asyncio.gather(*writing, return_exceptions=True)
    for someone in people:
        assert (await by_chroma.texts(someone, "otters", 1)) == ["Otters hold hands."]
    chroma.start()
    for someone in people:
        await by_chroma.index(someone)
        assert (await keeper.check(someone)).is_complete
        assert len(await tea(someone)) == 2


async def test_chroma_that_lost_its_disk_is_filled_again(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer, keeper: VectorKeeper
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    chroma.stop()
    shutil.rmtree(chroma.data)
    chroma.data.mkdir()
    chroma.start()
    assert await answers(by_chroma, someone) == before
    await by_chroma.ready(someone, "Otters hold hands.")
    assert await keeper.check(someone) == Check(expected=32, actual=32, owed=0)


async def test_a_damaged_index_is_answered_for_and_built_anew(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer, keeper: VectorKeeper, tea: AskForTea
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    chroma.stop()
    for file in chroma.data.rglob("*.bin"):
        file.write_bytes(b"damaged")
    chroma.start()
    assert await answers(by_chroma, someone) == before
    await by_chroma.rebuild(someone)
    assert (await keeper.check(someone)).is_complete
    assert await tea(someone)
    assert await answers(by_chroma, someone) == before


async def test_a_new_version_is_in_the_vector_store_instead_of_the_old(
    by_chroma: Knowledge, scope: MakeScope, keeper: VectorKeeper, index: ChromaIndex
) -> None:
    someone = await scope()
    old = await by_chroma.ready(someone, "# One\n\nThe first part.\n\n# Two\n\nThe second part.")
    kept = await by_chroma.ready(someone, "# Two\n\nThe second part.")
    new = await by_chroma.documents.replace(
        someone, old.id, "# One\n\nThe first part, changed.", NOTE, Exactly(frozenset({1})), None
    )
    await by_chroma.ingest(someone, new)
    await by_chroma.index(someone)
    assert await keeper.check(someone) == Check(expected=2, actual=2, owed=0)
    await by_chroma.documents.delete(someone, old.id, Anything(), None)
    await by_chroma.documents.delete(someone, kept.id, Anything(), None)
    await by_chroma.index(someone)
    assert await keeper.check(someone) == Check(expected=0, actual=0, owed=0)
    assert await index.count(someone.usr) == 0


async def test_equal_texts_of_a_user_are_one_vector(by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex) -> None:
    someone = await scope()
    for _ in range(3):
        await by_chroma.ready(someone, "Otters hold hands.")
    assert await index.count(someone.usr) == 1
    assert await by_chroma.texts(someone, "otters", 3) == ["Otters hold hands."]


async def test_the_vector_store_holds_neither_text_nor_names_nor_a_vector_that_tells_of_one(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer, index: ChromaIndex, embedder: Embedder
) -> None:
    one, other = await scope(), await scope()
    for someone in (one, other):
        await by_chroma.ready(someone, "Otters hold hands.")
    stored = [await contents(chroma, index.name(someone.usr)) for someone in (one, other)]
    plain = embedder.embed(["Otters hold hands."])[0]
    for body in stored:
        assert body["documents"] == body["metadatas"] == [None]
        turned = np.array(body["embeddings"][0], np.float32)
        assert abs(float(turned @ plain)) < 0.3
    assert stored[0]["ids"] != stored[1]["ids"]
    first, second = (np.array(body["embeddings"][0], np.float32) for body in stored)
    assert abs(float(first @ second)) < 0.3
    written = b"".join(file.read_bytes() for file in chroma.data.rglob("*") if file.is_file())
    assert b"Otters" not in written
    assert one.tenant.encode() not in written


async def test_erasing_drops_the_collections_of_every_model(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, client: ChromaClient, model: str
) -> None:
    someone, other = await scope(), await scope()
    older = ChromaIndex(client, "an older model")
    keep_older = VectorKeeper(by_chroma.wiring.db, older, model)
    for user in (someone, other):
        await by_chroma.ready(user, "Otters hold hands.")
        await keep_older.rebuild(user)
        await by_chroma.rebuild(user)
    data = CollectionData(by_chroma.wiring.db, index)
    await erasing(by_chroma, someone)
    assert await data.count(someone) == 2
    await data.erase(someone)
    await data.erase(someone)
    assert await data.count(someone) == 0
    for each in (index, older):
        assert await each.count_in(each.name(someone.usr)) == 0
        assert await each.count_in(each.name(other.usr)) == 1


async def test_a_job_in_flight_can_not_bring_a_collection_back(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, client: ChromaClient
) -> None:
    someone = await scope()
    await by_chroma.ingest(someone, await by_chroma.documents.add(someone, "Otters hold hands.", NOTE, None))
    await index.create(someone.usr)
    await erasing(by_chroma, someone)
    with pytest.raises(AppError, match="erasing"):
        await by_chroma.index(someone)
    with pytest.raises(NoCollectionError):
        await client.find(index.name(someone.usr))
