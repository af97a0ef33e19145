"""A server that hangs (SIGSTOP: its connections stay open, nothing comes over them), and the API in its own processes.

Every call ends by itself: by a problem that says so, or by an answer that says what it lacks. Who waits for it is the
client's time-out alone, which is longer than all of the product's own.
"""

import asyncio
import threading
from collections.abc import Awaitable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import httpx
import pytest

from tests.embedders import endpoint
from tests.embedders.endpoint import Answer, Recorder
from tests.trust.deployment import Deployment, Part
from tests.trust.reports import tell
from tests.trust.running import MODULE_TIMEOUT_S

ROUNDS = 20
LONG_TIMEOUT_S = 1_800
CREATE = {"If-None-Match": "*"}
UNAVAILABLE = {"store_unavailable", "overloaded"}
FOUND = {"recall", "memories", "knowledge"}

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


class Person:
    """Somebody with something of each kind, who asks for all of it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._session = ""
        self._number = 0

    async def begin(self) -> None:
        client = self._client
        assert (await client.put("/v1/preferences/tone", json={"value": "formal"}, headers=CREATE)).status_code == 201
        assert (await client.post("/v1/memories", json={"text": "The zebra is called Ann."})).status_code == 201
        self._session = (await client.post("/v1/sessions", json={})).json()["id"]
        said = [{"role": "user", "content": f"The zebra number {number}."} for number in range(5)]
        path = f"/v1/sessions/{self._session}/messages"
        assert (await client.post(path, json={"messages": said})).status_code == 201
        body = {"text": "The zebra is in the garden.", "doc_type": "note"}
        document = (await client.post("/v1/knowledge/documents", json=body)).json()["id"]
        done = await client.get(f"/v1/knowledge/documents/{document}/events", params={"wait_s": 25})
        assert done.json()["status"] == "ready"

    def contexts(self) -> dict[str, Awaitable[httpx.Response]]:
        """Make contexts, with what is required and without."""
        asked = {"query": f"What is the zebra called {self._next()}?", "session_id": self._session}
        return {
            "context": self._client.post("/v1/context", json=asked),
            "context that requires nothing": self._client.post("/v1/context", json={**asked, "require": []}),
            "context of no session": self._client.post("/v1/context", json={"query": f"Zebra {self._next()}?"}),
        }

    def reads(self) -> dict[str, Awaitable[httpx.Response]]:
        question = {"query": f"Where is the zebra {self._next()}?"}
        return {
            "recall": self._client.post("/v1/recall", json=question),
            "search": self._client.post("/v1/knowledge/search", json=question),
            "session": self._client.get(f"/v1/sessions/{self._session}"),
            "messages": self._client.get(f"/v1/sessions/{self._session}/messages"),
            "memories": self._client.get("/v1/memories"),
            "log": self._client.get("/v1/memory-log"),
        }

    def writes(self) -> dict[str, Awaitable[httpx.Response]]:
        number = self._next()
        path = f"/v1/sessions/{self._session}/messages"
        message = {"role": "user", "content": f"Hello {number}"}
        with_context = {"messages": [message], "context": {"query": f"Zebra {number}?"}}
        return {
            "append": self._client.post(path, json={"messages": [message]}),
            "append with a context": self._client.post(path, json=with_context),
            "preference": self._client.put(f"/v1/preferences/k{number}", json={"value": 1}, headers=CREATE),
            "fact": self._client.post("/v1/memories", json={"text": f"Fact {number}."}),
        }

    def everything(self) -> dict[str, Awaitable[httpx.Response]]:
        return {**self.contexts(), **self.reads(), **self.writes()}

    def _next(self) -> int:
        self._number += 1
        return self._number


async def answers(calls: dict[str, Awaitable[httpx.Response]]) -> dict[str, httpx.Response]:
    """Make all of the calls at once. One that isn't answered at all raises the client's time-out."""
    return dict(zip(calls, await asyncio.gather(*calls.values()), strict=True))


def check_refused(made: dict[str, httpx.Response]) -> None:
    for name, answer in made.items():
        assert answer.status_code == 503, (name, answer.text)
        assert answer.headers["Content-Type"] == "application/problem+json", name
        assert answer.json()["code"] in UNAVAILABLE, (name, answer.text)
        assert "Retry-After" in answer.headers, name


def check_answered(made: dict[str, httpx.Response]) -> None:
    told = {name: (answer.status_code, answer.text[:300]) for name, answer in made.items() if not answer.is_success}
    assert not told
    for name, answer in made.items():
        if name.startswith("context"):
            assert "formal" in answer.json()["prompt"], name


async def people(stack: AsyncExitStack, deployment: Deployment, tenant: str, count: int) -> list[Person]:
    clients = [deployment.api.async_client(f"user {number}", tenant) for number in range(count)]
    for client in clients:
        stack.push_async_callback(client.aclose)
    made = [Person(client) for client in clients]
    await asyncio.gather(*(person.begin() for person in made))
    return made


async def test_every_call_ends_while_a_server_hangs(deployment: Deployment, tenant: str) -> None:
    async with AsyncExitStack() as stack:
        (alice,) = await people(stack, deployment, tenant, 1)
        check_answered(await answers(alice.everything()))
        with deployment.hanging(Part.POSTGRES):
            check_refused(await answers(alice.everything()))
        await until_all_is_well(alice)
        for part in (Part.REDIS, Part.CHROMA):
            with deployment.hanging(part):
                check_answered(await answers(alice.everything()))


@pytest.fixture
def embedder() -> Iterator[Recorder]:
    with endpoint.running() as recorder:
        yield recorder


@pytest.mark.timeout(LONG_TIMEOUT_S)
async def test_every_call_ends_whatever_hangs_and_whenever(
    embedder: Recorder, tenant: str, request: pytest.FixtureRequest
) -> None:
    """Calls that were begun before the server stopped, and after it; and an embedder that hangs. The long form only:
    it has a deployment of its own, in which Chroma is asked by every search and the deadline is the usual one.
    """
    if not request.config.getoption("--long"):
        return
    told: set[str] = set()
    apart = Deployment(
        CAIRN_CONTEXT_DEADLINE_S="0.3",
        CAIRN_EMBEDDER_DEADLINE_S="2",
        CAIRN_EMBEDDER="openai:tiny",
        CAIRN_LLM_BASE_URL=embedder.url,
        CAIRN_EXACT_MAX_CHUNKS="0",
    )
    try:
        apart.start()
        async with AsyncExitStack() as stack:
            everybody = await people(stack, apart, tenant, 3)
            for number in range(ROUNDS):
                for part in (Part.POSTGRES, Part.REDIS, Part.CHROMA):
                    begun = [asyncio.ensure_future(answers(person.everything())) for person in everybody]
                    await asyncio.wait(begun, timeout=0.02 * (number % 5))
                    with apart.hanging(part):
                        ended = [*await asyncio.gather(*begun), *await volley(everybody)]
                    told |= {f"{part.value}: {answer.status_code}" for made in ended for answer in made.values()}
                    await until_all_is_well(everybody[0])
                with hanging(embedder):
                    for made in await volley(everybody):
                        check_answered({name: answer for name, answer in made.items() if "context" not in name})
                        assert made["recall"].json()["mode"] == made["search"].json()["mode"] == "lexical"
                        assert set(made["context that requires nothing"].json()["missing"]) >= FOUND
        assert not apart.errors()
    finally:
        apart.stop()
    tell(f"{ROUNDS} rounds of everything that hangs: {sorted(told)}")
    assert {line for line in told if not line.endswith((": 200", ": 201"))} <= {f"{part.value}: 503" for part in Part}


async def volley(everybody: list[Person]) -> list[dict[str, httpx.Response]]:
    return await asyncio.gather(*(answers(person.everything()) for person in everybody))


@contextmanager
def hanging(embedder: Recorder) -> Iterator[None]:
    released = threading.Event()

    def hang(body: dict[str, Any]) -> Answer:
        released.wait(MODULE_TIMEOUT_S)
        return endpoint.embeddings(body)

    embedder.answers[:] = [hang] * 200
    try:
        yield
    finally:
        embedder.answers.clear()
        released.set()


async def until_all_is_well(person: Person) -> None:
    """Wait until contexts are made again: connections that were given up are opened anew by who asks next."""
    async with asyncio.timeout(MODULE_TIMEOUT_S / 2):
        while any(not answer.is_success for answer in (await answers(person.contexts())).values()):
            pass
