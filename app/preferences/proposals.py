"""Proposals: what agents infer. Each is judged while nobody else can change the user's memory: no statement is lost."""

from collections.abc import Sequence

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import EvidenceCheck
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.processing import stopped
from app.core.scope import Scope
from app.infra.db.transaction import Database, Transaction
from app.preferences import candidate_store, refusal_store, store
from app.preferences.catalogue.model import Rules
from app.preferences.catalogue.store import rules as catalogue_rules
from app.preferences.judgement import APPLIED, MAX_CANDIDATES, Because, Candidate, Outcome, Proposal, judge, standing
from app.preferences.model import Preference
from app.preferences.writing import Change, apply, require_own, require_room


class Proposals:
    """What agents infer about users."""

    def __init__(self, db: Database, evidence: EvidenceCheck[Transaction]) -> None:
        """Take the doors to the database, and what knows which evidence there is."""
        self._db = db
        self._evidence = evidence

    async def propose(self, scope: Scope, proposal: Proposal, attempt: Attempt | None) -> Outcome:
        """Apply what an agent has inferred, or let it wait for the user; say which, and why.

        Raises `invalid` for evidence that isn't there or a value that the catalogue doesn't allow, `sensitive_category`
        for what is never inferred, `already_rejected` where the user said no to it, and `quota_exceeded`.
        """
        require_own(scope, proposal.agent)
        async with self._db.remember(scope, attempt) as tx:
            if not tx.processing.infer:
                raise stopped("infer")
            await tx.hold_changes()  # first: whoever deletes the evidence waits, and withdraws what rests on it
            await self._evidence.require(tx, {"evidence": proposal.evidence})
            outcome = await weigh(tx, proposal)
            shown = [each.id for each in (outcome.preference, outcome.candidate) if each is not None]
            await tx.answer(outcome, *shown)
        return outcome


async def weigh(tx: Transaction, proposal: Proposal) -> Outcome:
    """Apply what was inferred, or let it wait, in the caller's transaction. Raises as `Proposals.propose`."""
    rules = await catalogue_rules(tx, [proposal.key])
    rules.require_inferable(proposal.key, proposal.value)
    await tx.hold_changes()
    met = await store.find_met(tx, proposal.key, proposal.agent)
    remembered = await refusal_store.remembered(tx, proposal)
    because = judge(proposal, met, remembered, commitment=rules.is_commitment(proposal.key))
    await refusal_store.note(tx, proposal, AuditEntry("propose", "preference"))
    return await _carry_out(tx, proposal, because, met, rules)


async def _carry_out(
    tx: Transaction,
    proposal: Proposal,
    because: Because,
    met: Sequence[Preference],
    rules: Rules,
) -> Outcome:
    if because is Because.IN_FORCE:
        now = standing(met)
        tx.saw(AuditEntry("read", "preference", now.id if now else None))
        return Outcome(proposal, because, now)
    if because in APPLIED:
        return Outcome(proposal, because, await _apply(tx, proposal, met, rules))
    return Outcome(proposal, because, standing(met), await _let_wait(tx, proposal, because))


async def _apply(tx: Transaction, proposal: Proposal, met: Sequence[Preference], rules: Rules) -> Preference:
    replaced = next((each for each in met if each.agent == proposal.agent), None)
    base = replaced.version.number if replaced else None
    change = Change(
        replaced.id if replaced else uuid7(), proposal.key, base, proposal.content(), rules.plain_key(proposal.key)
    )
    entry = AuditEntry("infer", "preference", change.id)
    number = await tx.next_change(entry)
    await require_room(tx, int(base is None))
    written = await apply(tx, change, proposal.agent, number, entry)
    if written is None:
        raise RuntimeError("a preference changed while its user's changes were held")
    return written


async def _let_wait(tx: Transaction, proposal: Proposal, because: Because) -> Candidate:
    waiting = await candidate_store.find_waiting(tx, proposal)
    candidate_id = waiting.id if waiting else uuid7()
    entry = AuditEntry("propose", "preference_candidate", candidate_id)
    if waiting is not None:
        await candidate_store.strengthen(tx, waiting, proposal, because, entry)
    else:
        if await candidate_store.count_waiting(tx) >= MAX_CANDIDATES:
            raise AppError("quota_exceeded", f"at most {MAX_CANDIDATES} candidates wait")
        await candidate_store.create(tx, candidate_id, proposal, because, entry)
    candidate = await candidate_store.find(tx, candidate_id)
    if candidate is None:
        raise RuntimeError("a candidate that was just written isn't there")
    return candidate
