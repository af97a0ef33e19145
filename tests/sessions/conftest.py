"""What the tests of sessions need beside the product's own wiring."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import asyncpg
import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from app.core.memory import Source
from app.core.scope import Scope
from app.infra.db.group_commit import GroupCommit
from app.infra.redis.client import RedisStore, connect
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.main import create_app
from app.sessions.appending import owed
from app.sessions.making import ViewMaker
from app.sessions.recall import Recalls
from app.sessions.service import Sessions
from app.sessions.source import RecallSource, SessionSource
from app.sessions.view import Views
from app.sessions.window import Window
from app.settings import Settings
from app.wiring import Wiring
from tests.sessions.commits import WITHIN_S, Hold
from tests.sessions.talk import the

POLL_S = 0.02


@pytest_asyncio.fixture
async def redis(settings: Settings) -> AsyncIterator[RedisStore]:
    """Give the run's Redis."""
    store = connect(settings.redis_url.get_secret_value())
    yield store
    await store.close()


@pytest_asyncio.fixture(scope="session")
async def open_app(settings: Settings) -> AsyncIterator[FastAPI]:
    """Give an application that lets guests in."""
    made = create_app(settings.model_copy(update={"allow_anonymous": True}))
    async with made.router.lifespan_context(made):
        yield made


@pytest_asyncio.fixture
async def guest(open_app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Give a client of that application without any token."""
    transport = httpx.ASGITransport(app=open_app)
    async with httpx.AsyncClient(transport=transport, base_url="http://cairn.test", timeout=30) as bare:
        yield bare


@pytest.fixture
def sources(wiring: Wiring, redis: RedisStore) -> Sequence[Source]:
    """Give what context assembly asks."""
    views = Views(wiring.db, Window(redis, wiring.lease), ViewMaker(ExtractiveSummariser()))
    return [SessionSource(views), RecallSource(wiring.db, the(wiring, Recalls))]


@pytest_asyncio.fixture
async def commits(wiring: Wiring) -> AsyncIterator[GroupCommit]:
    """Give a group commit of this test's own."""
    made = GroupCommit(wiring.db, owed(by_model=False))
    yield made
    await made.close()


@pytest.fixture
def sessions(wiring: Wiring) -> Sessions:
    """Give the product's sessions."""
    return the(wiring, Sessions)


@pytest.fixture
def hold(settings: Settings) -> Hold:
    """Give a way to hold a lock in a transaction of somebody else's: called with whose it is and a statement."""

    @contextlib.asynccontextmanager
    async def holding(scope: Scope, statement: str, *args: object, commits: bool = False) -> AsyncIterator[None]:
        connection = await asyncpg.connect(settings.database_url.get_secret_value())
        transaction = connection.transaction()
        await transaction.start()
        try:
            await connection.execute("SELECT set_config('app.user_id', $1, true)", str(scope.usr))
            await connection.execute("SELECT set_config('app.tenant', $1, true)", scope.tenant)
            await connection.execute(statement, *args)
            yield
        finally:
            await (transaction.commit() if commits else transaction.rollback())
            await connection.close()

    return holding


@pytest.fixture
def blocked(settings: Settings) -> Callable[[], Awaitable[None]]:
    """Give a way to wait until the product waits for a lock of somebody else's."""

    async def until_blocked() -> None:
        connection = await asyncpg.connect(settings.database_url.get_secret_value())
        try:
            async with asyncio.timeout(WITHIN_S):
                query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                while not await connection.fetchval(query):  # noqa: ASYNC110 - what happens there wakes nobody here
                    await asyncio.sleep(POLL_S)
        finally:
            await connection.close()

    return until_blocked
