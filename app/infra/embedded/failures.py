"""What can go wrong with an embedded server, in words for the person at the terminal."""


class EmbeddedError(Exception):
    """Something outside the program is in the way; the message says what, and what to do."""


class FolderInUseError(EmbeddedError):
    """Another process owns the data folder."""

    def __init__(self, folder: object, pid: int | None, since: str | None) -> None:
        who = f"process {pid}, since {since}" if pid else "a process that is just starting"
        super().__init__(f"{folder} is in use by {who}; one data folder has one owner")
        self.pid = pid
        self.since = since


class MissingBinaryError(EmbeddedError):
    """No usable binary of a server was found."""


class ServerFailedError(EmbeddedError):
    """A child process ended before it was ready."""


class NotReadyError(EmbeddedError):
    """A child process runs and wasn't ready in time."""


class StillRunningError(EmbeddedError):
    """A process of an earlier run holds the data and doesn't end."""
