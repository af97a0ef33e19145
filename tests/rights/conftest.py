"""A process whose models are all outside: one endpoint does what all of them do, and says what it was sent."""

import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr

from app.settings import Settings
from app.wiring import Wiring, build
from tests.served.endpoint import Answer, Recorder, running

DIMENSIONS = 16


def usual(body: dict[str, Any]) -> Answer:  # Any: JSON
    """Answer as a model would, whatever is asked."""
    if "input" in body:
        rows = [list(hashlib.sha256(text.encode()).digest()[:DIMENSIONS]) for text in body["input"]]
        answer: Any = {"data": [{"index": place, "embedding": row} for place, row in enumerate(rows)]}
    elif "documents" in body:
        count = len(body["documents"])
        answer = {"results": [{"index": place, "relevance_score": 0.5} for place in range(count)]}
    else:
        answer = {"choices": [{"message": {"content": "They spoke of birds."}}]}
    return 200, {}, json.dumps(answer).encode()


@pytest.fixture
def outside() -> Iterator[Recorder]:
    """Give what all that is sent outside goes to."""
    with running(usual) as recorder:
        yield recorder


@pytest_asyncio.fixture
async def sending(settings: Settings, outside: Recorder) -> AsyncIterator[Wiring]:
    """Give a process that asks models outside for everything."""
    wishes = {
        "embedder": "openai:far",
        "summariser": "openai",
        "llm_base_url": outside.url,
        "llm_model": "far",
        "llm_api_key": SecretStr("k-1"),
        "rerank_base_url": outside.url,
        "rerank_model": "far",
        "rerank_deadline_s": 20,
    }
    async with build(settings.model_copy(update=wishes)) as wired:
        yield wired


def sent(outside: Recorder) -> str:
    """Return all that was sent so far."""
    return json.dumps(outside.bodies)
