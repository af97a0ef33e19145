"""Facts on the wire."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, ValidationInfo, field_validator

from app.core.ids import show
from app.core.remembered import RememberedKind
from app.memories.model import MAX_TEXT_CHARS, Content, History, Memory, Origin, Read, State, Trust, Version
from app.memories.overview import Overview
from app.web.evidence import CheckedEvidence, EvidenceAnswer, evidence_answer, evidence_of
from app.web.moments import SnapshotAnswer, snapshot_fields
from app.web.superseded import SupersededAnswer, superseded_answers
from app.web.wire import Answer, JsonObject, Moment, Request, wrong


def _says_something(text: str) -> str:
    if not text.strip():
        raise wrong("must say something")
    return text


def _to_come(moment: datetime) -> datetime:
    if moment <= datetime.now(UTC):
        raise wrong("must lie in the future")
    return moment


class MemoryRequest(Request):
    """A fact. `source` says who said it: the user (`explicit`), nobody, for it was concluded (`inferred`), or another
    system (`imported`). One that isn't said to be the user's word counts as inferred.
    """

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS), AfterValidator(_says_something)]
    source: Literal["explicit", "inferred", "imported"] = "inferred"
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    evidence: CheckedEvidence | None = None
    metadata: JsonObject = Field(default_factory=dict)
    expires_at: Annotated[Moment, AfterValidator(_to_come)] | None = None

    @field_validator("confidence")
    @classmethod
    def _of_what_is_not_certain(cls, confidence: float | None, info: ValidationInfo) -> float | None:
        if confidence is not None and info.data.get("source") == "explicit":
            raise wrong("must not stand beside what the user has said")
        return confidence


class MemoryContentAnswer(Answer):
    """What one version says. `state` tells why there is no text: it was `erased`, or this version is the deletion."""

    version: int
    state: str = Field(examples=["kept", "erased", "deleted"])
    text: str | None
    source: str = Field(examples=["explicit", "inferred", "imported", "deletion", "expiry"])
    trust: str = Field(examples=["explicit", "operator", "imported", "inferred"])
    confidence: float | None
    evidence: EvidenceAnswer | None
    metadata: dict[str, JsonValue]
    expires_at: Moment | None


class MemoryAnswer(MemoryContentAnswer):
    """A fact."""

    id: str
    created_at: Moment
    updated_at: Moment


class MemoryVersionAnswer(MemoryContentAnswer):
    """A version: what it says, and who wrote it, through which agent and when."""

    written_at: Moment
    written_by: str = Field(examples=["user", "operator", "worker"])
    written_through: str | None


class MemoryReadAnswer(MemoryAnswer, SnapshotAnswer):
    """A fact, the snapshot that it was read at, and what of its text wasn't current any more then."""

    superseded: list[SupersededAnswer]


class RememberedAnswer(Answer):
    """Something that is remembered. `trust` is null where it is a record of what was said or given, and claims nothing.

    `href` is where the item itself is read, changed and deleted.
    """

    kind: str = Field(examples=[kind.value for kind in RememberedKind])
    id: str
    text: str
    source: str
    trust: str | None = Field(examples=["explicit", "operator", "imported", "inferred"])
    evidence: EvidenceAnswer | None
    created_at: Moment
    expires_at: Moment | None
    href: str
    # What has changed since, of values that the text holds.
    superseded: list[SupersededAnswer]


class OverviewAnswer(Answer):
    """What is remembered about the user: the profile, then everything else, what was made last first.

    `kinds` are those that the token may see; `snapshot` is user memory as it was just before this page was read.
    """

    items: list[RememberedAnswer]
    kinds: list[str]
    next_cursor: str | None
    snapshot: str


class MemoryHistoryAnswer(SnapshotAnswer):
    """Versions of a fact, newest first."""

    items: list[MemoryVersionAnswer]
    next_cursor: str | None


def content(body: MemoryRequest) -> Content:
    """Return what a body says."""
    return Content(
        State.KEPT,
        body.text,
        Trust(body.source),
        Origin(body.source),
        confidence=body.confidence,
        evidence=evidence_of(body.evidence),
        metadata=body.metadata,
        expires_at=body.expires_at,
    )


def memory_answer(memory: Memory) -> MemoryAnswer:
    """Show a fact."""
    return MemoryAnswer(**_memory(memory))


def read_answer(found: Read) -> MemoryReadAnswer:
    """Show a fact that was read."""
    superseded = superseded_answers(found.outdated.of(found.memory.version.content.text))
    return MemoryReadAnswer(**_memory(found.memory), **snapshot_fields(found.snapshot), superseded=superseded)


def overview_answer(overview: Overview, next_cursor: str | None) -> OverviewAnswer:
    """Show a page of the one list."""
    items = [
        RememberedAnswer(
            kind=item.kind.value,
            id=item.id,
            text=item.text,
            source=item.source,
            trust=item.trust,
            evidence=evidence_answer(item.evidence),
            created_at=item.created_at,
            expires_at=item.expires_at,
            href=item.href,
            superseded=superseded_answers(item.superseded),
        )
        for item in overview.items
    ]
    kinds = [kind.value for kind in overview.kinds]
    return OverviewAnswer(items=items, kinds=kinds, next_cursor=next_cursor, snapshot=overview.snapshot.id)


def history_answer(history: History, next_cursor: str | None) -> MemoryHistoryAnswer:
    """Show the versions of a fact."""
    items = [
        MemoryVersionAnswer(
            **_content(version),
            written_at=version.written_at,
            written_by=version.written_by.value,
            written_through=version.written_through,
        )
        for version in history.items
    ]
    return MemoryHistoryAnswer(items=items, next_cursor=next_cursor, **snapshot_fields(history.snapshot))


def _memory(memory: Memory) -> dict[str, Any]:  # Any: the fields of MemoryAnswer, each of its own type
    return {
        **_content(memory.version),
        "id": show("mem", memory.id),
        "created_at": memory.created_at,
        "updated_at": memory.version.written_at,
    }


def _content(version: Version) -> dict[str, Any]:  # Any: the fields of MemoryContentAnswer, each of its own type
    said = version.content
    return {
        "version": version.number,
        "state": said.state.value,
        "text": said.text,
        "source": said.source.value,
        "trust": said.trust.value,
        "confidence": said.confidence,
        "evidence": evidence_answer(said.evidence),
        "metadata": dict(said.metadata),
        "expires_at": said.expires_at,
    }
