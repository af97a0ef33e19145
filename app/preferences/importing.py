"""Preferences and candidates from an archive: each version under its own number, time and trust. Two Imported of
app.core.portability.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import EvidenceCheck
from app.core.ids import parse
from app.core.portability import TAKEN, UNCHANGED, Made, Outcome, Taking, follow
from app.core.scope import Actor, Scope
from app.core.superseding import superseded_by
from app.infra.db.adopting import imported_evidence, imported_id
from app.infra.db.transaction import Transaction
from app.preferences import candidate_store, store
from app.preferences.catalogue.store import rules as catalogue_rules
from app.preferences.exporting import CANDIDATES, PREFERENCES, CandidateRecord, PreferenceRecord
from app.preferences.judgement import MAX_CANDIDATES, Because, Fate, Proposal
from app.preferences.model import Content, Origin, Preference, State, Trust, Version, canonical
from app.preferences.writing import require_room
from app.web.evidence import evidence_of

_ORIGINS: Final = frozenset(Origin)
_BECAUSE: Final = frozenset(Because)


class PreferenceImport:
    """Takes the versions of preferences. What is here of a key stays, and is told where it says something else."""

    file: str = PREFERENCES
    record: type = PreferenceRecord
    permission: str = "preferences:write"

    def __init__(self, evidence: EvidenceCheck[Transaction]) -> None:
        """Take what knows which evidence there is."""
        self._evidence = evidence

    def item(self, record: PreferenceRecord) -> str:
        """Return the id of the preference."""
        return record.id

    async def take(self, tx: Transaction, taking: Taking, records: Sequence[PreferenceRecord]) -> Sequence[Outcome]:
        """Write what isn't here, one preference after the other."""
        await tx.hold_changes()
        outcomes: list[Outcome] = []
        for _, versions in groupby(records, self.item):
            outcomes += await self._take(tx, taking, list(versions))
        return outcomes

    async def committed(self, scope: Scope) -> None:
        """Do nothing: readers of copies go by the number of the change."""

    async def _take(self, tx: Transaction, taking: Taking, versions: Sequence[PreferenceRecord]) -> Sequence[Outcome]:
        last = versions[-1]
        source = parse("prf", last.id)
        preference_id = imported_id(tx.box, "prf", source)
        current = await store.find_any(tx, [preference_id, source])
        if current is None:
            known = await store.find(tx, last.key, last.agent_id)
            if known is not None:
                is_same = _says(known.version, last)
                return [UNCHANGED if is_same else Outcome.conflict("exists")] * len(versions)
        base = current.version.number if current else 0
        here = [each for each in versions if each.version <= base]
        outcomes = [await _compared(tx, current, each) for each in here]
        new = versions[len(here) :]
        if any(outcome != UNCHANGED for outcome in outcomes):
            return [*outcomes, *[Outcome.conflict("differs")] * len(new)]
        refusal = await _refusal(tx, taking, new, base) if new else None
        if refusal is not None:
            return [*outcomes, *[refusal] * len(new)]
        if new:
            number = await tx.next_change(_entry(current.id if current else preference_id))
            for each in new:
                current = await self._write(tx, taking, current, each, number, is_last=each is last)
        return [*outcomes, *[TAKEN] * len(new)]

    async def _write(
        self,
        tx: Transaction,
        taking: Taking,
        current: Preference | None,
        record: PreferenceRecord,
        number: int,
        *,
        is_last: bool,
    ) -> Preference:
        preference_id = current.id if current else imported_id(tx.box, "prf", parse("prf", record.id))
        entry = _entry(preference_id)
        evidence = await imported_evidence(tx, self._evidence, evidence_of(record.evidence))
        is_deletion = State(record.state) is State.DELETED
        content = Content(
            # What was erased is erased here when the deletion comes that it was erased by.
            State.DELETED if is_deletion else State.KEPT,
            record.value if State(record.state) is State.KEPT else None,
            _trust(record, taking),
            Origin(record.source) if taking.keeps_trust and record.source in _ORIGINS else _origin(record),
            record.confidence,
            evidence,
            record.reason,
        )
        through = record.written_through if taking.keeps_trust else taking.agent
        made = Made(Actor.USER, through, record.written_at, record.created_at)
        # Former values needn't be of the enumeration that the tenant has now: they are sealed.
        plain_key = (await catalogue_rules(tx, [record.key])).plain_key(record.key) if is_last else None
        if current is None:
            written = await store.create(
                tx, preference_id, record.key, record.agent_id, content, number, entry, plain_key=plain_key, made=made
            )
        else:
            base = current.version.number
            written = await store.replace(
                tx, preference_id, base, content, number, entry, plain_key=plain_key, made=made
            )
            if await store.identified(tx, preference_id, base):
                tx.enqueue(superseded_by(number, record.agent_id))
        if written is None:
            raise RuntimeError("a preference changed while its user's changes were held")
        if is_deletion:
            await store.erase_values(tx, preference_id, record.version, entry)
        return written


