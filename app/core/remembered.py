"""The one list of everything remembered: what a kind of memory says of each of its items, whatever it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from app.core.evidence import Evidence
from app.core.scope import Scope
from app.core.superseding import Superseded


class RememberedKind(StrEnum):
    """What an item of the list is."""

    PROFILE = "profile"
    PREFERENCE = "preference"
    MEMORY = "memory"
    CANDIDATE = "candidate"
    DOCUMENT = "document"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Remembered:
    """One item of the list. `id` is the prefixed id of the wire, and `href` where the item itself is.

    `place` is where it stands among all others, whatever its kind: an id that tells the time it was made, and never
    changes. `source` says what it comes from, and `trust` by whose word it is known, None where it claims nothing: a
    record of what was said or given. `superseded` are the values in the text that aren't current any more.
    """

    kind: RememberedKind
    place: UUID
    id: str
    text: str
    source: str
    trust: str | None
    created_at: datetime
    href: str
    evidence: Evidence | None = None
    expires_at: datetime | None = None
    superseded: Sequence[Superseded] = ()


class Listing(Protocol):
    """A kind of memory that lists what it remembers. `permission` is what a token must hold to see it."""

    kind: RememberedKind
    permission: str

    async def page(self, scope: Scope, before: UUID | None, limit: int) -> Sequence[Remembered]:
        """Return the items that the caller's agent may see, of the highest places first, below `before` where given."""
        ...
