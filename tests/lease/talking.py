"""A session that one process writes and another reads, what is written to it, and what Postgres is asked meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import pytest
from asyncpg.pool import Pool
from sqlalchemy import event
from sqlalchemy.engine import Engine

from app.core import clock
from app.core.idempotency import Attempt
from app.core.scope import Scope
from app.core.versions import Exactly
from app.infra.db.generations import Row
from app.infra.embedded.stack import Stack
from app.infra.redis.client import RedisStore
from app.infra.redis.lease import LEASE_S
from app.sessions import store
from app.sessions.model import Opening, View
from app.sessions.service import Sessions
from app.wiring import Wiring
from tests.sessions.talk import the
from tests.sessions.test_window import hot_copy, words


class Talk:
    """A session of one user's that one process writes and another reads."""

    def __init__(self, processes: list[Wiring], redis: RedisStore, alice: Scope) -> None:
        self.writer, self.reader = (the(each, Sessions) for each in processes)
        self.processes, self.redis, self.alice = processes, redis, alice
        self.view: View

    async def begin(self) -> None:
        self.view = (await self.writer.open(self.alice, Opening(title="first"))).view
        await self.say("one")
        await self.warm()

    async def warm(self) -> None:
        """Wait until the reader needs Redis alone."""
        await hot_copy(self.processes[1], self.redis, self.alice, self.view.session.id)

    async def say(self, text: str, attempt: Attempt | None = None) -> None:
        await self.writer.append(self.alice, self.view.session.id, words(text), attempt)

    async def read(self) -> View:
        return await self.reader.view(self.alice, self.view.session.id)

    @asynccontextmanager
    async def deaf_reader(self) -> AsyncIterator[None]:
        """Have the reader take the lease at this moment, and hear of nothing that happens to it meanwhile."""
        async with deaf(self.processes[1]):
            yield

    async def recorded(self) -> View:
        """Return the session as Postgres has it."""
        async with self.processes[0].db.read(self.alice) as tx:
            session = await store.find_session(tx, self.view.session.id)
            assert session is not None
            return await self.writer._views.view_in(tx, session)  # noqa: SLF001 - the record's own view: what all must equal


@asynccontextmanager
async def deaf(process: Wiring) -> AsyncIterator[None]:
    """Have a process take the lease at this moment, and hear of nothing that happens to it meanwhile."""
    generations = process.lease._generations  # noqa: SLF001 - of one process alone, and in the middle of its work
    taken, heard, read = asyncio.Event(), asyncio.Event(), generations.read

    async def once() -> Row:
        if taken.is_set():
            await heard.wait()
        row = await read()
        if row.servers and row.is_settled and clock.now_s() < row.asked_at + LEASE_S / 2:
            taken.set()
        return row

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(generations, "read", once)
        await taken.wait()
        assert process.lease.held() is not None
        try:
            yield
        finally:
            heard.set()


@contextmanager
def statements() -> Iterator[list[str]]:
    """Gather what is asked of Postgres meanwhile, by whichever part of this process."""
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    acquire = Pool.acquire

    def noted(pool: Pool, **options: Any) -> Any:  # noqa: ANN401 - the pool's own
        asked.append("a question to the key store")
        return acquire(pool, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Pool, "acquire", noted)
        try:
            yield asked
        finally:
            event.remove(Engine, "before_cursor_execute", note)


async def asked_as_superuser(stack: Stack, query: str, *args: object) -> Any:  # noqa: ANN401 - the column's type is the query's
    connection = await asyncpg.connect(stack.admin_url.rsplit("/", 1)[0] + "/cairn")
    try:
        return await connection.fetchval(query, *args)
    finally:
        await connection.close()


async def change(talk: Talk) -> None:
    version = (await talk.recorded()).session.version
    await talk.writer.change(
        talk.alice, talk.view.session.id, {"title": "second", "window_size": 3}, Exactly(frozenset({version}))
    )


async def take_out(talk: Talk) -> None:
    message = (await talk.recorded()).window[0]
    await talk.writer.delete_message(talk.alice, talk.view.session.id, message.id)


async def say(talk: Talk) -> None:
    await talk.say("Never use tables.")


async def summarise(talk: Talk) -> None:
    for number in range(40):
        await talk.say(f"Always mention {number}.")


WRITES = [change, take_out, say, summarise]
Write = Callable[[Talk], Any]
