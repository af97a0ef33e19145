"""A server that speaks OpenAI's protocol for chats, and both summarisers."""

from collections.abc import AsyncIterator, Iterator

import pytest

from app.infra.served.client import Endpoint
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.infra.summarisers.openai import OpenAISummariser
from app.infra.summarisers.port import Summariser
from tests.summarisers import endpoint
from tests.summarisers.endpoint import Recorder


@pytest.fixture
def server() -> Iterator[Recorder]:
    with endpoint.running() as recorder:
        yield recorder


@pytest.fixture(params=["extractive", "openai"])
async def summariser(request: pytest.FixtureRequest, server: Recorder) -> AsyncIterator[Summariser]:
    made: Summariser = (
        ExtractiveSummariser() if request.param == "extractive" else OpenAISummariser("tiny", Endpoint(server.url))
    )
    yield made
    await made.close()
