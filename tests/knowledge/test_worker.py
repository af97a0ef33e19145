"""Killing the worker during ingestion loses nothing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.knowledge.model import Status
from app.settings import Settings, variable
from tests.conftest import MakeScope, eventually
from tests.knowledge.conftest import NOTE, Knowledge, drop_old_jobs

ROOT = Path(__file__).parents[2]
StartWorker = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def start_worker(settings: Settings) -> Iterator[StartWorker]:
    """Starts worker processes as an operator does; what still runs at the end of the test is stopped."""
    given = {variable(name): _shown(value) for name, value in settings if value not in (None, "", SecretStr(""))}
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "app.cli", "worker"]
        environment = {**os.environ, **given, "PYTHONPATH": str(ROOT)}
        processes.append(subprocess.Popen(command, cwd=ROOT, env=environment))  # noqa: S603 - our own program
        return processes[-1]

    yield start
    for process in processes:
        process.terminate()
        process.wait(30)


def _shown(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


async def test_a_worker_that_is_killed_during_ingestion_loses_nothing(
    knowledge: Knowledge, scope: MakeScope, start_worker: StartWorker, settings: Settings, tenant: str
) -> None:
    await drop_old_jobs(settings, tenant)
    someone = await scope()
    text = "".join(f"Day {day}: the keeper of the lighthouse wrote down {day % 17} ships.\n\n" for day in range(1_800))
    document = await knowledge.documents.add(someone, text + "The password is xylophone 4711.", NOTE, None)
    other = await knowledge.documents.add(someone, "Otters hold hands.", NOTE, None)

    async def is_under_way() -> bool:
        now = await knowledge.documents.read(someone, document.id)
        assert not now.is_settled, "the text is too short to be interrupted"
        return now.progress > 0

    worker = start_worker()
    await eventually(is_under_way, within_s=60)
    worker.kill()
    worker.wait(30)
    assert (await knowledge.documents.read(someone, document.id)).status is Status.PROCESSING
    assert (await knowledge.find(someone, "password")).pending == 2
    start_worker()
    ready = await knowledge.watching.settled(someone, document.id, 90)
    assert (ready.status, ready.progress) == (Status.READY, 1.0)
    assert (await knowledge.watching.settled(someone, other.id, 30)).status is Status.READY
    assert "xylophone 4711" in (await knowledge.texts(someone, "password xylophone", 1))[0]
    assert (await knowledge.find(someone, "otters", 1)).pending == 0
