"""The process that reads a file dies with the one that started it, however that ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.trust.running import becomes_true

ROOT = Path(__file__).parents[2]
GONE_WITHIN_S = 10
# Gives a page that takes minutes to a process, says so, and never comes to the end of it.
READER = """
import asyncio, sys
from app.infra.extraction.extractor import Extractor
from app.infra.extraction.model import MediaType

async def parts():
    yield b"<html>" + b"<!" * 2_000_000
    print("begun", flush=True)
    await asyncio.sleep(60)

asyncio.run(Extractor().extract(MediaType.HTML, 2**21, parts()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="macOS tells no child that its parent died: its limits end it")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_is_killed_leaves_no_process_that_reads(number: signal.Signals) -> None:
    with subprocess.Popen(  # noqa: S603 - this interpreter, and the lines above
        [sys.executable, "-c", READER],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"begun\n"
        (child,) = psutil.Process(worker.pid).children()
        worker.send_signal(number)
        worker.wait()
    assert becomes_true(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, GONE_WITHIN_S)
