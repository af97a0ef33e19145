"""The questions that every kind of memory answers: what matters here, and how you are erased."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Protocol
from uuid import UUID

from app.core.scope import Scope
from app.core.superseding import Superseded


class Tier(IntEnum):
    """The order in which the kinds of memory are packed into a prompt; lower goes first."""

    CONSTRAINTS = 0
    SESSION = 1
    USER = 2
    FOUND = 3


@dataclass(frozen=True, slots=True)
class Question:
    """What context assembly asks of every source."""

    text: str
    session_id: UUID | None
    include: frozenset[str]
    now: datetime
    limit: int = 3
    # The change number that user memory is asked at; None: as it is now.
    snapshot: int | None = None
    # Until when (time.monotonic) a source waits for what makes its answer better and isn't needed for one.
    waits_until_s: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One memory that might enter a prompt. `score` is comparable within its kind only; None where nothing was
    searched.

    `origin` says how it is known (stated, inferred, imported, said, document) and `id` is the prefixed id of the wire.
    """

    kind: str
    id: str
    version: int
    text: str
    tier: Tier
    origin: str
    created_at: datetime | None = None
    score: float | None = None
    # Position within its kind: sources decide it, packing keeps it. The first go in first.
    order: int = 0
    # Where it is shown within its kind, where that isn't by `order`: the last messages are in their order.
    place: int = 0
    ignored: str | None = None
    # Extra words for the structured answer (the title of a document, the role of a message).
    labels: Mapping[str, str] = field(default_factory=dict)
    # What it holds beside itself: the messages of a tool call and its results, which are one.
    covers: Sequence[str] = ()
    # Which of its words aren't current any more.
    superseded: Sequence[Superseded] = ()
    # What of its kind this tells of, where it is no memory: "dense", that nothing was looked for by its meaning.
    part: str | None = None


class Source(Protocol):
    """A kind of memory that can be asked what matters."""

    kinds: frozenset[str]

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return the candidates of those of its kinds that the question includes, best first. A user with nothing:
        none.

        An unknown session raises `not_found`; any other failure is the source's own and costs the answer only its
        kinds.
        """
        ...


@dataclass(frozen=True, slots=True)
class Retention:
    """Why something of an erased user stays, on which basis in law, and until when. It says who did what, and nothing
    that was said.
    """

    why: str
    basis: str
    until: str


class UserData(Protocol):
    """A kind of a user's data that can be erased and counted.

    `tables` are the Postgres tables it claims (each table with a user's data is claimed once); `retained` says why
    rows stay.
    """

    name: str
    store: str
    tables: tuple[str, ...]
    retained: Retention | None

    async def erase(self, scope: Scope) -> None:
        """Remove all of it. May run twice."""
        ...

    async def count(self, scope: Scope) -> int:
        """Return how many items are there now."""
        ...
