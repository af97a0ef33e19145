"""Candidates: what was inferred and waits for the user, who accepts or rejects it."""

from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.moments import NOW
from app.core.scope import Scope
from app.core.versions import Precondition
from app.infra.db.snapshots import look
from app.infra.db.transaction import Database, Transaction
from app.preferences import candidate_store, refusal_store, store
from app.preferences.catalogue.store import rules as catalogue_rules
from app.preferences.judgement import Candidate, Fate, Waiting, require_waiting
from app.preferences.model import Written
from app.preferences.writing import Change, apply, require_room


class Candidates:
    """What waits for users to decide."""

    def __init__(self, db: Database) -> None:
        """Take the doors to the database."""
        self._db = db

    async def waiting(self, scope: Scope, before: UUID | None, limit: int) -> Waiting:
        """Return what waits, for every agent and for the caller's own, newest first."""
        async with self._db.read(scope) as tx:
            found = await candidate_store.page(tx, before, limit + 1)
            tx.saw(AuditEntry("list", "preference_candidate"))
            return Waiting(found[:limit], await look(tx, NOW), more=len(found) > limit)

    async def read(self, scope: Scope, candidate_id: UUID) -> Candidate:
        """Return a candidate; of a decided one, what became of it. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            candidate = await _found(tx, candidate_id)
            tx.saw(AuditEntry("read", "preference_candidate", candidate_id))
            return candidate

    async def accept(
        self,
        scope: Scope,
        candidate_id: UUID,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Written:
        """Make a candidate the user's own word.

        Raises `not_found`, `stale_version`, `conflict` for a decided one; and for a value that the catalogue doesn't
        allow by now, as a write does.
        """
        async with self._db.remember(scope, attempt) as tx:
            await tx.hold_changes()
            candidate = await _found(tx, candidate_id)
            require_waiting(candidate, precondition)
            rules = await catalogue_rules(tx, [candidate.key])
            rules.require_said(candidate.key, candidate.value)
            current = await store.find(tx, candidate.key, candidate.agent)
            base = current.version.number if current else None
            change = Change(
                current.id if current else uuid7(),
                candidate.key,
                base,
                candidate.accepted(),
                rules.plain_key(candidate.key),
            )
            entry = AuditEntry("accept", "preference", change.id)
            number = await tx.next_change(entry)
            await _settle(tx, candidate, Fate.ACCEPTED, "accept")
            await require_room(tx, int(base is None))
            preference = await apply(tx, change, candidate.agent, number, entry)
            if preference is None:
                raise RuntimeError("a preference changed while its user's changes were held")
            written = Written(preference, created=current is None or current.is_deleted)
            await tx.answer(written, change.id)
        return written

    async def reject(
        self,
        scope: Scope,
        candidate_id: UUID,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Candidate:
        """Say no to a candidate, on everything that speaks for it by now; return its stub. Raises as `accept`."""
        async with self._db.retract(scope, attempt) as tx:
            await tx.hold_changes()
            candidate = await _found(tx, candidate_id)
            require_waiting(candidate, precondition)
            entry = AuditEntry("reject", "preference_candidate", candidate_id)
            await refusal_store.reject(tx, candidate.key, candidate.agent, candidate.value, entry)
            await _settle(tx, candidate, Fate.REJECTED, "reject")
            stub = await _found(tx, candidate_id)
            await tx.answer(stub, candidate_id)
        return stub


async def _settle(tx: Transaction, candidate: Candidate, fate: Fate, verb: str) -> None:
    """Take out what was inferred, of the candidate and of the answers that showed it."""
    entry = AuditEntry(verb, "preference_candidate", candidate.id)
    await candidate_store.decide(tx, candidate.id, fate, entry)
    await tx.forget_answers(candidate.id, entry)


async def _found(tx: Transaction, candidate_id: UUID) -> Candidate:
    candidate = await candidate_store.find(tx, candidate_id)
    if candidate is None:
        raise AppError("not_found")
    return candidate
