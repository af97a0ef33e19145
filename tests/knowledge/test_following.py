"""Following a document: told as it changes, nothing of what it says, and ended with it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from app.core.ids import parse
from app.core.scope import Scope
from app.knowledge import event_routes, watching
from app.knowledge.service import INGEST_JOB
from app.settings import Settings
from app.web.health import Readiness, State
from tests.conftest import MakeClient, MakeScope
from tests.knowledge.conftest import Knowledge

DOCUMENTS = "/v1/knowledge/documents"
WITHIN_S = 20
Body = dict[str, Any]  # Any: JSON


class Stream:
    """An answer that is read as it comes: httpx hands out an application's answer only when it is whole."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.hung_up = asyncio.Event()
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def receive(self) -> Message:
        await self.hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        if message.get("body"):
            await self._pieces.put(message["body"])
        if not message.get("more_body"):
            await self._pieces.put(None)

    async def next(self) -> Body | None:
        """Return the next event, or comment; None at the end."""
        async with asyncio.timeout(WITHIN_S):
            piece = await self._pieces.get()
        if piece is None:
            return None
        event = dict(line.split(": ", 1) for line in piece.decode().splitlines() if line)
        return event | ({"data": json.loads(event["data"])} if "data" in event else {})

    async def rest(self) -> list[Body]:
        """Return all that is to come."""
        found = []
        while (event := await self.next()) is not None:
            found.append(event)
        return found


@asynccontextmanager
async def following(app: FastAPI, client: httpx.AsyncClient, path: str, last: str = "") -> AsyncIterator[Stream]:
    """Follow a document; hang up in the end."""
    stream = Stream()
    headers = {**client.headers, **({"last-event-id": last} if last else {})}
    asked = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": f"{path}/events",
        "raw_path": f"{path}/events".encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("cairn.test", 80),
    }
    serving = asyncio.create_task(app(asked, stream.receive, stream.send))
    try:
        yield stream
    finally:
        stream.hung_up.set()
        await serving


@pytest.fixture
async def alice(client: MakeClient) -> httpx.AsyncClient:
    return await client("alice")


@pytest.fixture
def draining(app: FastAPI) -> Iterator[Readiness]:
    """The state of the process, which a test may let drain."""
    readiness: Readiness = app.state.readiness
    before = readiness.state
    yield readiness
    readiness.state = before


async def added(client: httpx.AsyncClient, text: str = "The rent is due.", **said: object) -> str:
    answer = await client.post(DOCUMENTS, json={"text": text, "doc_type": "note", **said})
    assert answer.status_code == 202
    return answer.headers["location"]


async def ingest(knowledge: Knowledge, someone: Scope, path: str) -> None:
    """Do what a worker would."""
    await knowledge.job(INGEST_JOB, someone, document_id=str(parse("doc", path.rpartition("/")[2])), version=1)


async def test_each_change_is_told_once_without_content_until_the_document_is_settled(
    app: FastAPI, alice: httpx.AsyncClient, knowledge: Knowledge, scope: MakeScope
) -> None:
    secrets = {"title": "Xanthippe", "metadata": {"colour": "vermilion"}}
    path = await added(alice, "Rhubarb grows here. " * 2_000, **secrets)
    async with following(app, alice, path) as stream:
        assert "retry" in (await stream.next() or {})
        first = await stream.next()
        assert first is not None
        assert first["data"]["status"] == "queued"
        await ingest(knowledge, await scope("alice"), path)
        events = [first, *await stream.rest()]
    assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert len({event["id"] for event in events}) == len(events)
    assert {event["event"] for event in events} == {"status"}
    assert (events[-1]["data"]["status"], events[-1]["data"]["searched_version"]) == ("ready", 1)
    told = json.dumps(events)
    assert not any(word in told for word in ("Xanthippe", "colour", "vermilion", "Rhubarb", "note"))
    async with following(app, alice, path, last=events[-1]["id"]) as again:
        assert (await again.rest(), again.status) == ([], 204)


async def test_a_stream_lives_through_the_end_of_its_process_by_coming_back(
    app: FastAPI, alice: httpx.AsyncClient, knowledge: Knowledge, scope: MakeScope, draining: Readiness
) -> None:
    path = await added(alice)
    async with following(app, alice, path) as stream:
        _, queued = await stream.next(), await stream.next()
        draining.state = State.DRAINING
        assert queued is not None
        assert await stream.rest() == [], "it ends, and says nothing that isn't so"
    waited = await alice.get(f"{path}/events", params={"wait_s": 60})
    assert (waited.status_code, waited.json()["status"]) == (200, "queued")
    draining.state = State.READY
    async with following(app, alice, path, last=queued["id"]) as stream:
        await stream.next()
        await ingest(knowledge, await scope("alice"), path)
        assert [event["data"]["status"] for event in await stream.rest()][-1:] == ["ready"]


async def test_a_stream_that_has_nothing_to_tell_shows_that_it_lives(
    app: FastAPI, alice: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_routes, "HEARTBEAT_S", 0.01)
    async with following(app, alice, await added(alice)) as stream:
        _, queued, heartbeat = await stream.next(), await stream.next(), await stream.next()
    assert queued is not None
    assert heartbeat == {"": "still there"}


async def test_a_stream_ends_with_its_document_and_with_its_user(app: FastAPI, alice: httpx.AsyncClient) -> None:
    for ending, name in ((None, "deleted"), ("/v1/users/me", "erased")):
        path = await added(alice)
        async with following(app, alice, path) as stream:
            await stream.next()
            assert (await alice.delete(ending or path, headers={"If-Match": "*"})).is_success
            assert (await stream.rest())[-1] == {"event": name, "data": {}}


async def test_followers_hold_no_connection_and_are_bounded(
    app: FastAPI, client: MakeClient, alice: httpx.AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, bob = await added(alice), await client("bob")
    theirs = await added(bob)
    assert settings.db_pool_size < watching.MAX_FOLLOWERS_OF_ONE
    async with AsyncExitStack() as open_streams:
        for _ in range(watching.MAX_FOLLOWERS_OF_ONE):
            stream = await open_streams.enter_async_context(following(app, alice, path))
            assert "retry" in (await stream.next() or {})
        refused = await alice.get(f"{path}/events")
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert "retry-after" in refused.headers
        assert (await alice.get(f"{path}/events", params={"wait_s": 1})).status_code == 429
        assert (await alice.get(path)).status_code == 200, "there are connections left for others"
        async with following(app, bob, theirs) as stream:
            assert "retry" in (await stream.next() or {})
        monkeypatch.setattr(watching, "MAX_FOLLOWERS", watching.MAX_FOLLOWERS_OF_ONE)
        full = await bob.get(f"{theirs}/events")
        assert (full.status_code, full.json()["code"]) == (503, "overloaded")
    async with following(app, alice, path) as stream:
        assert "retry" in (await stream.next() or {}), "who hung up has left a place"
