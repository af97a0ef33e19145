"""A session costs at its ten thousandth message what it costs at its hundredth. What is counted here is work, not time:
tools/session_growth.py measures that.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg
import httpx
import pytest
import structlog
from fastapi import FastAPI
from redis.asyncio import Redis

from app.infra.db import migrations
from app.infra.embedded.bootstrap import on_database
from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Server, Stack
from app.main import create_app
from app.settings import Settings
from tests.conftest import MASTER_KEY, SECRET, USER_SCOPES, eventually, make_token
from tests.trust.reports import tell

SOON = 100
LATE = 500
LATE_IN_LONG = 10_000
# So often the summary is brought up to date where messages come one by one: each sample holds it once.
SAMPLE = 32
MOST_TIMES = 1.2
READINGS = 16
AT_ONCE = 8
BATCH = 50
NOBODY = "http://127.0.0.1:9"

WISHES = ("Never use tables.", "以后都用公制单位。", "You must always name a source.", "不要用缩写。")
TALK = (
    "We saw {n} herons by the lake at noon.",
    "昨天我们在湖边看到了{n}只白鹭。",
    "The train to Basel left from track {n}.",
)

# Each connection's work is counted when it ends, for each table and for what is kept beside it.
ROWS = """
SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint AS read,
       coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint AS written,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS log_bytes
FROM pg_stat_all_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
  AND relname <> 'generation' -- read by each process twice a second, whatever is asked of it
"""
# What is done to hot copies, in scripts or not; a server is also asked who it is, now and then.
COPY_COMMANDS = {"zadd", "zrem", "zrange", "zrangebyscore", "zremrangebyscore", "hset", "hget", "hmget"}
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL AND pid <> pg_backend_pid()"

pytestmark = pytest.mark.timeout(900)


@dataclass(frozen=True)
class Work:
    """What was done in PostgreSQL and Redis, and how much was answered."""

    rows_read: int
    rows_written: int
    log_bytes: int
    redis_commands: int
    answer_bytes: int = 0
    copy_bytes: int = 0
    """What Redis held of the session, at most."""

    def since(self, before: "Work", answer_bytes: int, copy_bytes: int) -> "Work":
        grown = {each.name: getattr(self, each.name) - getattr(before, each.name) for each in fields(Work)}
        return Work(**grown | {"answer_bytes": answer_bytes, "copy_bytes": copy_bytes})

    def times(self, other: "Work") -> dict[str, float]:
        """Return how many times the work of another each kind is."""
        return {each.name: getattr(self, each.name) / max(getattr(other, each.name), 1) for each in fields(Work)}


@pytest.fixture(scope="module")
def servers() -> Iterator[Stack]:
    """PostgreSQL and Redis that do nothing else: all that they count is the test's."""
    with TemporaryDirectory(prefix="cairn-growth-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs the tests
        stack = Stack(Path(folder) / "data", external=frozenset({Server.CHROMA}), durability=Durability.TESTS)
        with stack:
            assert stack.urls.database_owner
            assert stack.urls.keys
            migrations.upgrade(stack.urls.database_owner, stack.urls.keys)
            yield stack
        stack.remove()


@asynccontextmanager
async def served(stack: Stack, tenant: str) -> AsyncIterator[httpx.AsyncClient]:
    """Serve for a while, and end all connections: only then is it counted what was done with them."""
    urls = stack.urls
    settings = Settings.model_validate(
        {
            "auth_secret": SECRET,
            "master_key": MASTER_KEY,
            "default_scopes": USER_SCOPES,
            "database_url": urls.database,
            "database_log_url": urls.database_log,
            "keys_url": urls.keys,
            "redis_url": urls.redis,
            "chroma_url": NOBODY,
            "context_deadline_s": 20,
            "embedder_deadline_s": 20,
        }
    )
    app = create_app(settings)
    headers = {"Authorization": f"Bearer {make_token('alice', tenant)}"}
    transport = httpx.ASGITransport(app=app)
    with structlog.testing.capture_logs():  # else each request has a line among what `make trust` prints
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://cairn.test", headers=headers, timeout=30) as client,
        ):
            # Until then what is said here isn't read from Redis.
            await eventually(partial(_is_held, app))
            yield client


async def _is_held(app: FastAPI) -> bool:
    return bool(app.state.lease_state() == "held")


def said(number: int) -> str:
    return TALK[number % len(TALK)].format(n=100 + number % 900)