class CandidateImport:
    """Takes candidates that wait. Of one that was decided the stub says nothing to anybody else's agents."""

    file: str = CANDIDATES
    record: type = CandidateRecord
    permission: str = "preferences:write"

    def __init__(self, evidence: EvidenceCheck[Transaction]) -> None:
        """Take what knows which evidence there is."""
        self._evidence = evidence

    def item(self, record: CandidateRecord) -> str:
        """Return the id of the candidate."""
        return record.id

    async def take(self, tx: Transaction, taking: Taking, records: Sequence[CandidateRecord]) -> Sequence[Outcome]:
        """Let them wait here."""
        await tx.hold_changes()
        return [await self._take(tx, taking, record) for record in records]

    async def committed(self, scope: Scope) -> None:
        """Do nothing: no copies have candidates."""

    async def _take(self, tx: Transaction, taking: Taking, record: CandidateRecord) -> Outcome:
        if Fate(record.state) is not Fate.WAITING:
            return Outcome.refused("decided")
        if not _is_own(taking, record.agent_id):
            return Outcome.refused("other_agent")
        if not tx.processing.infer:
            return Outcome.refused("processing_stopped")
        evidence = [
            found
            for each in record.evidence
            if (found := await imported_evidence(tx, self._evidence, evidence_of(each))) is not None
        ]
        proposal = Proposal(
            record.key,
            record.value,
            record.confidence,
            record.agent_id,
            evidence[-1] if evidence else None,
            record.reason,
        )
        try:
            (await catalogue_rules(tx, [record.key])).require_inferable(record.key, record.value)
        except AppError as error:
            return Outcome.refused(error.code)
        source = parse("cnd", record.id)
        candidate_id = imported_id(tx.box, "cnd", source)
        is_here = [await candidate_store.find(tx, each) for each in (candidate_id, source)]
        if any(is_here) or await candidate_store.find_waiting(tx, proposal) is not None:
            return UNCHANGED
        if await candidate_store.count_waiting(tx) >= MAX_CANDIDATES:
            return Outcome.refused("quota_exceeded")
        because = Because(record.because) if record.because in _BECAUSE else Because.IMPORTED
        entry = AuditEntry("import", "preference_candidate", candidate_id)
        through = record.proposed_through if taking.keeps_trust else taking.agent
        made = Made(Actor.USER, through, record.updated_at, record.created_at)
        await candidate_store.create(tx, candidate_id, proposal, because, entry, evidence[:-1], made)
        return TAKEN


async def _refusal(tx: Transaction, taking: Taking, new: Sequence[PreferenceRecord], base: int) -> Outcome | None:
    """Return why versions can't be written after version `base`; None where they can."""
    last = new[-1]
    if not follow([(each.version, each.state) for each in new], base):
        return Outcome.refused("out_of_order")
    if any((each.key, each.agent_id) != (last.key, last.agent_id) for each in new):
        return Outcome.refused("invalid")
    if not _is_own(taking, last.agent_id):
        return Outcome.refused("other_agent")
    rules = await catalogue_rules(tx, [last.key])
    trust = _trust(last, taking)
    if trust is Trust.INFERRED and not tx.processing.infer:
        return Outcome.refused("processing_stopped")
    try:
        if not base:
            await require_room(tx, 1)
        if State(last.state) is State.KEPT and trust is Trust.INFERRED:
            rules.require_inferable(last.key, last.value)
        elif State(last.state) is State.KEPT:
            rules.require_said(last.key, last.value)
    except AppError as error:
        return Outcome.refused(error.code)
    if State(last.state) is State.KEPT and rules.is_commitment(last.key) and trust is not Trust.EXPLICIT:
        return Outcome.refused("commitment")
    return None


def _entry(preference_id: UUID) -> AuditEntry:
    return AuditEntry("import", "preference", preference_id)


async def _compared(tx: Transaction, current: Preference | None, record: PreferenceRecord) -> Outcome:
    there = await store.find_version(tx, current.id, record.version) if current else None
    return UNCHANGED if there is not None and _says(there, record) else Outcome.conflict("differs")


def _says(there: Version, record: PreferenceRecord) -> bool:
    content = there.content
    return content.state == record.state and canonical(content.value) == canonical(record.value)


def _trust(record: PreferenceRecord, taking: Taking) -> Trust:
    trust = Trust(record.trust)
    if trust is Trust.INFERRED or (trust is Trust.EXPLICIT and taking.keeps_trust):
        return trust
    return Trust.IMPORTED


def _origin(record: PreferenceRecord) -> Origin:
    return Origin.DELETION if State(record.state) is State.DELETED else Origin.IMPORT


def _is_own(taking: Taking, agent: str | None) -> bool:
    """Say whether a value for an agent is the caller's to write: anybody's, where the token names none."""
    return taking.agent is None or agent in {None, taking.agent}
