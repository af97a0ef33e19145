"""A user's memory that one process of the API changes and another reads, over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI

from app.core.ids import parse
from app.core.scope import Actor, Scope
from app.infra.redis.client import RedisStore
from app.infra.redis.memory import MemoryCopies
from app.memories.expiring import EXPIRE_JOB
from app.wiring import Wiring
from tests.conftest import eventually, make_token
from tests.lease.talking import deaf, statements

AGENT = "writer"
READS = (
    "/v1/preferences",
    "/v1/preferences?limit=1",
    "/v1/preferences/tone",
    f"/v1/preferences/tone?agent_id={AGENT}",
    "/v1/profile",
)
ABSENT = {"If-None-Match": "*"}
PATCH = "application/merge-patch+json"

T = TypeVar("T")
Json = dict[str, Any]  # Any: JSON of the API


def at(version: int) -> dict[str, str]:
    return {"If-Match": f'"{version}"'}


class Mind:
    """One user, at two processes: at the first their memory is changed, at the second it is read."""

    def __init__(self, apis: list[FastAPI], processes: list[Wiring], tenant: str) -> None:
        self.processes = processes
        self._apis, self._tenant = apis, tenant
        self.writer, self.reader = (self.client(number) for number in range(2))
        self.scope: Scope
        self.facts: list[Json]

    async def begin(self) -> None:
        """Say something of each kind, and read it all until Redis alone is needed for that."""
        for path in ("/v1/preferences/tone", f"/v1/preferences/tone?agent_id={AGENT}", "/v1/preferences/diet"):
            await self.write("PUT", path, ABSENT, {"value": {"said": path}})
        await self.write("PATCH", "/v1/profile", at(0), {"name": "Ada", "attributes": {"desk": 3}})
        self.facts = [(await self.write("POST", "/v1/memories", {}, {"text": f"fact {number}"})) for number in range(2)]
        profile = await self.write("GET", "/v1/profile", {})
        self.scope = Scope(self._tenant, parse("usr", profile["id"]), AGENT)
        await self.warm()

    def client(self, process: int) -> httpx.AsyncClient:
        """Return a client of the user's that speaks to one of the processes."""
        headers = {"Authorization": f"Bearer {make_token('alice', self._tenant, agent=AGENT)}"}
        transport = httpx.ASGITransport(app=self._apis[process])
        return httpx.AsyncClient(transport=transport, base_url="http://cairn.test", headers=headers, timeout=30)

    async def write(self, method: str, path: str, headers: dict[str, str], body: Json | None = None) -> Json:
        """Have something written, which must be acknowledged."""
        answer = await self.ask(method, path, headers, body)
        assert answer.is_success, answer.text
        shown: Json = answer.json() if answer.content else {}
        return shown

    async def ask(self, method: str, path: str, headers: dict[str, str], body: Json | None = None) -> httpx.Response:
        """Ask the first process for something."""
        kind = {"Content-Type": PATCH if method == "PATCH" else "application/json"} if body is not None else {}
        return await self.writer.request(method, path, json=body, headers=headers | kind)

    async def read(self, path: str) -> httpx.Response:
        """Read from the second process."""
        return await self.reader.get(path)

    async def recorded(self, path: str) -> httpx.Response:
        """Return what the second process answers where Redis isn't looked at."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(MemoryCopies, "is_trusted", property(lambda _: False))
            return await self.reader.get(path)

    async def warm(self) -> None:
        """Wait until everything is read from Redis alone."""

        async def is_warm() -> bool:
            with statements() as asked:
                answers = [await self.read(path) for path in READS]
            assert {answer.status_code for answer in answers} <= {200, 404}
            # What isn't there is asked for each time.
            return not asked or any(answer.status_code == 404 for answer in answers)

        await eventually(is_warm)

    async def check(self) -> None:
        """Every read shows what Postgres has, byte for byte."""
        for path in READS:
            read, recorded = await self.read(path), await self.recorded(path)
            assert same(read, recorded), (path, read.text, recorded.text)

    async def expire(self, fact: Json) -> None:
        """Do the worker's job for a fact whose time was over at once."""
        (handler,) = (each for each in self.processes[0].handlers if each.name == EXPIRE_JOB)
        args = {"memory_id": str(UUID(hex=fact["id"].removeprefix("mem_"))), "version": fact["version"]}
        await handler.run(Scope(self.scope.tenant, self.scope.usr, None, Actor.WORKER), args)

    @asynccontextmanager
    async def deaf_reader(self) -> AsyncIterator[None]:
        """Have the reader take the lease at this moment, and hear of nothing that happens to it meanwhile."""
        async with deaf(self.processes[1]):
            yield


