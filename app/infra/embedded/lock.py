"""One owner per data folder: flock, with the owner's pid and start time inside for whoever comes second."""

import fcntl
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from app.infra.embedded.failures import EmbeddedError, FolderInUseError

LONGEST_NOTE_BYTES = 4096


class FolderLock:
    """The kernel lets go of it when the process ends, however it ends. The file itself stays: removing it would let
    two processes lock two files of one name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Raises FolderInUseError, which says who holds it."""
        try:
            descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except PermissionError as error:
            raise EmbeddedError(f"{self._folder} belongs to another user: run as that user, or name another") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, since = _read_note(descriptor)
            os.close(descriptor)
            raise FolderInUseError(self._folder, pid, since) from None
        note = {"pid": os.getpid(), "since": datetime.now(UTC).isoformat(timespec="seconds")}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is None:
            return
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = None


def _read_note(descriptor: int) -> tuple[int | None, str | None]:
    """Nothing, for the moment between another's lock and its note."""
    text = os.pread(descriptor, LONGEST_NOTE_BYTES, 0)
    if not text:
        return None, None
    note = json.loads(text)
    return note["pid"], note["since"]
