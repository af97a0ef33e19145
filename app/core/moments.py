"""Moments: when a read of user memory looks at, and the snapshot that it saw."""

from dataclasses import dataclass
from datetime import datetime

from app.core.errors import invalid


@dataclass(frozen=True, slots=True)
class Moment:
    """When a read looks at: at a snapshot, as of a time, or (with neither) now."""

    snapshot: str | None = None
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse two answers to one question."""
        if self.snapshot is not None and self.as_of is not None:
            raise invalid("as_of", "can't stand beside `snapshot`")


NOW = Moment()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """User memory as it was after one change: its number, its form on the wire, and how many changes came since."""

    number: int
    id: str
    changes_since: int = 0
