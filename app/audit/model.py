"""A trail: what was done with a user's memory, by whom, and in which batch that was sealed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from app.core.ids import show

# How the id of each kind is shown on its own routes. Others are shown bare.
_PREFIXES: Final[Mapping[str, str]] = {
    "user": "usr",
    "profile": "usr",
    "registered_secret": "usr",
    "session": "ses",
    "message": "msg",
    "memory": "mem",
    "preference": "prf",
    "preference_candidate": "cnd",
    "document": "doc",
    "context": "ctx",
    "memory_log": "ctx",
    "erasure": "ers",
}


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries are asked for; None asks for all. `past` and `until` are times, the first not included."""

    past: datetime | None = None
    until: datetime | None = None
    action: str | None = None
    kind: str | None = None
    usr: UUID | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry stands in a trail."""

    xid: int
    id: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One access. `batch` is None until it is sealed."""

    place: Place
    at: datetime
    usr: UUID
    actor: str
    agent: str | None
    operator: UUID | None
    action: str
    kind: str
    item: UUID | None
    outcome: str
    request_id: str
    address: str
    reason: str | None
    batch: int | None

    @property
    def shown_item(self) -> str | None:
        """Return the id of what was accessed, as it is shown elsewhere."""
        if self.item is None:
            return None
        prefix = _PREFIXES.get(self.kind)
        return show(prefix, self.item) if prefix else self.item.hex


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a trail, newest first."""

    entries: Sequence[Entry]
    more: bool
