"""What an earlier launcher started and didn't get to stop: noted in a file each, checked, and ended before a new start.

A process is known by its pid and its whole command line, which names the data folder. Start times would tell pids apart
as well, until somebody sets the clock.
"""

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.infra.embedded.ending import Ending, end, wait_until
from app.infra.embedded.failures import StillRunningError
from app.infra.embedded.secret_files import write_private

GRACE_S = 2  # on Linux the kernel told them to stop when their launcher died


@dataclass(frozen=True)
class Note:
    """A process that was started. It satisfies ending.Process, whether or not it is a child of this one."""

    pid: int
    command: tuple[str, ...]
    ending: Ending

    @property
    def running(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            return process.status() != psutil.STATUS_ZOMBIE and tuple(process.cmdline()) == self.command
        except psutil.Error:
            return False

    def send(self, number: signal.Signals) -> None:
        if self.running:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)


def write_note(path: Path, note: Note) -> None:
    fields = {
        "pid": note.pid,
        "command": note.command,
        "stop_signal": note.ending.stop_signal,
        "within_s": note.ending.within_s,
        "last_resort": note.ending.last_resort,
    }
    write_private(path, json.dumps(fields))


def end_leftovers(run_folder: Path, grace_s: float = GRACE_S) -> None:
    """Raises StillRunningError where one of them doesn't end."""
    notes = [(path, _read_note(path)) for path in sorted(run_folder.glob("*.pid"))]
    wait_until(lambda: not any(note.running for _, note in notes), time.monotonic() + grace_s)
    for note in end([note for _, note in notes if note.running]):
        raise StillRunningError(f"{Path(note.command[0]).name} of an earlier run, process {note.pid}, doesn't end")
    for path, _ in notes:
        path.unlink(missing_ok=True)


def _read_note(path: Path) -> Note:
    fields = json.loads(path.read_text(encoding="utf-8"))
    last_resort = fields["last_resort"]
    ending = Ending(
        signal.Signals(fields["stop_signal"]),
        fields["within_s"],
        None if last_resort is None else signal.Signals(last_resort),
    )
    return Note(fields["pid"], tuple(fields["command"]), ending)
