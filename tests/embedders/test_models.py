"""A question asked of one model, or of two: who doesn't answer in time costs it nothing but its own vector."""

import threading
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import UUID

import pytest_asyncio

from app.core.assembly import Reason
from app.core.scope import Scope
from app.infra.embedders.models import Model, Models
from app.infra.embedders.port import EmbedderUnavailableError, Vectors
from app.infra.embedders.service import EmbeddingService
from tests.embedders.fakes import HashingEmbedder

SOON_S = 0.05
SCOPE = Scope("acme", UUID(int=7), None)


class Held(HashingEmbedder):
    """A model that answers when it is let."""

    def __init__(self) -> None:
        super().__init__(64)
        self.let = threading.Event()

    def embed(self, texts: list[str]) -> Vectors:
        self.let.wait(30)
        return super().embed(texts)


class Refusing(HashingEmbedder):
    """A model that is gone."""

    def embed(self, texts: list[str]) -> Vectors:
        raise EmbedderUnavailableError(str(len(texts)))


@pytest_asyncio.fixture
async def held() -> AsyncIterator[Model]:
    embedder = Held()
    async with AsyncExitStack() as stack:
        service = EmbeddingService(embedder)
        stack.push_async_callback(service.close)
        stack.callback(embedder.let.set)
        yield Model("held", service)


@pytest_asyncio.fixture
async def ready() -> AsyncIterator[Model]:
    service = EmbeddingService(HashingEmbedder(64))
    yield Model("ready", service)
    await service.close()


async def test_a_question_does_not_wait_for_a_model_that_hangs(held: Model) -> None:
    asked = await Models(held, deadline_s=SOON_S).ask(SCOPE, "why?")
    assert (dict(asked.vectors), asked.lacks) == ({}, Reason.SOURCE_LATE)
    assert held.service.waiting == 0


async def test_who_is_in_a_hurry_waits_until_then_and_no_longer(held: Model) -> None:
    asked = await Models(held, deadline_s=3_600).ask(SCOPE, "why?", time.monotonic() + SOON_S)
    assert asked.lacks is Reason.SOURCE_LATE
    assert (await Models(held, deadline_s=3_600).ask(SCOPE, "when?", time.monotonic() - 1)).lacks is Reason.SOURCE_LATE


async def test_of_two_models_one_is_enough(held: Model, ready: Model) -> None:
    for models in (Models(held, ready, SOON_S), Models(ready, held, SOON_S)):
        asked = await models.ask(SCOPE, "why?")
        assert (set(asked.vectors), asked.lacks) == ({"ready"}, None)


async def test_two_models_that_hang_are_late_and_one_that_is_gone_has_failed(held: Model) -> None:
    other = Model("other", held.service)
    assert (await Models(held, other, SOON_S).ask(SCOPE, "why?")).lacks is Reason.SOURCE_LATE
    gone = Model("gone", EmbeddingService(Refusing(64)))
    assert (await Models(gone, deadline_s=5).ask(SCOPE, "why?")).lacks is Reason.SOURCE_FAILED
    await gone.service.close()


async def test_texts_are_waited_for_as_long_as_it_takes(held: Model) -> None:
    assert isinstance(held.service.embedder, Held)
    threading.Timer(4 * SOON_S, held.service.embedder.let.set).start()
    assert set(await Models(held, deadline_s=SOON_S).embed(SCOPE, ["a text"])) == {"held"}
