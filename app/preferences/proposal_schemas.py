"""Proposals and candidates on the wire."""

from typing import Annotated, cast

from pydantic import Field, JsonValue

from app.core.ids import show
from app.preferences.judgement import APPLIED, Candidate, Outcome, Proposal, Waiting
from app.preferences.schemas import Key, PreferenceAnswer, Reason, preference_answer
from app.web.evidence import CheckedEvidence, EvidenceAnswer, evidence_answer, evidence_of
from app.web.moments import SnapshotAnswer, snapshot_fields
from app.web.wire import Answer, Json, Moment, Request


class PreferenceProposalRequest(Request):
    """What an agent has inferred, and how sure it is. `agent_specific`: it is to hold for the token's agent alone."""

    key: Key
    value: Json
    confidence: Annotated[float, Field(ge=0, le=1, strict=True)]
    evidence: CheckedEvidence | None = None
    agent_specific: Annotated[bool, Field(strict=True)] = False
    reason: Reason | None = None


class PreferenceCandidateAnswer(Answer):
    """What was inferred and waits. `preference_version` is the version of what it would replace, 0 for nothing.

    `version` rises with each change of the candidate and of that preference. The value of a decided one is gone.
    """

    id: str
    version: int
    state: str = Field(examples=["waiting", "accepted", "rejected", "applied", "withdrawn"])
    key: str
    agent_id: str | None
    value: JsonValue
    trust: str = Field(examples=["inferred"])
    confidence: float
    because: str = Field(examples=["stated", "imported", "less_sure", "commitment", "retracted", "rejected"])
    evidence: list[EvidenceAnswer]
    reason: str | None
    preference_version: int
    proposed_through: str | None
    created_at: Moment
    updated_at: Moment


class PreferenceCandidatesAnswer(SnapshotAnswer):
    """What waits for the user, newest first."""

    items: list[PreferenceCandidateAnswer]
    next_cursor: str | None


class PreferenceProposalAnswer(Answer):
    """What became of a proposal: `applied`, or a `candidate` that waits for the user.

    `preference` is what is in force now. `because` of an applied one: nothing was known, it is at least as sure as the
    inference that it replaces, or what it says is in force already and nothing was written.
    """

    state: str = Field(examples=["applied", "candidate"])
    because: str = Field(
        examples=[
            "nothing_known",
            "surer",
            "in_force",
            "stated",
            "imported",
            "less_sure",
            "commitment",
            "retracted",
            "rejected",
        ]
    )
    key: str
    agent_id: str | None
    preference: PreferenceAnswer | None
    candidate: PreferenceCandidateAnswer | None


def proposal(body: PreferenceProposalRequest, agent: str | None) -> Proposal:
    """Return what a body proposes, for the agent alone where one is given."""
    return Proposal(body.key, body.value, body.confidence, agent, evidence_of(body.evidence), body.reason)


def candidate_answer(candidate: Candidate) -> PreferenceCandidateAnswer:
    """Show a candidate."""
    return PreferenceCandidateAnswer(
        id=show("cnd", candidate.id),
        version=candidate.version,
        state=candidate.state.value,
        key=candidate.key,
        agent_id=candidate.agent,
        value=cast("JsonValue", candidate.value),
        trust="inferred",
        confidence=candidate.confidence,
        because=candidate.because.value,
        evidence=[shown for each in candidate.evidence if (shown := evidence_answer(each))],
        reason=candidate.reason,
        preference_version=candidate.preference_version,
        proposed_through=candidate.proposed_through,
        created_at=candidate.created_at,
        updated_at=candidate.updated_at,
    )


def candidates_answer(found: Waiting, next_cursor: str | None) -> PreferenceCandidatesAnswer:
    """Show a page of candidates."""
    items = [candidate_answer(each) for each in found.items]
    return PreferenceCandidatesAnswer(items=items, next_cursor=next_cursor, **snapshot_fields(found.snapshot))


def proposal_answer(outcome: Outcome) -> PreferenceProposalAnswer:
    """Show what became of a proposal."""
    return PreferenceProposalAnswer(
        state="applied" if outcome.because in APPLIED else "candidate",
        because=outcome.because.value,
        key=outcome.proposal.key,
        agent_id=outcome.proposal.agent,
        preference=preference_answer(outcome.preference) if outcome.preference else None,
        candidate=candidate_answer(outcome.candidate) if outcome.candidate else None,
    )
