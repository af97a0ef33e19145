"""What the tests of the lease stand on: a database and two Redis of their own, and two processes that share them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio
from fastapi import FastAPI
from pydantic import SecretStr

from app import wiring as product
from app.infra.db import migrations
from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Server, Stack
from app.infra.redis.client import RedisStore, connect
from app.main import create_app
from app.settings import Settings
from app.wiring import Wiring, build
from tests.conftest import MakeScope
from tests.lease.own_redis import Line, OwnRedis, stop_all
from tests.lease.remembering import Mind
from tests.lease.talking import Talk


@pytest.fixture(scope="session")
def own_stack() -> Iterator[Stack]:
    """A database of these tests' own: its lease is opened and closed here alone."""
    with TemporaryDirectory(prefix="cairn-lease-") as folder:
        Path(folder).chmod(0o755)
        stack = Stack(Path(folder) / "data", external=frozenset({Server.REDIS}), durability=Durability.TESTS)
        with stack:
            migrations.upgrade(str(stack.urls.database_owner), str(stack.urls.keys))
            yield stack
        stack.remove()


@pytest_asyncio.fixture(scope="session")
async def servers() -> AsyncIterator[list[OwnRedis]]:
    """Two servers, of which the first is the one in use."""
    with TemporaryDirectory(prefix="cairn-redis-") as folder:
        made = [OwnRedis(Path(folder), name) for name in ("first", "second")]
        for each in made:
            await each.start()
        yield made
        await stop_all(made)


@pytest_asyncio.fixture(scope="session")
async def lines(servers: list[OwnRedis]) -> AsyncIterator[list[Line]]:
    """What each of the two processes reaches Redis by."""
    made = [Line(servers[0].port), Line(servers[0].port)]
    for each in made:
        await each.start()
    yield made
    await stop_all(made)


@pytest.fixture(scope="session")
def settings(settings: Settings, own_stack: Stack) -> Settings:
    urls = own_stack.urls
    here = {
        "database_url": SecretStr(str(urls.database)),
        "database_owner_url": SecretStr(str(urls.database_owner)),
        "database_log_url": SecretStr(str(urls.database_log)),
        "queue_url": SecretStr(str(urls.queue)),
        "keys_url": SecretStr(str(urls.keys)),
        "chroma_url": urls.chroma,
    }
    return settings.model_copy(update=here)


@pytest_asyncio.fixture(scope="session")
async def processes(settings: Settings, lines: list[Line]) -> AsyncIterator[list[Wiring]]:
    """Two processes of the API: the first writes, the second reads."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(build(settings.model_copy(update={"redis_url": SecretStr(line.url)})))
            for line in lines
        ]


@pytest_asyncio.fixture(scope="session")
async def apis(settings: Settings, processes: list[Wiring]) -> AsyncIterator[list[FastAPI]]:
    """What the two processes serve."""
    async with AsyncExitStack() as stack:
        served = []
        for process in processes:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(product, "build", lambda *_, process=process: nullcontext(process))
                served.append(create_app(settings))
                await stack.enter_async_context(served[-1].router.lifespan_context(served[-1]))
        yield served


@pytest.fixture
def wiring(processes: list[Wiring]) -> Wiring:
    return processes[0]


@pytest_asyncio.fixture(autouse=True)
async def _all_is_well(servers: list[OwnRedis], lines: list[Line]) -> AsyncIterator[None]:
    """Undo what a test did to the servers and the lines."""
    yield
    for line in lines:
        line.let_go()
        line.lead_to(servers[0].port)
    await servers[1].say("REPLICAOF", "NO", "ONE")
    await servers[1].say("FLUSHALL")


@pytest_asyncio.fixture
async def redis(lines: list[Line]) -> AsyncIterator[RedisStore]:
    made = connect(lines[1].url)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def talk(processes: list[Wiring], redis: RedisStore, scope: MakeScope) -> Talk:
    made = Talk(processes, redis, await scope())
    await made.begin()
    return made


@pytest_asyncio.fixture
async def mind(apis: list[FastAPI], processes: list[Wiring], tenant: str) -> AsyncIterator[Mind]:
    made = Mind(apis, processes, tenant)
    async with made.writer, made.reader:
        await made.begin()
        yield made
