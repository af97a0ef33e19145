"""The queue: what fails while its twin waits, and what a killed worker left while its twin waits."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.embedded.stack import Stack
from app.infra.queue.runner import STALLED_S, Runner, make_queue
from app.settings import Settings
from app.wiring import Wiring
from tests.conftest import MakeScope, eventually

WITHIN_S: Final = 30.0
# Longer than the queue's pool waits for a connection.
DOWN_S: Final = 7.0
# A worker has this long to give its jobs back, its database's time-outs included.
ENDS_WITHIN_S: Final = 25.0


class Failing:
    """A handler that fails the first time, when it is let."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.runs = 0
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        del scope, args
        self.runs += 1
        if self.runs == 1:
            self.started.set()
            await self.go_on.wait()
            raise AppError("store_unavailable")


@asynccontextmanager
async def working(settings: Settings, handler: Failing) -> AsyncIterator[None]:
    """Have a worker run meanwhile; it must not end by itself."""
    stop = asyncio.Event()
    queue = make_queue(settings.queue_url.get_secret_value())
    running = asyncio.create_task(Runner(queue, [handler]).run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def owe(wiring: Wiring, scope: Scope, name: str) -> None:
    async with wiring.db.write(scope) as tx:
        tx.enqueue(Job(name, once="all"))


async def left(settings: Settings, name: str) -> int:
    """Return how many jobs of that name there are, in whatever state."""
    connection = await asyncpg.connect(settings.queue_url.get_secret_value())
    count: int = await connection.fetchval("SELECT count(*) FROM procrastinate_jobs WHERE task_name = $1", name)
    await connection.close()
    return count


async def test_a_job_that_fails_while_its_twin_waits_leaves_the_work_to_it(
    wiring: Wiring, settings: Settings, scope: MakeScope
) -> None:
    alice, handler = await scope(), Failing("fails_beside_its_twin")

    async def is_done() -> bool:
        return await left(settings, handler.name) == 0

    async with working(settings, handler):
        await owe(wiring, alice, handler.name)
        await asyncio.wait_for(handler.started.wait(), WITHIN_S)
        await owe(wiring, alice, handler.name)
        handler.go_on.set()
        await eventually(is_done, WITHIN_S)
    assert handler.runs == 2


async def test_a_job_of_a_killed_worker_whose_twin_waits_does_not_stop_the_next_worker(
    wiring: Wiring, settings: Settings, scope: MakeScope
) -> None:
    alice, handler = await scope(), Failing("killed_beside_its_twin")
    handler.go_on.set()
    handler.runs = 1
    connection = await asyncpg.connect(settings.queue_url.get_secret_value())
    await owe(wiring, alice, handler.name)
    dead = await connection.fetchval(
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - make_interval(secs => $1)) RETURNING id",
        2 * STALLED_S,
    )
    await connection.execute(
        "UPDATE procrastinate_jobs SET status = 'doing', worker_id = $1 WHERE task_name = $2", dead, handler.name
    )
    await owe(wiring, alice, handler.name)
    assert await left(settings, handler.name) == 2

    async def is_done() -> bool:
        return await left(settings, handler.name) == 0

    async with working(settings, handler):
        await eventually(is_done, WITHIN_S)
    assert handler.runs == 2
    await connection.close()


async def test_a_worker_outlasts_a_restart_of_its_database(
    wiring: Wiring, settings: Settings, scope: MakeScope, stack: Stack
) -> None:
    alice, handler = await scope(), Failing("after_a_restart")
    handler.runs = 1
    admin = await asyncpg.connect(stack.admin_url)

    async def is_done() -> bool:
        return await left(settings, handler.name) == 0

    async def is_listening() -> bool:
        return bool(await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"))

    async with working(settings, handler):
        await eventually(is_listening, WITHIN_S)
        await admin.execute("ALTER ROLE cairn_queue NOLOGIN")
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cairn_queue'")
        await asyncio.sleep(DOWN_S)
        await admin.execute("ALTER ROLE cairn_queue LOGIN")
        await owe(wiring, alice, handler.name)
        await eventually(is_done, WITHIN_S)
    assert handler.runs == 2
    await admin.close()


async def test_a_worker_whose_database_is_gone_ends_when_it_is_told_to(settings: Settings, stack: Stack) -> None:
    admin = await asyncpg.connect(stack.admin_url)

    async def is_listening() -> bool:
        return bool(await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"))

    try:
        async with asyncio.timeout(ENDS_WITHIN_S), working(settings, Failing("never_run")):
            await eventually(is_listening, WITHIN_S)
            await admin.execute("ALTER ROLE cairn_queue NOLOGIN")
            await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cairn_queue'")
    finally:
        await admin.execute("ALTER ROLE cairn_queue LOGIN")
        await admin.close()


async def test_a_worker_ends_whenever_it_is_told_to(settings: Settings) -> None:
    """Also as it begins: a cancellation that came then was lost, and the worker stayed for ever."""
    async with asyncio.timeout(ENDS_WITHIN_S * 2):
        for step in range(20):
            async with working(settings, Failing(f"never_run_{step}")):
                await asyncio.sleep(step * 0.004)
