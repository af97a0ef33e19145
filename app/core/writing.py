"""What is found in a message about its author, who keeps it, and what became of it: where writer and features meet."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeVar
from uuid import UUID

from app.core.evidence import Evidence, EvidenceKind
from app.core.scope import Scope

Tx_contra = TypeVar("Tx_contra", contravariant=True)


class Kind(StrEnum):
    """What a finding is about."""

    # How the user wants to be answered, or what they like.
    PREFERENCE = "preference"
    # Who the user is.
    PROFILE = "profile"
    # Something of the user's that has no key.
    MEMORY = "memory"
    # What was said before doesn't hold any more.
    WITHDRAW = "withdraw"


class Trust(StrEnum):
    """Whether the user plainly said it, or it is concluded from what they said."""

    EXPLICIT = "explicit"
    INFERRED = "inferred"


class Fate(StrEnum):
    """What became of a finding."""

    APPLIED = "applied"
    # It waits for the user's word.
    CANDIDATE = "candidate"
    # It isn't kept: its category is sensitive, or the catalogue or the user has it so.
    REFUSED = "refused"


# The key of what has no key of its own: it is kept as a fact, in the user's words.
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a message states. `value` is a string, a list of strings, or None for a withdrawal of whatever there is.

    `sentence` is the user's own, cut to what a fact may hold: a fact without a key is kept in these words.
    """

    kind: Kind
    key: str | None
    value: object
    trust: Trust
    confidence: float
    sentence: str


# Which keys are of who the user is; every other key is a preference's.
PROFILE_KEYS = frozenset(
    {"name", "role", "department", "company", "industry", "location", "email", "phone", "birthday", "allergy"}
)


class Right(StrEnum):
    """What the token that appended a message may write beside it: its messages write no more than that."""

    PREFERENCES = "preferences:write"
    # Says that what a user says in a message is the user's own word.
    EXPLICIT = "preferences:explicit"
    PROFILE = "profile:write"
    MEMORIES = "memories:write"


@dataclass(frozen=True, slots=True)
class Heard:
    """A stored message that states something, and when it was stored."""

    message_id: UUID
    at: datetime
    findings: Sequence[Finding]


@dataclass(frozen=True, slots=True)
class Update:
    """What became of one finding."""

    finding: Finding
    fate: Fate
    evidence: Evidence


class Waits(StrEnum):
    """Which kind of memory an inference waits for: it is no part of it before the user says so."""

    PROFILE = "profile"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Inferred:
    """What was inferred, how sure that is, and what shows it. `key` is None for a fact, whose value is its text."""

    key: str | None
    value: object
    confidence: float
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Became:
    """What an accepted inference is now: a version of the item with this id of the wire."""

    kind: str
    id: str
    version: int


class Accepting(Protocol[Tx_contra]):
    """A kind of memory that takes what was inferred on the user's word alone. Called with the user's changes held."""

    async def knows(self, tx: Tx_contra, inferred: Inferred) -> bool:
        """Say whether it is in force already. Raises `sensitive_category` for what is never inferred."""
        ...

    async def version(self, tx: Tx_contra) -> int:
        """Return the version of what an acceptance changes, 0 where it makes something new."""
        ...

    async def accept(self, tx: Tx_contra, inferred: Inferred) -> Became:
        """Write it as the user's own word. Raises what a statement of the same raises."""
        ...


class Keeper(Protocol[Tx_contra]):
    """A kind of memory that keeps findings, in the writer's transaction, with the user's changes held."""

    right: Right
    # Where what was concluded waits; None where the kind has a list of its own.
    waits: Waits | None

    def takes(self, finding: Finding) -> bool:
        """Say whether it is for this kind of memory."""
        ...

    async def keep(self, tx: Tx_contra, finding: Finding, evidence: Evidence, at: datetime) -> Fate | None:
        """Write it, let it wait or refuse it; None where there is nothing to tell: it is never to be inferred, or what
        is known is newer than `at`, when it was said.
        """
        ...


class Writing(Protocol[Tx_contra]):
    """Writes what messages state."""

    def read(self, text: str) -> Sequence[Finding]:
        """Return what a user's message states, by rules: pure, and in well under a millisecond."""
        ...

    async def intend(
        self, scope: Scope, rights: Collection[Right], message_ids: Sequence[UUID], said: Sequence[UUID]
    ) -> None:
        """Note that these messages, which are about to be stored, state something: whatever befalls this process, the
        worker writes it. `said` are all that users say: a model may read them later.
        """
        ...

    async def owe(self, tx: Tx_contra, rights: Collection[Right], message_ids: Sequence[UUID]) -> None:
        """Have the worker read these messages, which the caller's transaction stores."""
        ...

    async def write(self, scope: Scope, heard: Sequence[Heard]) -> Sequence[Update]:
        """Write what was found: once for each message, however often it is asked. Return what became of it."""
        ...


def is_newer(known: Evidence | None, known_at: datetime | None, said: Evidence, said_at: datetime) -> bool:
    """Say whether what is known was written after a message was stored, and not because of that message, one before it
    or one beside it: ids of messages begin with the time of their making.
    """
    if known_at is None or known_at <= said_at:
        return False
    return known is None or known.kind is not EvidenceKind.MESSAGE or known.id.int >> 80 > said.id.int >> 80
