"""Knowledge as the product wires it, and a worker that does what is owed when a test says so."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from app import wiring as product
from app.core.scope import Scope
from app.infra.chroma.client import ChromaClient
from app.infra.chroma.index import ChromaIndex
from app.infra.embedders.build import build
from app.infra.embedders.port import Embedder
from app.infra.queue.runner import Runner, make_queue
from app.infra.segments.cache import IndexCache
from app.infra.segments.store import SegmentStore
from app.knowledge.indexing import VectorKeeper
from app.knowledge.model import EVERYTHING, Description, Document, Found, Limits, Mode, Query
from app.knowledge.search import Search
from app.knowledge.service import INDEX_JOB, INGEST_JOB, REBUILD_JOB, Documents
from app.knowledge.uploads import Uploads
from app.knowledge.vectors import ChromaVectors
from app.knowledge.watching import Watching
from app.settings import Settings
from tests.knowledge.chroma_server import ChromaServer

T = TypeVar("T")
NOTE = Description("note")
AskForTea = Callable[[Scope], Awaitable[AbstractSet[UUID]]]


@dataclass(frozen=True)
class Knowledge:
    """The services of knowledge, and its jobs by hand."""

    wiring: product.Wiring

    def service(self, kind: type[T]) -> T:
        found = self.wiring.provided[kind]
        assert isinstance(found, kind)
        return found

    @property
    def documents(self) -> Documents:
        return self.service(Documents)

    @property
    def uploads(self) -> Uploads:
        return self.service(Uploads)

    @property
    def watching(self) -> Watching:
        return self.service(Watching)

    async def job(self, name: str, scope: Scope, **args: str | int) -> None:
        handler = next(handler for handler in self.wiring.handlers if handler.name == name)
        await handler.run(scope, args)

    async def ingest(self, scope: Scope, document: Document) -> Document:
        await self.job(INGEST_JOB, scope, document_id=str(document.id), version=document.version)
        return await self.documents.read(scope, document.id)

    async def index(self, scope: Scope) -> None:
        await self.job(INDEX_JOB, scope)

    async def rebuild(self, scope: Scope) -> None:
        await self.job(REBUILD_JOB, scope)

    async def ready(self, scope: Scope, text: str, said: Description = NOTE) -> Document:
        document = await self.ingest(scope, await self.documents.add(scope, text, said, None))
        await self.index(scope)
        return document

    async def find(
        self,
        scope: Scope,
        text: str,
        top_k: int = 3,
        mode: Mode = Mode.HYBRID,
        limits: Limits = EVERYTHING,
    ) -> Found:
        return await self.service(Search).search(scope, Query(text, top_k, limits, mode, with_details=True))

    async def texts(self, scope: Scope, text: str, top_k: int = 3) -> list[str]:
        return [hit.passage.text for hit in (await self.find(scope, text, top_k)).hits]


@pytest.fixture
def knowledge(wiring: product.Wiring) -> Knowledge:
    return Knowledge(wiring)


@asynccontextmanager
async def working(wired: product.Wiring, settings: Settings) -> AsyncIterator[None]:
    """Have a worker run meanwhile."""
    stop = asyncio.Event()
    queue = make_queue(settings.queue_url.get_secret_value())
    running = asyncio.create_task(Runner(queue, wired.handlers).run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def drop_old_jobs(settings: Settings, tenant: str) -> None:
    """Drop what earlier tests left owed: a worker would do all of it before it came to this test's."""
    connection = await asyncpg.connect(settings.queue_url.get_secret_value())
    await connection.execute("DELETE FROM procrastinate_jobs WHERE status = 'todo' AND args->>'tenant' <> $1", tenant)
    await connection.close()


@pytest_asyncio.fixture
async def worker(wiring: product.Wiring, settings: Settings, tenant: str) -> AsyncIterator[None]:
    """A worker that runs beside the test."""
    await drop_old_jobs(settings, tenant)
    async with working(wiring, settings):
        yield


@pytest.fixture(scope="session")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    server = ChromaServer(tmp_path_factory.mktemp("chroma"))
    server.start()
    yield server
    server.stop()


@pytest_asyncio.fixture(scope="session")
async def by_chroma(settings: Settings, chroma: ChromaServer) -> AsyncIterator[Knowledge]:
    """The product on that server, asking it for every search."""
    changed = settings.model_copy(update={"chroma_url": chroma.url, "exact_max_chunks": 0})
    async with product.build(changed) as wired:
        yield Knowledge(wired)


@pytest_asyncio.fixture
async def chroma_client(chroma: ChromaServer) -> AsyncIterator[ChromaClient]:
    client = ChromaClient(chroma.url)
    yield client
    await client.close()


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return build("use")


@pytest.fixture
def model(embedder: Embedder) -> str:
    return f"{embedder.name}@{embedder.revision}"


@pytest.fixture
def index(chroma_client: ChromaClient, model: str) -> ChromaIndex:
    return ChromaIndex(chroma_client, model)


@pytest.fixture
def keeper(by_chroma: Knowledge, index: ChromaIndex) -> VectorKeeper:
    return VectorKeeper(by_chroma.wiring.db, SegmentStore("chunk", IndexCache(), index.model), [index])


@pytest.fixture
def tea(by_chroma: Knowledge, index: ChromaIndex, model: str, embedder: Embedder) -> AskForTea:
    """Asks Chroma alone for what is near to tea: the ids of five chunks, or UnfitError."""
    vectors = ChromaVectors(by_chroma.wiring.db, [index])
    segments = SegmentStore("chunk", IndexCache(), model)
    vector = embedder.embed(["tea"])[0]

    async def ask(someone: Scope) -> AbstractSet[UUID]:
        async with by_chroma.wiring.db.read(someone) as tx:
            sealed = (await segments.load(tx)).index
        return await vectors.nearest(someone, sealed, vector, 5)

    return ask
