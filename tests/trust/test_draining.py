"""SIGTERM to a `cairn serve` under load: not ready first, what is in flight is answered, the status is 0."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

import httpx
import psutil
import pytest

from tests.trust.running import GONE_WITHIN_S, MODULE_TIMEOUT_S, PLAIN, Installation, Running, becomes_true

CALLERS = 8
BEFORE_TERM = 40
DRAIN_S = "2"
UNANSWERED_S = 5

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


@pytest.fixture(params=["1", "2"])
def serving(installation: Installation, up: Running, request: pytest.FixtureRequest) -> Iterator[Running]:
    """One more `cairn serve` on the stores of `up`: of one process, and of two."""
    assert up.ready_status() == 200
    with installation.serving(CAIRN_WORKERS=request.param, CAIRN_DRAIN_S=DRAIN_S) as running:
        yield running


@pytest.fixture
def worker(up: Running) -> Iterator[psutil.Process]:
    """The worker of `up`, which a test may stop meanwhile."""
    found = up.child("worker")
    yield found
    found.resume()


class Caller:
    """Appends to a session of its own until nobody listens, and remembers what was acknowledged."""

    def __init__(self, client: httpx.AsyncClient, session_id: str) -> None:
        self.client = client
        self.path = f"/v1/sessions/{session_id}/messages"
        self.acknowledged: list[str] = []
        self.statuses: set[int] = set()

    async def run(self) -> None:
        while True:
            text = f"message {len(self.acknowledged)}"
            try:
                answer = await self.client.post(self.path, json={"messages": [{"role": "user", "content": text}]})
            except httpx.TransportError:  # it was told that the connection ends, and nobody takes a new one
                return
            self.statuses.add(answer.status_code)
            if answer.status_code == 201:
                self.acknowledged.append(text)


async def test_sigterm_under_load_loses_nothing(
    up: Running, serving: Running, tenant: str, worker: psutil.Process
) -> None:
    callers = []
    for _ in range(CALLERS):
        client = serving.async_client("alice", tenant)
        callers.append(Caller(client, (await client.post("/v1/sessions", json={})).json()["id"]))
    slow = await SlowRequest.begin(serving, callers[0])
    worker.suspend()
    follower = await Follower.begin(serving, tenant)
    tasks = [asyncio.create_task(caller.run()) for caller in callers]
    await until(lambda: sum(len(caller.acknowledged) for caller in callers) >= BEFORE_TERM)
    serving.tree()
    serving.send(signal.SIGTERM)
    await until(lambda: serving.ready_status() == 503)
    counted = sum(len(caller.acknowledged) for caller in callers)
    await until(
        lambda: sum(len(caller.acknowledged) for caller in callers) > counted + CALLERS
    )  # not ready, and serving
    await until(lambda: refuses(serving))
    assert serving.process.poll() is None, "it ended with a request in flight"
    assert await follower.ended() == "queued", "a stream ends by itself, before the process does"
    assert await slow.finish() == 201
    await asyncio.wait_for(asyncio.gather(*tasks), GONE_WITHIN_S)
    assert await asyncio.to_thread(serving.await_end) == 0, serving.text()
    assert {status for caller in callers for status in caller.statuses} == {201}
    async with up.async_client("alice", tenant) as reader:
        for caller in callers:
            kept = await texts(reader, caller.path)
            assert set(caller.acknowledged) <= set(kept)
            assert len(kept) == len(set(kept))
        assert SlowRequest.TEXT in await texts(reader, callers[0].path)
    worker.resume()
    assert await follower.comes_back(up) == ["ready"]
    for caller in callers:
        await caller.client.aclose()


class SlowRequest:
    """A request whose second half is sent when the test says so: in flight for as long as that takes."""

    TEXT = "said slowly"

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rest: bytes) -> None:
        self._reader = reader
        self._writer = writer
        self._rest = rest

    @classmethod
    async def begin(cls, serving: Running, caller: Caller) -> "SlowRequest":
        body = json.dumps({"messages": [{"role": "user", "content": cls.TEXT}]}).encode()
        head = [
            f"POST {caller.path} HTTP/1.1",
            "Host: cairn.test",
            f"Authorization: {caller.client.headers['Authorization']}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        reader, writer = await asyncio.open_connection("127.0.0.1", serving.port)
        writer.write("\r\n".join([*head, "", ""]).encode() + body[:10])
        await writer.drain()
        return cls(reader, writer, body[10:])

    async def finish(self) -> int:
        """Send the rest and return the status that is answered."""
        self._writer.write(self._rest)
        await self._writer.drain()
        line = await asyncio.wait_for(self._reader.readline(), GONE_WITHIN_S)
        self._writer.close()
        return int(line.split()[1])


class Follower:
    """Follows a document that no worker comes to, by a stream that only its server can end."""

    def __init__(self, tenant: str, path: str, stream: AsyncIterator[dict[str, str]], first: dict[str, str]) -> None:
        self._tenant = tenant
        self._path = path
        self._stream = stream
        self._last = first

    @classmethod
    async def begin(cls, serving: Running, tenant: str) -> "Follower":
        """Upload, and see the first event."""
        async with serving.async_client("alice", tenant) as client:
            made = await client.post("/v1/knowledge/documents", json={"text": "Wait for it.", "doc_type": "note"})
        path = f"{made.headers['location']}/events"
        stream = events(serving, tenant, path)
        return cls(tenant, path, stream, await anext(stream))

    async def ended(self) -> str:
        """Return the last status that was told, when the stream has ended as it should."""
        async with asyncio.timeout(GONE_WITHIN_S):
            async for event in self._stream:
                self._last = event
        return str(json.loads(self._last["data"])["status"])

    async def comes_back(self, to: Running) -> list[str]:
        """Ask another server for what followed, and return how it ended."""
        async with asyncio.timeout(GONE_WITHIN_S):
            told = [event async for event in events(to, self._tenant, self._path, self._last["id"])]
        return [json.loads(event["data"])["status"] for event in told][-1:]


async def events(
    running: Running, tenant: str, path: str, last: str | None = None
) -> AsyncGenerator[dict[str, str], None]:
    """Yield the events of a document's stream. Raises where it breaks off instead of ending."""
    headers = {"Last-Event-ID": last} if last else {}
    async with running.async_client("alice", tenant) as client, client.stream("GET", path, headers=headers) as answer:
        event: dict[str, str] = {}
        async for line in answer.aiter_lines():
            name, _, value = line.partition(": ")
            if line:
                event[name] = value
            elif "data" in event:
                yield event
            if not line:
                event = {}


def refuses(serving: Running) -> bool:
    """Say whether a new connection is refused: one that is taken and answered by nobody is no refusal."""
    try:
        httpx.get(f"{serving.base_url}/readyz", timeout=UNANSWERED_S, verify=PLAIN, trust_env=False)
    except httpx.ConnectError:
        return True
    except httpx.TransportError:  # it ended while it was asked, or it doesn't answer
        return False
    return False


async def until(check: Callable[[], bool]) -> None:
    assert await asyncio.to_thread(becomes_true, check, GONE_WITHIN_S)


async def texts(client: httpx.AsyncClient, path: str) -> list[str]:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get(path, params={"limit": 200, **cursor})).json()
        found += [item["content"] for item in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}
