"""The profile on the wire."""

from collections.abc import Iterable
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, JsonValue

from app.core.errors import AppError
from app.core.ids import show
from app.profile.model import (
    ATTRIBUTES,
    FIELDS,
    MAX_FIELD_CHARS,
    MAX_REASON_CHARS,
    MAX_VERSION,
    History,
    Path,
    Profile,
    Seen,
    pointer,
)
from app.web.evidence import CheckedEvidence, EvidenceAnswer, evidence_answer
from app.web.moments import SnapshotAnswer, snapshot_fields
from app.web.wire import Answer, JsonObject, Moment, Request

Name = Annotated[str, Field(max_length=MAX_FIELD_CHARS)]
Reason = Annotated[str, Field(min_length=1, max_length=MAX_REASON_CHARS)]


class ProfilePatch(Request):
    """A merge patch (RFC 7396): what is sent is changed, null removes, and objects inside `attributes` are merged.

    `reason` and `evidence` are of the version that it makes, and say why.
    """

    name: Name | None = None
    role: Name | None = None
    department: Name | None = None
    active: Annotated[bool, Field(strict=True)] | None = None
    last_login_at: Moment | None = None
    attributes: JsonObject | None = None
    reason: Reason | None = None
    evidence: CheckedEvidence | None = None

    def sent(self) -> dict[str, Any]:  # Any: each field has a type of its own
        """Return the facts that were sent."""
        return {name: getattr(self, name) for name in (*FIELDS, ATTRIBUTES) if name in self.model_fields_set}


class ProfileRollbackRequest(Request):
    """Which earlier version to say again, 0 for the empty one, and why."""

    to_version: Annotated[int, Field(ge=0, le=MAX_VERSION, strict=True)]
    reason: Reason | None = None


class FactsAnswer(Answer):
    """What is known of the user. `erased` are the places whose value was erased, as in `attributes/team/floor`."""

    version: int
    name: str | None
    role: str | None
    department: str | None
    active: bool
    last_login_at: Moment | None
    attributes: dict[str, JsonValue]
    erased: list[str]


class ProfileAnswer(FactsAnswer, SnapshotAnswer):
    """The profile. `updated_at` is null at version 0, before the first change."""

    id: str
    updated_at: Moment | None


class ProfileVersionAnswer(FactsAnswer):
    """A version: what it says, and who wrote it, why, from which evidence, through which agent and when."""

    source: str = Field(examples=["statement", "rollback", "erasure"])
    reason: str | None
    evidence: EvidenceAnswer | None
    written_at: Moment | None
    written_by: str = Field(examples=["user", "operator", "worker"])
    written_through: str | None


class ProfileHistoryAnswer(SnapshotAnswer):
    """Versions of the profile, newest first."""

    items: list[ProfileVersionAnswer]
    next_cursor: str | None


def profile_answer(usr: UUID, seen: Seen) -> ProfileAnswer:
    """Show a profile."""
    profile = seen.profile
    return ProfileAnswer(
        **_facts(profile),
        **snapshot_fields(seen.snapshot),
        id=show("usr", usr),
        updated_at=profile.updated_at,
    )


def history_answer(history: History, next_cursor: str | None) -> ProfileHistoryAnswer:
    """Show the versions of a profile."""
    items = [
        ProfileVersionAnswer(
            **_facts(profile),
            source=profile.why.source.value,
            reason=profile.why.reason,
            evidence=evidence_answer(profile.why.evidence),
            written_at=profile.updated_at,
            written_by=profile.written_by.value,
            written_through=profile.written_through,
        )
        for profile in history.items
    ]
    return ProfileHistoryAnswer(items=items, next_cursor=next_cursor, **snapshot_fields(history.snapshot))


def path_of(shown: str) -> Path:
    """Return the place that a JSON Pointer (RFC 6901) without its first slash names. Raises `not_found`."""
    path = tuple(name.replace("~1", "/").replace("~0", "~") for name in shown.split("/"))
    if path[0] != ATTRIBUTES and (path[0] not in FIELDS or len(path) > 1):
        raise AppError("not_found")
    return path


def _places(paths: Iterable[Path]) -> list[str]:
    return sorted(map(pointer, paths))


def _facts(profile: Profile) -> dict[str, Any]:  # Any: the fields of FactsAnswer, each of its own type
    facts = profile.facts
    return {
        "version": profile.version,
        "name": facts.name,
        "role": facts.role,
        "department": facts.department,
        # Whoever was never said to be gone is there.
        "active": facts.active is not False,
        "last_login_at": facts.last_login_at,
        "attributes": dict(facts.attributes),
        "erased": _places(facts.erased),
    }
