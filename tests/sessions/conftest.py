"""What the tests of sessions need beside the product's own wiring."""

from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from app.core.memory import Source
from app.infra.redis.client import RedisStore, connect
from app.infra.summarisers.extractive import ExtractiveSummariser
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


@pytest.fixture
def sources(wiring: Wiring, redis: RedisStore) -> Sequence[Source]:
    """Give what context assembly asks."""
    views = Views(wiring.db, Window(redis), ExtractiveSummariser())
    return [SessionSource(views), RecallSource(wiring.db, the(wiring, Recalls))]
