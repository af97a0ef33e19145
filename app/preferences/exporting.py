"""Preferences in an export: every version of each, of all agents, and the candidates. An Exported of
app.core.portability.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from app.core.ids import show
from app.core.portability import BITE, ArchiveFile
from app.infra.db.transaction import Transaction
from app.preferences import candidate_store, store
from app.preferences.judgement import Candidate
from app.preferences.model import KEY_PATTERN, MAX_REASON_CHARS, MAX_VERSION, Preference
from app.preferences.tables import preference_candidates, preference_versions, preferences
from app.web.evidence import CheckedEvidence
from app.web.records import Agent, Record, evidence_record, json_lines
from app.web.wire import Json, Moment

PREFERENCES: Final = "preferences.jsonl"
CANDIDATES: Final = "candidates.jsonl"

Reason = Annotated[str, Field(max_length=MAX_REASON_CHARS)]
Key = Annotated[str, Field(pattern=KEY_PATTERN)]
Confidence = Annotated[float, Field(ge=0, le=1)]


class PreferenceRecord(Record):
    """A version of a preference; those of one stand together, the oldest first.

    `state` says why there is no value: it was `erased`, or this version is the deletion itself.
    """

    id: Annotated[str, Field(pattern=r"^prf_[0-9a-f]{32}$")]
    key: Key
    agent_id: Agent | None = Field(description="Null where it holds for every agent.")
    created_at: Moment
    version: Annotated[int, Field(ge=1, le=MAX_VERSION)]
    state: Literal["kept", "erased", "deleted"]
    value: Json
    trust: Literal["explicit", "operator", "imported", "inferred"]
    source: str = Field(examples=["statement", "proposal", "acceptance", "rollback", "deletion", "import"])
    confidence: Confidence | None
    evidence: CheckedEvidence | None
    reason: Reason | None
    written_by: Literal["user", "operator", "worker"]
    written_through: Agent | None
    written_at: Moment


class CandidateRecord(Record):
    """What was inferred and waits, or was decided: then its value is gone, and `state` is what was decided."""

    id: Annotated[str, Field(pattern=r"^cnd_[0-9a-f]{32}$")]
    key: Key
    agent_id: Agent | None
    state: Literal["waiting", "accepted", "rejected", "applied", "withdrawn"]
    value: Json
    reason: Reason | None
    confidence: Confidence
    evidence: list[CheckedEvidence]
    because: str
    proposed_through: Agent | None
    created_at: Moment
    updated_at: Moment


class PreferenceExport:
    """Gives the versions of preferences, and the candidates."""

    tables: tuple[str, ...] = (preferences.name, preference_versions.name, preference_candidates.name)
    records: Mapping[str, type] = {PREFERENCES: PreferenceRecord, CANDIDATES: CandidateRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give both files."""
        yield ArchiveFile(PREFERENCES, json_lines(_versions(tx)))
        yield ArchiveFile(CANDIDATES, json_lines(_candidates(tx)))


async def _versions(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: tuple[UUID, int] | None = None
    while page := await store.next_versions(tx, last, BITE):
        last = (page[-1].id, page[-1].version.number)
        yield [_preference(preference) for preference in page]


async def _candidates(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: UUID | None = None
    while page := await candidate_store.next_of_all_agents(tx, last, BITE):
        last = page[-1].id
        yield [_candidate(candidate) for candidate in page]


def _preference(preference: Preference) -> PreferenceRecord:
    version, content = preference.version, preference.version.content
    return PreferenceRecord.kept(
        id=show("prf", preference.id),
        key=preference.key,
        agent_id=preference.agent,
        created_at=preference.created_at,
        version=version.number,
        state=content.state.value,
        value=content.value,
        trust=content.trust.value,
        source=content.source.value,
        confidence=content.confidence,
        evidence=evidence_record(content.evidence),
        reason=content.reason,
        written_by=version.written_by.value,
        written_through=version.written_through,
        written_at=version.written_at,
    )


def _candidate(candidate: Candidate) -> CandidateRecord:
    return CandidateRecord.kept(
        id=show("cnd", candidate.id),
        key=candidate.key,
        agent_id=candidate.agent,
        state=candidate.state.value,
        value=candidate.value,
        reason=candidate.reason,
        confidence=candidate.confidence,
        evidence=[evidence_record(evidence) for evidence in candidate.evidence],
        because=candidate.because.value,
        proposed_through=candidate.proposed_through,
        created_at=candidate.created_at,
        updated_at=candidate.updated_at,
    )
