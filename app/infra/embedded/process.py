"""Child processes that end with their launcher, however it ends.

On Linux the kernel sends each child its signal when the launcher dies, kill -9 included (launch.py). Elsewhere the run
folder names what was started, and the next start ends it first (leftovers.py). Children have a session of their own:
Ctrl-C at the terminal reaches the launcher alone, which stops them in order.

Nothing is restarted. A child that dies takes all the others down, in order and with its name said: the supervisor above
(systemd, a container runtime, a person) knows better than this one whether to start again.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from app.infra.embedded.command import Account, launch_command
from app.infra.embedded.ending import Ending, end
from app.infra.embedded.failures import NotReadyError, ServerFailedError
from app.infra.embedded.leftovers import Note, write_note

READY_POLL_S = 0.01
WATCH_POLL_S = 0.1
LOG_LIMIT_BYTES = 10_000_000  # looked at when a program starts
LOG_TAIL_BYTES = 2_000
LOG_TAIL_LINES = 8


class Tier(IntEnum):
    """The higher tier stops first. A tier stops together: within one, nobody needs another."""

    STORE = 0
    SERVICE = 1


@dataclass(frozen=True)
class Program:
    name: str
    command: tuple[str, ...]  # the first is an absolute path; no secret belongs here, since every user sees it
    tier: Tier = Tier.SERVICE
    ending: Ending = field(default_factory=Ending)
    log: Path | None = None  # None: the launcher's own output
    environment: Mapping[str, str] | None = None  # None: the launcher's own
    account: Account | None = None
    folder: str | None = None  # where it runs; None: where the launcher does


@dataclass(frozen=True)
class Child:
    program: Program
    process: subprocess.Popen[bytes]
    log_from_byte: int

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def ending(self) -> Ending:
        return self.program.ending

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


class StopRequest:
    """Made by SIGINT, SIGTERM or SIGHUP. A plain flag: an Event that a handler sets can deadlock with a wait for it."""

    def __init__(self) -> None:
        self._made = False

    def listen(self) -> "StopRequest":
        """From the main thread, as signal.signal demands."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: self.make())
        return self

    def make(self) -> None:
        self._made = True

    def __call__(self) -> bool:
        return self._made


class Supervisor:
    """Starts, watches and stops, for one thread at a time.

    The signal at the launcher's death is bound to the thread that forks, not to the process, so one thread forks
    everything and lives until the stop. A caller may then start from any thread, however short its life.
    """

    def __init__(self, run_folder: Path) -> None:
        self._run_folder = run_folder
        self._forks = ThreadPoolExecutor(max_workers=1, thread_name_prefix="launcher")
        self.children: list[Child] = []

    def start(self, program: Program, is_ready: Callable[[], bool], within_s: float) -> Child:
        """Raises ServerFailedError where it ends first, NotReadyError where time is up (it is stopped then)."""
        child = self.spawn(program)
        self.await_ready(child, is_ready, within_s)
        return child

    def spawn(self, program: Program) -> Child:
        log_from_byte = 0 if program.log is None else _turn_over(program.log)
        child = Child(program, self._forks.submit(_fork, program).result(), log_from_byte)
        self.children.append(child)
        write_note(self._note(child), Note(child.pid, program.command, program.ending))
        return child

    def await_ready(self, child: Child, is_ready: Callable[[], bool], within_s: float) -> None:
        name, until = child.program.name, time.monotonic() + within_s
        while child.running:
            if is_ready() and child.running:
                return
            if time.monotonic() > until:
                self._end([child])
                raise NotReadyError(f"{name} wasn't ready within {within_s:g} s{_end_of_log(child)}")
            time.sleep(READY_POLL_S)
        self._forget(child)
        raise ServerFailedError(f"{name} ended at once (status {child.process.returncode}){_end_of_log(child)}")

    def fallen(self) -> Child | None:
        return next((child for child in self.children if not child.running), None)

    def watch(self, stop_requested: Callable[[], bool]) -> Child | None:
        """Returns None once a stop is asked for, or the first child that ended though none was."""
        while not stop_requested():
            if (child := self.fallen()) is not None:
                return child
            time.sleep(WATCH_POLL_S)
        return None

    def stop(self) -> list[Child]:
        """Stop tier by tier. Returns what still runs: programs without a last resort that didn't end in time."""
        lingering: list[Child] = []
        for tier in sorted(Tier, reverse=True):
            lingering += self._end([child for child in self.children if child.program.tier is tier])
        self._forks.shutdown()
        return lingering

    def _end(self, children: list[Child]) -> list[Child]:
        lingering = end(children)
        for child in children:
            if child not in lingering:
                self._forget(child)
        return lingering

    def _forget(self, child: Child) -> None:
        self.children.remove(child)
        self._note(child).unlink(missing_ok=True)

    def _note(self, child: Child) -> Path:
        return self._run_folder / f"{child.program.name}.pid"


def _fork(program: Program) -> subprocess.Popen[bytes]:
    order: dict[str, object] = {"parent": os.getpid(), "death_signal": int(program.ending.stop_signal)}
    output = None if program.log is None else _open_log(program.log)
    try:
        return subprocess.Popen(
            launch_command(order, program.account, program.command),
            cwd=program.folder,
            env=program.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    finally:
        if output is not None:
            os.close(output)


def _turn_over(log: Path) -> int:
    """Put a log that has grown too long aside, in place of the one before. Returns the size of what is left."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))
    return log.stat().st_size if log.exists() else 0


def _open_log(path: Path) -> int:
    """Opened here and inherited, so that a program whose user can't reach the folder can write it all the same."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _end_of_log(child: Child) -> str:
    """What it wrote since it was started, the last of it."""
    log = child.program.log
    if log is None:
        return ""
    with log.open("rb") as file:
        file.seek(max(child.log_from_byte, log.stat().st_size - LOG_TAIL_BYTES))
        lines = file.read().decode(errors="replace").splitlines()[-LOG_TAIL_LINES:]
    return "\n" + "\n".join([f"the end of {log}:", *lines])
