"""What a preference is: a key, and versions of a value with who stated it, how sure it is and where it comes from."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.moments import Snapshot
from app.core.scope import Actor
from app.core.text.occurrences import identifies, strings
from app.core.versions import Absent, Exactly, Precondition, etag, expected

KEY_PATTERN = r"^[a-z0-9_.-]{1,128}$"
MAX_REASON_CHARS = 1_000
MAX_BATCH_ITEMS = 100
# Deleted ones count: their stubs are kept.
MAX_PREFERENCES = 1_000
# A version number is an integer of four bytes in the database.
MAX_VERSION = 2**31 - 1


class State(StrEnum):
    """What became of a version's value."""

    KEPT = "kept"
    # The value was taken out of this version when the preference was deleted later.
    ERASED = "erased"
    # This version is the deletion itself; as the current one it is the stub that is left.
    DELETED = "deleted"


class Trust(StrEnum):
    """How a value is known."""

    EXPLICIT = "explicit"
    OPERATOR = "operator"
    IMPORTED = "imported"
    INFERRED = "inferred"


class Origin(StrEnum):
    """What made a version."""

    STATEMENT = "statement"
    PROPOSAL = "proposal"
    # The user has said yes to what was proposed.
    ACCEPTANCE = "acceptance"
    ROLLBACK = "rollback"
    DELETION = "deletion"
    # It comes from somebody's archive who wasn't its user, or couldn't state it here.
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Content:
    """What a version says. `value` is any JSON; None also where the state isn't KEPT."""

    state: State
    value: object
    trust: Trust
    source: Origin
    confidence: float | None = None
    evidence: Evidence | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a preference: what it says, who wrote it, through which agent, when and in which change."""

    number: int
    content: Content
    change_number: int
    written_by: Actor
    written_through: str | None
    written_at: datetime


@dataclass(frozen=True, slots=True)
class Preference:
    """A preference at one of its versions. `agent` is None where it holds for every agent."""

    id: UUID
    key: str
    agent: str | None
    created_at: datetime
    version: Version

    @property
    def is_deleted(self) -> bool:
        """Whether this is the stub of a deleted preference."""
        return self.version.content.state is State.DELETED


@dataclass(frozen=True, slots=True)
class Statement:
    """What the user says about one key."""

    key: str
    value: object
    evidence: Evidence | None = None
    reason: str | None = None

    def content(self) -> Content:
        """Return the version's content: stated by the user, so nothing is guessed about how sure it is."""
        return Content(
            State.KEPT,
            self.value,
            Trust.EXPLICIT,
            Origin.STATEMENT,
            evidence=self.evidence,
            reason=self.reason,
        )


@dataclass(frozen=True, slots=True)
class Written:
    """A preference after a write, and whether the write brought it into being.

    `passed_over` is the version that it has replaced without having been told of it, None where there is none: the
    catalogue has it that the last write of the key holds.
    """

    preference: Preference
    created: bool
    passed_over: int | None = None


@dataclass(frozen=True, slots=True)
class InForce:
    """The preferences that are in force for an agent, and the snapshot that they were read at."""

    items: Sequence[Preference]
    snapshot: Snapshot
    more: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """One preference, and the snapshot that it was read at."""

    preference: Preference
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class History:
    """Versions of one preference, newest first."""

    items: Sequence[Version]
    snapshot: Snapshot
    more: bool = False


@dataclass(frozen=True, slots=True)
class Former:
    """A preference at a version that isn't the last, and the number of the last."""

    preference: Preference
    last: int


DELETION = Content(State.DELETED, None, Trust.EXPLICIT, Origin.DELETION)


def base_of(precondition: Precondition, current: Preference | None) -> int | None:
    """Return the version that a write builds on, None to create. Raises as `app.core.versions.expected`.

    A deleted preference has nothing that is current, so `If-None-Match: *` holds for it; its numbers go on.
    """
    if current is not None and current.is_deleted and isinstance(precondition, Absent):
        return current.version.number
    return expected(precondition, current.version.number if current else None)


def merged_base(precondition: Precondition, current: Preference | None) -> tuple[int | None, int | None]:
    """Return as `base_of`, and the version that is passed over where the precondition is of an earlier one.

    A version that never was is no earlier one, and a deletion isn't passed over: what the user took back stays so.
    """
    try:
        return base_of(precondition, current), None
    except AppError:
        if current is None or current.is_deleted:
            raise
        number = current.version.number
        if isinstance(precondition, Exactly) and min(precondition.versions, default=number) > number:
            raise
        return number, number


def restored(earlier: Content) -> Content:
    """Return what an earlier version says, as the user's word of now. Raises `conflict` where its value is erased."""
    if earlier.state is not State.KEPT:
        raise AppError("conflict", "the value of that version was erased")
    return Content(
        State.KEPT,
        earlier.value,
        Trust.EXPLICIT,
        Origin.ROLLBACK,
        evidence=earlier.evidence,
        reason=earlier.reason,
    )


def points(value: object) -> bool:
    """Say whether a string of the value points at something: texts which hold it say something of the user."""
    return any(identifies(text) for _, text in strings(value))


def canonical(value: object) -> str:
    """Return the one text of a JSON value: equal values have the same, however they were written."""
    return json.dumps(_normal(value), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _normal(value: object) -> object:
    if isinstance(value, dict):
        return {key: _normal(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_normal(inner) for inner in value]
    # In JSON 1.0 and 1 are one number.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def not_there(stub: Preference | None) -> AppError:
    """Return the error for a preference that isn't there; for a deleted one it tells which version a write needs."""
    if stub is None:
        return AppError("not_found")
    number = stub.version.number
    return AppError("not_found", "it was deleted", headers={"ETag": etag(number)}, current_version=number)
