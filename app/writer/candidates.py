"""What was inferred of a user's profile and facts: it waits, and the user accepts or rejects it."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import EvidenceCheck
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.moments import NOW
from app.core.processing import stopped
from app.core.scope import Scope
from app.core.versions import Precondition
from app.core.writing import Accepting, Inferred, Waits
from app.infra.db.snapshots import look
from app.infra.db.transaction import Database, Transaction
from app.writer import candidate_store, refusal_store
from app.writer.candidate_model import MAX_CANDIDATES, Candidate, Decided, State, Waiting

WHAT = "candidate"


class Candidates:
    """What waits for users to decide, of each kind of memory that takes inferences on their word alone."""

    def __init__(
        self,
        db: Database,
        accepting: Mapping[Waits, Accepting[Transaction]],
        evidence: EvidenceCheck[Transaction],
    ) -> None:
        """Take the doors, the kinds of memory, and what knows which evidence there is."""
        self._db = db
        self._accepting = accepting
        self._evidence = evidence

    async def propose(self, scope: Scope, waits: Waits, inferred: Inferred, attempt: Attempt | None) -> Decided | None:
        """Let wait what an agent has inferred; None where it is in force already.

        Raises as `conclude`, `invalid` for evidence that isn't there, and `processing_stopped`.
        """
        async with self._db.remember(scope, attempt) as tx:
            if not tx.processing.infer:
                raise stopped("infer")
            await tx.hold_changes()  # first: whoever deletes the evidence waits, and withdraws what rests on it
            await self._evidence.require(tx, {"evidence": inferred.evidence})
            candidate = await self.conclude(tx, waits, inferred)
            outcome = Decided(await self._shown(tx, candidate.id, waits)) if candidate else None
            await tx.answer(outcome, *([candidate.id] if candidate else []))
        return outcome

    async def conclude(self, tx: Transaction, waits: Waits, inferred: Inferred) -> Candidate | None:
        """Let what was inferred wait, in the caller's transaction with the user's changes held; None where it is in
        force already. Raises `sensitive_category`, `already_rejected` on the same evidence, `quota_exceeded`.
        """
        if await self._accepting[waits].knows(tx, inferred):
            return None
        if await refusal_store.is_refused(tx, waits, inferred):
            raise AppError("already_rejected")
        known = await candidate_store.find_waiting(tx, waits, inferred)
        if known is not None and inferred.evidence in known.evidence and inferred.confidence <= known.confidence:
            return known
        candidate_id = known.id if known else uuid7()
        entry = AuditEntry("propose", WHAT, candidate_id)
        await refusal_store.note(tx, waits, inferred, entry)
        if known is not None:
            new = [inferred.evidence] if inferred.evidence and inferred.evidence not in known.evidence else []
            sure = max(known.confidence, inferred.confidence)
            await candidate_store.argue(tx, known, [*known.evidence, *new], sure, entry)
        else:
            if await candidate_store.count_waiting(tx, waits) >= MAX_CANDIDATES:
                raise AppError("quota_exceeded", f"at most {MAX_CANDIDATES} candidates wait")
            await candidate_store.create(tx, candidate_id, waits, inferred, entry)
        return await candidate_store.find(tx, candidate_id, waits)

    async def overtake(self, tx: Transaction, waits: Waits, said: Inferred, *, is_gone: bool) -> None:
        """End what waits and the user says by now; with `is_gone`, whatever waits for what they took back."""
        entry = AuditEntry("apply", WHAT)
        if is_gone and said.key is not None:
            ended = await candidate_store.withdraw(tx, waits, said.key, entry)
        else:
            ended = await candidate_store.fulfil(tx, waits, said.key, said.value, entry)
        for each in ended:
            await tx.forget_answers(each, AuditEntry("apply", WHAT, each))

    async def waiting(self, scope: Scope, waits: Waits, before: UUID | None, limit: int) -> Waiting:
        """Return what waits, newest first."""
        async with self._db.read(scope) as tx:
            found = await candidate_store.page(tx, waits, before, limit + 1)
            base = await self._accepting[waits].version(tx)
            tx.saw(AuditEntry("list", WHAT))
            items = [replace(each, base_version=base) for each in found[:limit]]
            return Waiting(items, await look(tx, NOW), more=len(found) > limit)

    async def read(self, scope: Scope, candidate_id: UUID, waits: Waits) -> Candidate:
        """Return a candidate; of a decided one, what became of it. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            candidate = await self._shown(tx, candidate_id, waits)
            tx.saw(AuditEntry("read", WHAT, candidate_id))
            return candidate

    async def accept(
        self,
        scope: Scope,
        candidate_id: UUID,
        waits: Waits,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Decided:
        """Make a candidate the user's own word.

        Raises `not_found`, `stale_version`, `conflict` for a decided one, and what a statement of the same raises.
        """
        async with self._db.remember(scope, attempt) as tx:
            await tx.hold_changes()
            candidate = await self._shown(tx, candidate_id, waits)
            candidate.require_waiting(precondition)
            became = await self._accepting[waits].accept(tx, candidate.inferred)
            await settle(tx, candidate_id, State.ACCEPTED, "accept")
            decided = Decided(await self._shown(tx, candidate_id, waits), became)
            await tx.answer(decided, candidate_id)
        return decided

    async def reject(
        self,
        scope: Scope,
        candidate_id: UUID,
        waits: Waits,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Decided:
        """Say no to a candidate, on everything that speaks for it by now; return its stub. Raises as `accept`."""
        async with self._db.retract(scope, attempt) as tx:
            await tx.hold_changes()
            candidate = await self._shown(tx, candidate_id, waits)
            candidate.require_waiting(precondition)
            await refusal_store.reject(tx, waits, candidate.inferred, AuditEntry("reject", WHAT, candidate_id))
            await settle(tx, candidate_id, State.REJECTED, "reject")
            decided = Decided(await self._shown(tx, candidate_id, waits))
            await tx.answer(decided, candidate_id)
        return decided

    async def _shown(self, tx: Transaction, candidate_id: UUID, waits: Waits) -> Candidate:
        candidate = await candidate_store.find(tx, candidate_id, waits)
        if candidate is None:
            raise AppError("not_found")
        return replace(candidate, base_version=await self._accepting[waits].version(tx))


async def settle(tx: Transaction, candidate_id: UUID, state: State, verb: str) -> None:
    """Take out what was inferred, of the candidate and of the answers that showed it."""
    entry = AuditEntry(verb, WHAT, candidate_id)
    await candidate_store.decide(tx, candidate_id, state, entry)
    await tx.forget_answers(candidate_id, entry)
