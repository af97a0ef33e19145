"""Preferences on the wire."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue

from app.core.ids import show
from app.preferences.model import (
    KEY_PATTERN,
    MAX_BATCH_ITEMS,
    MAX_REASON_CHARS,
    MAX_VERSION,
    Found,
    History,
    InForce,
    Preference,
    Statement,
    Version,
    Written,
)
from app.web.evidence import CheckedEvidence, EvidenceAnswer, evidence_answer, evidence_of
from app.web.moments import SnapshotAnswer, snapshot_fields
from app.web.wire import Answer, Json, Moment, Request, wrong

Key = Annotated[str, Field(pattern=KEY_PATTERN)]
Reason = Annotated[str, Field(min_length=1, max_length=MAX_REASON_CHARS)]


class PreferenceRequest(Request):
    """What the user says about a key."""

    value: Json
    evidence: CheckedEvidence | None = None
    reason: Reason | None = None


class PreferenceItemRequest(PreferenceRequest):
    """What the user says about one of several keys, after `version`; null where the key must have no value yet."""

    key: Key
    version: Annotated[int, Field(ge=0, le=MAX_VERSION, strict=True)] | None


def _of_different_keys(items: list[PreferenceItemRequest]) -> list[PreferenceItemRequest]:
    if len({item.key for item in items}) < len(items):
        raise wrong("must name each key once")
    return items


class PreferenceBatchRequest(Request):
    """What the user says about several keys: all of it is written, or nothing."""

    items: Annotated[
        list[PreferenceItemRequest],
        Field(min_length=1, max_length=MAX_BATCH_ITEMS),
        AfterValidator(_of_different_keys),
    ]


class PreferenceRollbackRequest(Request):
    """Which earlier version to say again."""

    to_version: Annotated[int, Field(ge=1, le=MAX_VERSION, strict=True)]


class ContentAnswer(Answer):
    """What one version says. `state` tells why there is no value: it was `erased`, or this version is its deletion."""

    version: int
    state: str = Field(examples=["kept", "erased", "deleted"])
    value: JsonValue
    trust: str = Field(examples=["explicit", "operator", "imported", "inferred"])
    source: str = Field(examples=["statement", "rollback", "deletion"])
    confidence: float | None
    evidence: EvidenceAnswer | None
    reason: str | None


class PreferenceAnswer(ContentAnswer):
    """A preference. `agent_id` is null where it holds for every agent."""

    id: str
    key: str
    agent_id: str | None
    created_at: Moment
    updated_at: Moment


class PreferenceVersionAnswer(ContentAnswer):
    """A version: what it says, and who wrote it, through which agent and when."""

    written_at: Moment
    written_by: str = Field(examples=["user", "operator", "worker"])
    written_through: str | None


class PreferenceWrittenAnswer(PreferenceAnswer):
    """A preference that was written.

    `merged`: the write was bound to an earlier version, and succeeded because the catalogue has it that the last write
    of this key holds. `passed_over` is the version that it has replaced unseen.
    """

    merged: bool
    passed_over: int | None


class PreferenceReadAnswer(PreferenceAnswer, SnapshotAnswer):
    """A preference, and the snapshot that it was read at."""


class PreferencesAnswer(SnapshotAnswer):
    """Preferences in force, and the snapshot that answers the same again."""

    items: list[PreferenceAnswer]
    next_cursor: str | None


class PreferenceBatchAnswer(Answer):
    """The preferences that were written, in the order that they were sent in."""

    items: list[PreferenceWrittenAnswer]


class PreferenceHistoryAnswer(SnapshotAnswer):
    """Versions of a preference, newest first."""

    items: list[PreferenceVersionAnswer]
    next_cursor: str | None


def statement(key: str, body: PreferenceRequest) -> Statement:
    """Return what a body says about a key."""
    return Statement(key, body.value, evidence_of(body.evidence), body.reason)


def preference_answer(preference: Preference) -> PreferenceAnswer:
    """Show a preference."""
    return PreferenceAnswer(**_preference(preference))


def found_answer(found: Found) -> PreferenceReadAnswer:
    """Show a preference that was read."""
    return PreferenceReadAnswer(**_preference(found.preference), **snapshot_fields(found.snapshot))


def written_answer(written: Written) -> PreferenceWrittenAnswer:
    """Show a preference that was written, and what it has passed over."""
    merged = written.passed_over is not None
    return PreferenceWrittenAnswer(**_preference(written.preference), merged=merged, passed_over=written.passed_over)


def batch_answer(written: Sequence[Written]) -> PreferenceBatchAnswer:
    """Show the preferences that one batch wrote."""
    return PreferenceBatchAnswer(items=[written_answer(each) for each in written])


def in_force_answer(found: InForce, next_cursor: str | None) -> PreferencesAnswer:
    """Show what is in force."""
    items = [preference_answer(preference) for preference in found.items]
    return PreferencesAnswer(items=items, next_cursor=next_cursor, **snapshot_fields(found.snapshot))


def history_answer(history: History, next_cursor: str | None) -> PreferenceHistoryAnswer:
    """Show the versions of a preference."""
    items = [
        PreferenceVersionAnswer(
            **_content(version),
            written_at=version.written_at,
            written_by=version.written_by.value,
            written_through=version.written_through,
        )
        for version in history.items
    ]
    return PreferenceHistoryAnswer(items=items, next_cursor=next_cursor, **snapshot_fields(history.snapshot))


def _preference(preference: Preference) -> dict[str, Any]:  # Any: the fields of PreferenceAnswer, each of its own type
    return {
        **_content(preference.version),
        "id": show("prf", preference.id),
        "key": preference.key,
        "agent_id": preference.agent,
        "created_at": preference.created_at,
        "updated_at": preference.version.written_at,
    }


def _content(version: Version) -> dict[str, Any]:  # Any: the fields of ContentAnswer, each of its own type
    content = version.content
    return {
        "version": version.number,
        "state": content.state.value,
        "value": content.value,
        "trust": content.trust.value,
        "source": content.source.value,
        "confidence": content.confidence,
        "evidence": evidence_answer(content.evidence),
        "reason": content.reason,
    }
