"""What waits for the profile and for facts from an archive. An Imported of app.core.portability."""

from collections.abc import Sequence

from app.core.audit import AuditEntry
from app.core.evidence import EvidenceCheck
from app.core.ids import parse
from app.core.portability import TAKEN, UNCHANGED, Made, Outcome, Taking
from app.core.scope import Actor, Scope
from app.core.text.sensitive import category
from app.core.writing import Inferred, Waits
from app.infra.db.adopting import imported_evidence, imported_id
from app.infra.db.transaction import Transaction
from app.web.evidence import evidence_of
from app.writer import candidate_store, refusal_store
from app.writer.candidate_model import MAX_CANDIDATES, State
from app.writer.candidates import WHAT
from app.writer.exporting import INFERRED, InferredRecord


class InferredImport:
    """Takes candidates that wait. Of one that was decided the stub says nothing to anybody else's agents."""

    file: str = INFERRED
    record: type = InferredRecord
    permission: str = "profile:write"

    def __init__(self, evidence: EvidenceCheck[Transaction]) -> None:
        """Take what knows which evidence there is."""
        self._evidence = evidence

    def item(self, record: InferredRecord) -> str:
        """Return the id of the candidate."""
        return record.id

    async def take(self, tx: Transaction, taking: Taking, records: Sequence[InferredRecord]) -> Sequence[Outcome]:
        """Let them wait here."""
        await tx.hold_changes()
        return [await self._take(tx, taking, record) for record in records]

    async def committed(self, scope: Scope) -> None:
        """Do nothing: no copies have candidates."""

    async def _take(self, tx: Transaction, taking: Taking, record: InferredRecord) -> Outcome:
        waits = Waits(record.kind)
        refusal = _refusal(tx, record)
        if refusal is not None:
            return refusal
        evidence = [
            found
            for each in record.evidence
            if (found := await imported_evidence(tx, self._evidence, evidence_of(each))) is not None
        ]
        inferred = Inferred(record.key, record.value, record.confidence, evidence[-1] if evidence else None)
        source = parse("cnd", record.id)
        candidate_id = imported_id(tx.box, "cnd", source)
        is_here = [await candidate_store.find(tx, each, waits) for each in (candidate_id, source)]
        if any(is_here) or await candidate_store.find_waiting(tx, waits, inferred) is not None:
            return UNCHANGED
        if await candidate_store.count_waiting(tx, waits) >= MAX_CANDIDATES:
            return Outcome.refused("quota_exceeded")
        entry = AuditEntry("import", WHAT, candidate_id)
        made = Made(
            Actor.USER,
            record.proposed_through if taking.keeps_trust else taking.agent,
            record.updated_at,
            record.created_at,
        )
        await refusal_store.note(tx, waits, inferred, entry)
        await candidate_store.create(tx, candidate_id, waits, inferred, entry, evidence[:-1], made)
        return TAKEN


def _refusal(tx: Transaction, record: InferredRecord) -> Outcome | None:
    if State(record.state) is not State.WAITING:
        return Outcome.refused("decided")
    if not tx.processing.infer:
        return Outcome.refused("processing_stopped")
    if (record.key is None) != (Waits(record.kind) is Waits.MEMORY) or not _is_text(record):
        return Outcome.refused("invalid")
    found = category(record.value, named=record.key) if record.key else category(record.value)
    return Outcome.refused("sensitive_category") if found is not None else None


def _is_text(record: InferredRecord) -> bool:
    """Say whether what must be a text is one: a fact, and the fields of a profile that are no attributes."""
    return record.key not in {None, "name", "role", "department"} or isinstance(record.value, str)
