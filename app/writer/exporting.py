"""What waits for the profile and for facts in an export. An Exported of app.core.portability."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from app.core.ids import show
from app.core.portability import BITE, ArchiveFile
from app.infra.db.transaction import Transaction
from app.web.evidence import CheckedEvidence
from app.web.records import Record, evidence_record, json_lines
from app.web.wire import Json, Moment
from app.writer import candidate_store
from app.writer.candidate_model import Candidate
from app.writer.tables import candidates

INFERRED: Final = "inferred.jsonl"


class InferredRecord(Record):
    """What was inferred for the profile or as a fact, and waits or was decided: then its value is gone.

    `key` is null for a fact, whose value is its text.
    """

    id: Annotated[str, Field(pattern=r"^cnd_[0-9a-f]{32}$")]
    kind: Literal["profile", "memory"]
    key: str | None
    state: Literal["waiting", "accepted", "rejected", "applied", "withdrawn"]
    value: Json
    confidence: Annotated[float, Field(ge=0, le=1)]
    evidence: list[CheckedEvidence]
    proposed_through: str | None
    created_at: Moment
    updated_at: Moment


class InferredExport:
    """Gives the candidates of both kinds."""

    tables: tuple[str, ...] = (candidates.name,)
    records: Mapping[str, type] = {INFERRED: InferredRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give the file."""
        yield ArchiveFile(INFERRED, json_lines(_candidates(tx)))


async def _candidates(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: UUID | None = None
    while page := await candidate_store.next_candidates(tx, last, BITE):
        last = page[-1].id
        yield [_candidate(candidate) for candidate in page]


def _candidate(candidate: Candidate) -> InferredRecord:
    return InferredRecord.kept(
        id=show("cnd", candidate.id),
        kind=candidate.waits.value,
        key=candidate.key,
        state=candidate.state.value,
        value=candidate.value,
        confidence=candidate.confidence,
        evidence=[evidence_record(evidence) for evidence in candidate.evidence],
        proposed_through=candidate.proposed_through,
        created_at=candidate.created_at,
        updated_at=candidate.updated_at,
    )