@dataclass
class Session:
    """One session, of which each thing that is done to it is counted."""

    stack: Stack
    tenant: str
    admin: "asyncpg.Connection[asyncpg.Record]"
    redis: Redis
    path: str = ""
    messages: int = 0

    async def open(self) -> None:
        async with served(self.stack, self.tenant) as client:
            self.path = f"/v1/sessions/{(await client.post('/v1/sessions', json={})).json()['id']}"
            await self.append(client, list(WISHES))

    async def append(self, client: httpx.AsyncClient, texts: list[str]) -> int:
        """Append a message each; return how large the answer was."""
        body = {"messages": [{"role": "user", "content": text} for text in texts]}
        answer = await client.post(f"{self.path}/messages", json=body)
        assert answer.status_code == 201, answer.text
        self.messages += len(texts)
        return len(answer.content)

    async def grow(self, to: int, batch: int) -> None:
        """Append until there are so many, several requests at once."""
        async with served(self.stack, self.tenant) as client:
            while self.messages < to:
                size = min(batch, to - self.messages)
                count = 1 if size < batch else min(AT_ONCE, (to - self.messages) // batch)
                texts = [said(self.messages + place) for place in range(size)]
                await asyncio.gather(*(self.append(client, texts) for _ in range(count)))

    async def appending(self) -> Work:
        async def work(client: httpx.AsyncClient) -> tuple[int, int]:
            answer_bytes, copies = 0, []
            for _ in range(SAMPLE):
                answer_bytes += await self.append(client, [said(self.messages)])
                copies.append(await self._copy_bytes())
            return answer_bytes, max(copies)

        return await self._counted(work)

    async def reading(self) -> Work:
        """Read the session and its newest messages, and a context of it."""
        wish = {
            "session_id": self.path.rpartition("/")[2],
            "query": "What did we see?",
            "include": ["summary", "messages", "profile", "preferences"],
        }

        async def work(client: httpx.AsyncClient) -> tuple[int, int]:
            size = 0
            for _ in range(READINGS):
                answers = [
                    await client.get(self.path),
                    await client.get(f"{self.path}/messages"),
                    await client.post("/v1/context", json=wish),
                ]
                assert [answer.status_code for answer in answers] == [200] * len(answers)
                size += sum(len(answer.content) for answer in answers)
            return size, 0  # nothing is kept by reading

        return await self._counted(work)

    async def _counted(self, work: Callable[[httpx.AsyncClient], Awaitable[tuple[int, int]]]) -> Work:
        before = await self._done()
        async with served(self.stack, self.tenant) as client:
            (await client.get(self.path)).raise_for_status()  # has the copy made where there is none
            answer_bytes, copy_bytes = await work(client)
        return (await self._done()).since(before, answer_bytes, copy_bytes)

    async def _done(self) -> Work:
        """Return what was done so far, once nobody is connected any more."""

        async def is_alone() -> bool:
            return bool(await self.admin.fetchval(CONNECTIONS) == 0)

        await eventually(is_alone)
        rows = await self.admin.fetchrow(ROWS)
        assert rows is not None
        commands = await self.redis.info("commandstats")
        return Work(
            rows["read"],
            rows["written"],
            rows["log_bytes"],
            sum(each["calls"] for name, each in commands.items() if name.removeprefix("cmdstat_") in COPY_COMMANDS),
        )

    async def _copy_bytes(self) -> int:
        copies = [key async for key in self.redis.scan_iter("*:window:*")]
        return sum([await self.redis.memory_usage(key) or 0 for key in copies])


async def test_a_late_message_costs_what_an_early_one_did(
    servers: Stack, tenant: str, request: pytest.FixtureRequest
) -> None:
    is_long = request.config.getoption("--long")
    admin = await asyncpg.connect(on_database(servers.admin_url, "cairn"))
    await admin.execute("ALTER SYSTEM SET autovacuum = off")
    await admin.fetch("SELECT pg_reload_conf()")
    async with Redis.from_url(str(servers.urls.redis)) as redis:
        session = Session(servers, tenant, admin, redis)
        await session.open()
        await session.grow(SOON, 1)
        soon = await session.appending(), await session.reading()
        await session.grow(LATE_IN_LONG if is_long else LATE, 1 if is_long else BATCH)
        count = session.messages
        late = await session.appending(), await session.reading()
    await admin.close()
    assert soon[0].rows_written > SAMPLE, "what was done isn't counted"
    assert soon[0].copy_bytes > 0
    for name, before, after in zip(("appending", "reading"), soon, late, strict=True):
        times = after.times(before)
        tell(f"{name} after {SOON} messages: {before}\n{name} after {count}: {after}")
        assert {kind: many for kind, many in times.items() if many > MOST_TIMES} == {}
