"""The end of a process: first it says that it takes no more work, then it stops taking any."""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from app.web.health import Readiness, State


@contextmanager
def drains_first(readiness: Readiness, wait_s: float) -> Iterator[None]:
    """Put a wait before what SIGTERM does in this process: `/readyz` answers 503 meanwhile, and requests are served.

    A balancer has the time to look elsewhere. A second SIGTERM ends the wait. SIGINT isn't touched: a person waits.
    """
    serving = signal.getsignal(signal.SIGTERM)
    if not callable(serving):  # not under a server: SIGTERM ends the process
        yield
        return
    stop = serving
    loop = asyncio.get_running_loop()

    def drain(number: int, frame: FrameType | None) -> None:
        wait = 0 if readiness.state is State.DRAINING else wait_s
        readiness.become(State.DRAINING)
        # A signal's handler runs between any two instructions: the loop is told, and woken, the thread-safe way.
        loop.call_soon_threadsafe(loop.call_later, wait, stop, number, frame)

    signal.signal(signal.SIGTERM, drain)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, stop)


def end_well() -> None:
    """Have SIGTERM end this process with status 0. Call it before the server runs.

    uvicorn obeys the signal and in the end raises it again, for whoever handled it before: by default that kills.
    """

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)


def end_with_parent() -> None:
    """Have this process end, as by SIGTERM, once the one that started it is gone, however that one ended.

    uvicorn's processes outlive a parent that was killed, and keep its port.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()
