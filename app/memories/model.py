"""What a fact is: versions of a text with who said it, how sure it is, where it comes from and until when it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.moments import Snapshot
from app.core.processing import Processing, stopped
from app.core.scope import Actor
from app.core.superseding import NOTHING_OUTDATED, Outdated
from app.core.text.sensitive import category
from app.core.versions import etag

MAX_TEXT_CHARS = 8_000
# Those that are there: of a deleted one a stub without content is left, which counts for nothing.
MAX_MEMORIES = 10_000
# A version number is an integer of four bytes in the database.
MAX_VERSION = 2**31 - 1


class State(StrEnum):
    """What became of a version's text."""

    KEPT = "kept"
    # The text was taken out of this version when the fact was deleted later.
    ERASED = "erased"
    # This version is the deletion itself; as the current one it is the stub that is left.
    DELETED = "deleted"


class Trust(StrEnum):
    """How a fact is known."""

    EXPLICIT = "explicit"
    OPERATOR = "operator"
    IMPORTED = "imported"
    INFERRED = "inferred"


class Origin(StrEnum):
    """What made a version: who is said to have said it, or how it ended."""

    EXPLICIT = "explicit"
    INFERRED = "inferred"
    IMPORTED = "imported"
    DELETION = "deletion"
    EXPIRY = "expiry"


@dataclass(frozen=True, slots=True)
class Content:
    """What a version says. `text` is None where the state isn't KEPT."""

    state: State
    text: str | None
    trust: Trust
    source: Origin
    confidence: float | None = None
    evidence: Evidence | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a fact: what it says, who wrote it, through which agent, when and in which change."""

    number: int
    content: Content
    change_number: int
    written_by: Actor
    written_through: str | None
    written_at: datetime


@dataclass(frozen=True, slots=True)
class Memory:
    """A fact at one of its versions. `indexed_as` is what the index knows its current version by."""

    id: UUID
    indexed_as: UUID
    created_at: datetime
    version: Version

    @property
    def is_deleted(self) -> bool:
        """Whether the text of the version is gone."""
        return self.version.content.state is not State.KEPT

    @property
    def ends_there(self) -> bool:
        """Whether the version is the deletion itself."""
        return self.version.content.state is State.DELETED

    def has_expired(self, now: datetime) -> bool:
        """Whether its time is over. It reads as deleted from then on; the worker deletes it."""
        expires_at = self.version.content.expires_at
        return expires_at is not None and expires_at <= now

    def is_there(self, now: datetime) -> bool:
        """Whether it is neither deleted nor expired."""
        return not self.is_deleted and not self.has_expired(now)


@dataclass(frozen=True, slots=True)
class Read:
    """One fact, the snapshot that it was read at, and what wasn't in force any more then."""

    memory: Memory
    snapshot: Snapshot
    outdated: Outdated = NOTHING_OUTDATED


@dataclass(frozen=True, slots=True)
class History:
    """Versions of one fact, newest first."""

    items: Sequence[Version]
    snapshot: Snapshot
    more: bool = False


DELETION = Content(State.DELETED, None, Trust.EXPLICIT, Origin.DELETION)
EXPIRY = Content(State.DELETED, None, Trust.EXPLICIT, Origin.EXPIRY)

_RANKS = {Trust.OPERATOR: 2, Trust.EXPLICIT: 2, Trust.IMPORTED: 1, Trust.INFERRED: 0}


def require_trust(current: Content, following: Content) -> None:
    """Raise `conflict` where a version would put what is less trusted in the place of what is more."""
    if _RANKS[following.trust] < _RANKS[current.trust]:
        raise AppError(
            "conflict",
            f"what is {following.trust} doesn't replace what is {current.trust}: name its `source`, or add a fact",
        )


def require_inferable(content: Content, processing: Processing) -> None:
    """Raise `sensitive_category` for a conclusion about somebody's health, belief and the like, and
    `processing_stopped` for any where the user doesn't let anything be inferred.
    """
    if content.trust is Trust.INFERRED and not processing.infer:
        raise stopped("infer")
    found = category(content.text) if content.trust is Trust.INFERRED else None
    if found is not None:
        raise AppError(
            "sensitive_category",
            "such a fact is kept where its `source` is the user's own word, or another system's",
            category=found.value,
        )


def not_there(memory: Memory | None) -> AppError:
    """Return the error for a fact that isn't there; for a deleted one it tells the version of its stub."""
    if memory is None or not memory.is_deleted:
        return AppError("not_found")
    number = memory.version.number
    return AppError("not_found", "it was deleted", headers={"ETag": etag(number)}, current_version=number)
