"""kill -9 of Chroma while documents are written: each that was acknowledged is searched afterwards, by itself."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from app import wiring as product
from app.core.scope import Scope
from app.infra.chroma.client import ChromaClient
from app.infra.chroma.index import ChromaIndex
from app.infra.embedders.build import build
from app.infra.embedders.port import Embedder
from app.infra.segments.cache import IndexCache
from app.infra.segments.store import SegmentStore
from app.knowledge.indexing import VectorKeeper
from app.knowledge.model import Document, Status, chunk_id
from app.knowledge.vectors import ChromaVectors
from app.settings import Settings
from tests.conftest import MakeScope, eventually
from tests.knowledge.chroma_server import ChromaServer
from tests.knowledge.conftest import NOTE, Knowledge, drop_old_jobs, working
from tests.trust.reports import tell

ROUNDS = 20
ROUNDS_IN_SHORT = 2
PEOPLE = 4
# A kill comes when so many were acknowledged more, so that some are being written.
APART = range(2, 14)
SETTLED_WITHIN_S = 240.0

pytestmark = pytest.mark.timeout(1_800)


@dataclass
class Writer:
    """Somebody who uploads one document after the other, and what was acknowledged to them."""

    scope: Scope
    documents: dict[str, Document] = field(default_factory=dict)

    async def run(self, knowledge: Knowledge, stop: asyncio.Event) -> None:
        while not stop.is_set():
            text = f"The keeper of lighthouse {len(self.documents)} writes down what the weather was on that day."
            self.documents[text] = await knowledge.documents.add(self.scope, text, NOTE, None)
            await asyncio.sleep(0.02)  # so that the worker, which has the same processor, gets on


@pytest.fixture
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    server = ChromaServer(tmp_path_factory.mktemp("chroma"))
    server.start()
    yield server
    server.stop()


@pytest_asyncio.fixture
async def by_chroma(settings: Settings, chroma: ChromaServer) -> AsyncIterator[Knowledge]:
    """The product on that server, asking it for every search."""
    changed = settings.model_copy(update={"chroma_url": chroma.url, "exact_max_chunks": 0})
    async with product.build(changed) as wired:
        yield Knowledge(wired)


async def test_every_acknowledged_document_is_searched_after_chroma_was_killed(
    by_chroma: Knowledge,
    chroma: ChromaServer,
    settings: Settings,
    scope: MakeScope,
    tenant: str,
    request: pytest.FixtureRequest,
) -> None:
    rounds = ROUNDS if request.config.getoption("--long") else ROUNDS_IN_SHORT
    embedder = build("use")
    model = f"{embedder.name}@{embedder.revision}"
    chance = random.Random()  # noqa: S311 - when to kill
    writers = [Writer(await scope()) for _ in range(PEOPLE)]
    await drop_old_jobs(settings, tenant)
    async with working(by_chroma.wiring, settings):
        for _ in range(rounds):
            async with writing(by_chroma, writers):
                await more(writers, chance.choice(APART))
                chroma.kill()
                await more(writers, PEOPLE)
            await what_is_ready_is_found(by_chroma, writers)
            chroma.start()
        client = ChromaClient(chroma.url)
        vectors = ChromaIndex(client, model)
        await eventually(lambda: all_told(by_chroma, vectors, model, writers), within_s=SETTLED_WITHIN_S)
        lost = [text for writer in writers for text in await missing(by_chroma, vectors, embedder, writer)]
        await client.close()
    acknowledged = sum(len(writer.documents) for writer in writers)
    tell(f"{rounds} kills of Chroma, {acknowledged} documents acknowledged, lost={len(lost)}")
    assert not lost


@asynccontextmanager
async def writing(knowledge: Knowledge, writers: Sequence[Writer]) -> AsyncIterator[None]:
    """Have them write meanwhile."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(writer.run(knowledge, stop))
        yield
        stop.set()


async def more(writers: Sequence[Writer], number: int) -> None:
    """Wait until so many more documents were acknowledged."""
    wanted = sum(len(writer.documents) for writer in writers) + number

    async def acknowledged() -> bool:
        return sum(len(writer.documents) for writer in writers) >= wanted

    await eventually(acknowledged, within_s=SETTLED_WITHIN_S)


async def what_is_ready_is_found(knowledge: Knowledge, writers: Sequence[Writer]) -> None:
    """Ask for the last document of each that is ready: with no Chroma, PostgreSQL answers."""
    for writer in writers:
        for text, document in reversed(writer.documents.items()):
            if (await knowledge.documents.read(writer.scope, document.id)).status is Status.READY:
                assert text in await knowledge.texts(writer.scope, text, 3)
                break


async def all_told(knowledge: Knowledge, vectors: ChromaIndex, model: str, writers: Sequence[Writer]) -> bool:
    """Say whether Chroma has everything that was acknowledged, and knows it."""
    keeper = VectorKeeper(knowledge.wiring.db, SegmentStore("chunk", IndexCache(), model), [vectors])
    checks = [await keeper.check(writer.scope) for writer in writers]
    return all(
        check.is_complete and check.expected == len(writer.documents)
        for check, writer in zip(checks, writers, strict=True)
    )


async def missing(knowledge: Knowledge, vectors: ChromaIndex, embedder: Embedder, writer: Writer) -> list[str]:
    """Return the texts that Chroma doesn't find by their own vectors."""
    by_chroma = ChromaVectors(knowledge.wiring.db, [vectors])
    async with knowledge.wiring.db.read(writer.scope) as tx:
        sealed = (await SegmentStore("chunk", IndexCache(), vectors.model).load(tx)).index
    return [
        text
        for text, document in writer.documents.items()
        if chunk_id(document.id, 1, 0)
        not in await by_chroma.nearest(writer.scope, sealed, embedder.embed([text])[0], 3)
    ]
