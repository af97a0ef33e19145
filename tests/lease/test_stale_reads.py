"""Processes write and read while Redis is killed, emptied, set back and held, and they too: no read is stale.

Of user memory there are two writers and two readers in each of the three processes, who read its hot copies too.
"""

import asyncio
import os
import random
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.core.scope import Scope, Subject
from app.sessions.model import Opening
from app.sessions.service import Sessions
from app.settings import Settings
from app.wiring import build
from tests.conftest import eventually
from tests.lease.own_redis import OwnRedis
from tests.lease.watching import MEMORY
from tests.sessions.talk import the

ROOT = Path(__file__).parents[2]
FAULTS = 40
FAULTS_IN_SHORT = 4
LEAST_ANSWERS = 10
# Of user memory, beside what the faults take time for.
READS = 5_000
READS_IN_SHORT = 300
ENOUGH_WITHIN_S = 600
SESSIONS = 2
KINDS = ("write", "read", "read")
HELD_S = (0.1, 1.6)
BETWEEN_S = (0.0, 1.2)
SECRETS = ("auth_secret", "master_key", "database_url", "database_log_url", "queue_url", "keys_url")


@dataclass(frozen=True)
class Told:
    """An answer: when it was asked for and given, and what it showed."""

    kind: str
    name: str
    asked_at: float
    answered_at: float
    version: int
    last: int


@pytest.mark.timeout(900)  # three processes start, and the long form takes minutes
async def test_no_read_is_stale_whatever_befalls_redis_and_the_processes(
    settings: Settings, servers: list[OwnRedis], request: pytest.FixtureRequest
) -> None:
    is_long = request.config.getoption("--long")
    redis, faults = servers[0], FAULTS if is_long else FAULTS_IN_SHORT
    seed = random.randrange(10**6)  # noqa: S311 - which fault comes next is no secret
    environment = made_environment(settings, redis)
    arguments = await begun(settings, redis)
    processes = [await started(kind, arguments, environment) for kind in KINDS]
    told: list[Told] = []
    outputs = [asyncio.create_task(gather(each, told)) for each in processes]
    await torn(random.Random(seed), faults, redis, processes)  # noqa: S311 - which fault comes next is no secret
    await eventually(lambda: has_read(told, READS if is_long else READS_IN_SHORT, outputs), ENOUGH_WITHIN_S)
    for each in processes:
        assert each.stdin is not None
        each.stdin.write(b"end\n")
    await asyncio.gather(*outputs)
    assert [each.returncode for each in processes] == [0] * len(processes)
    assert stale(told) == [], seed
    writes = [each for each in told if each.kind == "wrote"]
    assert len(writers_of_memory(told)) == 2 * len(KINDS)
    counts = [faults, reads_of_memory(told), len(told) - len(writes), len(writes)]
    print("\n{} faults, {} reads of memory, {} things read and {} written".format(*counts))  # noqa: T201 - what `make trust` has counted
    assert len(writes) > LEAST_ANSWERS
    assert len(told) - len(writes) > LEAST_ANSWERS


async def torn(chance: random.Random, faults: int, redis: OwnRedis, processes: Sequence[Process]) -> None:
    """Do so many things to Redis and to the readers, each at some moment."""
    await redis.save()
    for _ in range(faults):
        await asyncio.sleep(chance.uniform(*BETWEEN_S))
        fault = chance.choice(["save", "empty", "set back", "hold", "stop"])
        if fault == "save":
            await redis.save()
        elif fault == "empty":
            await redis.say("FLUSHALL")
        elif fault == "set back":
            await redis.restart_from_what_was_saved()
        elif fault == "hold":
            redis.send(signal.SIGSTOP)
            await asyncio.sleep(chance.uniform(*HELD_S))
            redis.send(signal.SIGCONT)
        else:
            stopped = chance.choice(processes)
            stopped.send_signal(signal.SIGSTOP)
            await asyncio.sleep(chance.uniform(*HELD_S))
            stopped.send_signal(signal.SIGCONT)


def stale(told: Sequence[Told]) -> list[tuple[Told, Told]]:
    """Return each read that doesn't show what was written when it began, with the last write before it."""
    found = []
    for name in {each.name for each in told}:
        mine = [each for each in told if each.name == name]
        writes = sorted((each for each in mine if each.kind == "wrote"), key=lambda each: each.answered_at)
        versions = list(accumulate((each.version for each in writes), max))
        numbers = list(accumulate((each.last for each in writes), max))
        times = [each.answered_at for each in writes]
        for read in mine:
            before = bisect_left(times, read.asked_at) - 1
            is_stale = before >= 0 and (read.version < versions[before] or read.last < numbers[before])
            if read.kind == "read" and is_stale:
                found.append((read, writes[before]))
    return found


async def begun(settings: Settings, redis: OwnRedis) -> list[str]:
    """Make a user with some sessions; return how a process is told of them."""
    async with build(settings.model_copy(update={"redis_url": SecretStr(redis.url)})) as wiring:
        usr = await wiring.directory.enter(Subject("", "acme", "alice"), int(time.time()), None)
        sessions, alice = the(wiring, Sessions), Scope("acme", usr, None)
        opened = [(await sessions.open(alice, Opening())).view.session.id.hex for _ in range(SESSIONS)]
    return ["acme", usr.hex, *opened]


def made_environment(settings: Settings, redis: OwnRedis) -> dict[str, str]:
    secrets = {f"CAIRN_{name.upper()}": getattr(settings, name).get_secret_value() for name in SECRETS}
    return {**os.environ, **secrets, "CAIRN_CHROMA_URL": settings.chroma_url, "CAIRN_REDIS_URL": redis.url}


async def started(kind: str, arguments: Sequence[str], environment: dict[str, str]) -> Process:
    """Start a process and wait until it is ready; then it begins."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.lease.watching",
        kind,
        *arguments,
        env=environment,
        cwd=ROOT,
        stdin=PIPE,
        stdout=PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    while (line := await process.stdout.readline()) != b"ready\n":
        assert line, "it ended before it was ready"
    process.stdin.write(b"go\n")
    return process


def reads_of_memory(told: Sequence[Told]) -> int:
    """Count the answers of reads of user memory."""
    return sum(each.kind == "read" and each.name == MEMORY for each in told)


async def has_read(told: Sequence[Told], wanted: int, outputs: Sequence[asyncio.Task[None]]) -> bool:
    """Say whether user memory was read so often and each writer has written; or a process has ended, which is
    another's to tell.
    """
    has_enough = reads_of_memory(told) >= wanted and len(writers_of_memory(told)) == 2 * len(KINDS)
    return has_enough or any(each.done() for each in outputs)


def writers_of_memory(told: Sequence[Told]) -> set[str]:
    return {each.name for each in told if each.kind == "wrote" and each.name.startswith("of-")}


async def gather(process: Process, told: list[Told]) -> None:
    """Gather all that a process tells until it ends. Its log goes to the same place."""
    assert process.stdout is not None
    while line := await process.stdout.readline():
        words = line.decode(errors="replace").split()
        if words and words[0] in {"wrote", "read"}:
            kind, name, asked_at, answered_at, version, last = words
            told.append(Told(kind, name, float(asked_at), float(answered_at), int(version), int(last)))
    await process.wait()
