"""Who is cancelled while Redis is asked ends as cancelled, so that a deadline around it holds."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.infra.redis.client import RedisStore, connect
from tests.lease.own_redis import OwnRedis

ROUNDS = 100
STEPS = 12

Ask = Callable[[RedisStore], Awaitable[object]]
KINDS: dict[str, Ask] = {
    "command": lambda store: store.command("GET", "nothing"),
    "ping": lambda store: store.ping(),
    "servers": lambda store: store.servers(),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_who_asks_redis_can_be_cancelled_at_any_step(servers: list[OwnRedis], kind: str) -> None:
    store = connect(servers[0].url)
    await store.ping()
    for round_number in range(ROUNDS):
        asking = asyncio.create_task(over_and_over(KINDS[kind], store))
        for _ in range(round_number % STEPS + 1):
            await asyncio.sleep(0)
        asking.cancel()
        _, goes_on = await asyncio.wait({asking}, timeout=1)
        while goes_on and not asking.done():
            asking.cancel()
            await asyncio.wait({asking}, timeout=0.01)
        assert not goes_on, f"cancelled after {round_number % STEPS} steps it went on"
    await store.close()


async def over_and_over(ask: Ask, store: RedisStore) -> None:
    while True:
        await ask(store)