async def died_before_redis(process: Wiring, work: Coroutine[Any, Any, object]) -> None:
    """Have a process die over some work between its commit and its step in Redis."""
    committed = asyncio.Event()

    async def stand_still(*_: object) -> None:
        committed.set()
        await asyncio.Event().wait()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(process.lease, "follow", stand_still)
        task = asyncio.create_task(work)
        await asyncio.wait({task, asyncio.create_task(committed.wait())}, return_when=asyncio.FIRST_COMPLETED)
        assert not task.done(), task.result()
        task.cancel()
        await asyncio.wait({task})


def same(one: httpx.Response, other: httpx.Response) -> bool:
    """Say whether two answers are the same, but for the id of the request."""
    if one.status_code != 200:
        return (one.status_code, one.json()["code"]) == (other.status_code, other.json()["code"])
    mine, others = ({**answer.headers, "x-request-id": ""} for answer in (one, other))
    return (one.status_code, one.content, mine) == (other.status_code, other.content, others)


@contextmanager
def questions() -> Iterator[list[str]]:
    """Gather the scripts and commands that Redis is sent meanwhile by this process."""
    sent: list[str] = []
    run, command = RedisStore.run, RedisStore.command

    def noted(name: str, do: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        async def note(self: RedisStore, *args: Any) -> T:  # noqa: ANN401 - as what is noted takes them
            sent.append(name)
            return await do(self, *args)

        return note

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RedisStore, "run", noted("script", run))
        patched.setattr(RedisStore, "command", noted("command", command))
        yield sent


async def put(mind: Mind) -> None:
    await mind.write("PUT", "/v1/preferences/tone", at(1), {"value": "formal", "reason": "as asked"})


async def put_for_agent(mind: Mind) -> None:
    await mind.write("PUT", f"/v1/preferences/tone?agent_id={AGENT}", at(1), {"value": "curt"})


async def put_all(mind: Mind) -> None:
    items = [{"key": "tone", "value": 1, "version": 1}, {"key": "units", "value": "metric", "version": None}]
    await mind.write("PUT", "/v1/preferences", {}, {"items": items})


async def delete(mind: Mind) -> None:
    await mind.write("DELETE", "/v1/preferences/tone", at(1))


async def roll_back(mind: Mind) -> None:
    await put(mind)
    await mind.warm()
    await mind.write("POST", "/v1/preferences/tone/rollback", at(2), {"to_version": 1})


async def infer(mind: Mind) -> None:
    body = {"key": "colour", "value": "blue", "confidence": 0.5}
    assert (await mind.write("POST", "/v1/preference-proposals", {}, body))["state"] == "applied"


async def accept(mind: Mind) -> None:
    body = {"key": "tone", "value": "warm", "confidence": 0.5}
    candidate = (await mind.write("POST", "/v1/preference-proposals", {}, body))["candidate"]
    path = f"/v1/preference-candidates/{candidate['id']}/accept"
    await mind.write("POST", path, at(candidate["version"]))


async def patch(mind: Mind) -> None:
    await mind.write("PATCH", "/v1/profile", at(1), {"name": "Grace", "attributes": {"desk": None, "floor": 2}})


async def erase_field(mind: Mind) -> None:
    await mind.write("DELETE", "/v1/profile/fields/attributes/desk", at(1))


async def roll_profile_back(mind: Mind) -> None:
    await mind.write("POST", "/v1/profile/rollback", at(1), {"to_version": 0})


async def add_fact(mind: Mind) -> None:
    await mind.write("POST", "/v1/memories", {}, {"text": "has a dog"})


async def replace_fact(mind: Mind) -> None:
    await mind.write("PUT", f"/v1/memories/{mind.facts[0]['id']}", at(1), {"text": "has a cat"})


async def delete_fact(mind: Mind) -> None:
    await mind.write("DELETE", f"/v1/memories/{mind.facts[0]['id']}", at(1))


CHANGES = [
    put,
    put_for_agent,
    put_all,
    delete,
    roll_back,
    infer,
    accept,
    patch,
    erase_field,
    roll_profile_back,
    add_fact,
    replace_fact,
    delete_fact,
]
Change = Callable[[Mind], Coroutine[Any, Any, None]]
