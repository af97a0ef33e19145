"""Candidates for the profile and for facts on the wire."""

from typing import Annotated, cast

from pydantic import AfterValidator, Field, JsonValue, ValidationInfo, field_validator

from app.core.ids import show
from app.core.writing import Inferred
from app.web.evidence import CheckedEvidence, EvidenceAnswer, evidence_answer, evidence_of
from app.web.moments import SnapshotAnswer, snapshot_fields
from app.web.wire import Answer, Json, Moment, Request, wrong
from app.writer.candidate_model import Candidate, Decided, Waiting

MAX_FIELD_CHARS = 256
# What of a profile is a text, and what of it isn't inferred.
_TEXTS = frozenset({"name", "role", "department"})
_NOT_INFERRED = frozenset({"id", "active", "last_login_at", "attributes"})


def _inferable(key: str) -> str:
    if key in _NOT_INFERRED:
        raise wrong("must be a field that can be inferred, or the name of an attribute")
    return key


class ProfileProposalRequest(Request):
    """What an agent has inferred of who the user is, and how sure it is.

    `key` is `name`, `role`, `department` or the name of an attribute.
    """

    key: Annotated[str, Field(pattern=r"^[a-z0-9_.-]{1,128}$"), AfterValidator(_inferable)]
    value: Json
    confidence: Annotated[float, Field(ge=0, le=1, strict=True)]
    evidence: CheckedEvidence | None = None

    @field_validator("value")
    @classmethod
    def _says_something(cls, value: JsonValue, info: ValidationInfo) -> JsonValue:
        if value is None:
            raise wrong("must say something")
        is_text = isinstance(value, str) and 0 < len(value) <= MAX_FIELD_CHARS
        if info.data.get("key") in _TEXTS and not is_text:
            raise wrong(f"must be a text of 1 to {MAX_FIELD_CHARS} characters")
        return value


class BecameAnswer(Answer):
    """What an accepted candidate is now: a version of the profile, or a fact."""

    kind: str = Field(examples=["profile", "memory"])
    id: str
    version: int


class CandidateAnswer(Answer):
    """What was inferred and waits. `key` is null for a fact, whose value is its text; of a decided one it is gone.

    `base_version` is the version of the profile that it would change; `version` rises with each change of either.
    """

    id: str
    version: int
    state: str = Field(examples=["waiting", "accepted", "rejected", "applied", "withdrawn"])
    kind: str = Field(examples=["profile", "memory"])
    key: str | None
    value: JsonValue
    trust: str = Field(examples=["inferred"])
    confidence: float
    evidence: list[EvidenceAnswer]
    base_version: int
    proposed_through: str | None
    created_at: Moment
    updated_at: Moment


class DecidedAnswer(CandidateAnswer):
    """A candidate after the user's decision. `became` is what was written, null where it was rejected."""

    became: BecameAnswer | None


class ProfileProposalAnswer(Answer):
    """What became of a proposal: a `candidate` that waits, or `applied` where the profile says so already."""

    state: str = Field(examples=["candidate", "applied"])
    candidate: CandidateAnswer | None


class CandidatesAnswer(SnapshotAnswer):
    """What waits for the user, newest first."""

    items: list[CandidateAnswer]
    next_cursor: str | None


def inferred(body: ProfileProposalRequest) -> Inferred:
    """Return what a body proposes."""
    return Inferred(body.key, body.value, body.confidence, evidence_of(body.evidence))


def candidate_answer(candidate: Candidate) -> CandidateAnswer:
    """Show a candidate."""
    return CandidateAnswer(
        id=show("cnd", candidate.id),
        version=candidate.version,
        state=candidate.state.value,
        kind=candidate.waits.value,
        key=candidate.key,
        value=cast("JsonValue", candidate.value),
        trust="inferred",
        confidence=candidate.confidence,
        evidence=[shown for each in candidate.evidence if (shown := evidence_answer(each))],
        base_version=candidate.base_version,
        proposed_through=candidate.proposed_through,
        created_at=candidate.created_at,
        updated_at=candidate.updated_at,
    )


def decided_answer(decided: Decided) -> DecidedAnswer:
    """Show a decision."""
    became = decided.became
    shown = BecameAnswer(kind=became.kind, id=became.id, version=became.version) if became else None
    return DecidedAnswer(**candidate_answer(decided.candidate).model_dump(), became=shown)


def candidates_answer(found: Waiting, next_cursor: str | None) -> CandidatesAnswer:
    """Show a page of candidates."""
    items = [candidate_answer(each) for each in found.items]
    return CandidatesAnswer(items=items, next_cursor=next_cursor, **snapshot_fields(found.snapshot))


def proposal_answer(candidate: Candidate | None) -> ProfileProposalAnswer:
    """Show what became of a proposal."""
    state = "applied" if candidate is None else "candidate"
    return ProfileProposalAnswer(state=state, candidate=candidate_answer(candidate) if candidate else None)
