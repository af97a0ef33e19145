"""How processes are ended: a signal each, a bounded wait for all, and a last resort for those that have one.

Chroma has none. A kill destroyed a collection in up to 4 of 20 rounds, and SIGTERM in 0 of 12, so one that lingers is
reported and left alone: its memory is cheaper than an index to rebuild, and the next start waits for it or says that it
is there. Two servers on one path would corrupt it for good.
"""

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

POLL_S = 0.01
LAST_RESORT_WITHIN_S = 10


@dataclass(frozen=True)
class Ending:
    stop_signal: signal.Signals = signal.SIGTERM
    within_s: float = 30
    last_resort: signal.Signals | None = signal.SIGKILL


class Process(Protocol):
    @property
    def ending(self) -> Ending: ...
    @property
    def running(self) -> bool: ...
    def send(self, number: signal.Signals) -> None: ...


AnyProcess = TypeVar("AnyProcess", bound=Process)


def end(processes: Sequence[AnyProcess]) -> list[AnyProcess]:
    """Returns those that still run."""
    for process in processes:
        process.send(process.ending.stop_signal)
    began = time.monotonic()
    lingering = [process for process in processes if not _ended(process, began + process.ending.within_s)]
    for process in lingering:
        if process.ending.last_resort is not None:
            process.send(process.ending.last_resort)
    until = time.monotonic() + LAST_RESORT_WITHIN_S
    return [process for process in lingering if process.ending.last_resort is None or not _ended(process, until)]


def wait_until(condition: Callable[[], bool], until: float) -> bool:
    """`until` is a time of time.monotonic()."""
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def _ended(process: Process, until: float) -> bool:
    return wait_until(lambda: not process.running, until)
