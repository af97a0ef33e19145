"""kill -9 of API, worker, Redis and PostgreSQL in turn while 16 append: what was acknowledged is there, once."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack

import httpx
import pytest

from tests.conftest import eventually
from tests.trust.deployment import KILLED, Deployment, Part
from tests.trust.reports import tell
from tests.trust.writers import Conversation, Reader, Writer, account

ROUNDS = 20
ROUNDS_IN_SHORT = 1
WRITERS = 16
SESSIONS = 4
USERS = 2
WITHOUT_KEYS = 4
# A part is killed when so many messages more were acknowledged, so that some are under way.
APART = range(5, 60)
# Nothing is answered without the API and PostgreSQL. Without these, everything is.
GOES_ON_WITHOUT = {Part.WORKER, Part.REDIS}
GOES_ON_WITHIN_S = 240.0  # starting an API on a busy machine takes a while
INDEXED_WITHIN_S = 120.0

pytestmark = pytest.mark.timeout(1_800)


async def test_no_acknowledged_message_is_lost_and_none_doubled(
    deployment: Deployment, tenant: str, request: pytest.FixtureRequest
) -> None:
    rounds = ROUNDS if request.config.getoption("--long") else ROUNDS_IN_SHORT
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(deployment.api.async_client(f"user-{number % USERS}", tenant))
            for number in range(WRITERS + SESSIONS)
        ]
        talks = [Conversation(await opened(clients[number])) for number in range(SESSIONS)]
        writers = [
            Writer(f"writer {number}", clients[number], talks[number % SESSIONS], number >= WITHOUT_KEYS)
            for number in range(WRITERS)
        ]
        readers = [Reader(clients[WRITERS + number], talks[number]) for number in range(SESSIONS)]
        kills = await killing(deployment, rounds, writers, readers)
        found = await account(talks, writers, readers)
        await everything_is_indexed(clients)
    tell(f"{rounds} rounds, {kills} kills, {sum(reader.readings for reader in readers)} readings: {found}")
    assert (found.lost, found.doubled) == (0, 0)
    assert kills == rounds * len(KILLED)
    assert all(reader.readings for reader in readers)


async def opened(client: httpx.AsyncClient) -> str:
    answer = await client.post("/v1/sessions", json={})
    assert answer.status_code == 201, answer.text
    return f"/v1/sessions/{answer.json()['id']}/messages"


async def killing(deployment: Deployment, rounds: int, writers: Sequence[Writer], readers: Sequence[Reader]) -> int:
    """Kill each part once a round while they write and read; return how many were killed."""
    stop = asyncio.Event()
    kills = 0
    chance = random.Random()  # noqa: S311 - when to kill what
    async with asyncio.TaskGroup() as group:
        for run in (*(writer.run for writer in writers), *(reader.run for reader in readers)):
            group.create_task(run(stop))
        for number in range(1, rounds + 1):
            for part in chance.sample(KILLED, len(KILLED)):
                await more(writers, chance.choice(APART))
                await deployment.kill(part)
                kills += 1
                if part in GOES_ON_WITHOUT:
                    await more(writers, WRITERS)
                await deployment.begin_again(part)
                await all_go_on([*writers, *readers], f"round {number}, {part.value}")
            tell(f"round {number}: {sum(writer.appended for writer in writers)} acknowledged so far")
        stop.set()
    return kills


async def more(writers: Sequence[Writer], count: int) -> None:
    """Wait until so many messages more were acknowledged."""
    wanted = sum(writer.appended for writer in writers) + count

    async def are_there() -> bool:
        return sum(writer.appended for writer in writers) >= wanted

    await eventually(are_there, GOES_ON_WITHIN_S)


async def all_go_on(everybody: Sequence[Writer | Reader], killed: str) -> None:
    """Wait until each has got an answer again: by itself, however its connections ended."""
    before = [each.answered for each in everybody]
    waiting = list(everybody)

    async def nobody_waits() -> bool:
        waiting[:] = [each for each, had in zip(everybody, before, strict=True) if each.answered == had]
        return not waiting

    try:
        await eventually(nobody_waits, GOES_ON_WITHIN_S)
    except TimeoutError:
        said = [(each.name, dict(each.refusals)) for each in waiting]
        raise AssertionError(f"{killed} was killed, and these don't go on: {said}") from None


async def everything_is_indexed(clients: Sequence[httpx.AsyncClient]) -> None:
    """Wait until the worker, killed as it was, has given each message its vector."""

    async def is_so() -> bool:
        found = await asyncio.gather(
            *(client.post("/v1/recall", json={"query": "writer"}) for client in clients[:USERS])
        )
        return all(answer.json()["index"]["pending"] == 0 for answer in found)

    await eventually(is_so, INDEXED_WITHIN_S)
