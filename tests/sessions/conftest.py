"""What the tests of sessions need beside the product's own wiring."""

from collections.abc import AsyncIterator, Sequence

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from app.core.memory import Source
from app.infra.redis.client import RedisStore, connect
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.main import create_app
from app.sessions.recall import Recalls
from app.sessions.source import RecallSource, SessionSource
from app.sessions.view import Views
from app.sessions.window import Window
from app.settings import Settings
from app.wiring import Wiring
from tests.sessions.talk import the


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
    views = Views(wiring.db, Window(redis), ExtractiveSummariser())
    return [SessionSource(views), RecallSource(wiring.db, the(wiring, Recalls))]
