"""What preferences give to a prompt: one line for each that is in force, as constraints."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row

from app.core.assembly import Reason
from app.core.ids import show
from app.core.memory import Candidate, Question, Tier
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.preferences import store
from app.preferences.model import MAX_PREFERENCES, Preference, State, Trust

KIND = "preferences"
# So many that don't hold here are told.
MAX_LEFT_OUT = 20

# How the context says it is known.
_SAID = {Trust.EXPLICIT: "stated", Trust.OPERATOR: "stated", Trust.IMPORTED: "imported", Trust.INFERRED: "inferred"}


class PreferenceSource:
    """Gives the preferences that are in force for the caller's agent. A Source of app.core.memory."""

    kinds = frozenset({KIND})

    def __init__(self, db: Database) -> None:
        """Take the doors to the database."""
        self._db = db

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return all of them, by key. One that was erased since the snapshot has no words left, and says so.

        Then those that don't hold here, without their words: what is another agent's, or has one that goes before it.
        """
        if not self.kinds & question.include:
            return []
        async with self._db.read(scope) as tx:
            if question.snapshot is None:
                found = await store.in_force(tx, scope.agent, None, MAX_PREFERENCES)
            else:
                found = await store.in_force_at(tx, question.snapshot, scope.agent, None, MAX_PREFERENCES)
            number = await tx.change_number() if question.snapshot is None else question.snapshot
            kept = await store.kept_at(tx, number, MAX_PREFERENCES)
        by_key = sorted(found, key=lambda preference: preference.key)
        chosen = {preference.id for preference in found}
        left = [_left_out(scope, row) for row in kept if row.id not in chosen]
        return [_candidate(preference, order) for order, preference in enumerate(by_key)] + left[:MAX_LEFT_OUT]


def _left_out(scope: Scope, row: Row[Any]) -> Candidate:
    is_own = row.agent in {"", scope.agent or ""}
    return Candidate(
        kind=KIND,
        id=show("prf", row.id),
        version=row.version,
        text="",
        tier=Tier.CONSTRAINTS,
        origin="stated",
        ignored=Reason.SUPERSEDED if is_own else Reason.WRONG_AGENT,
    )


def _candidate(preference: Preference, order: int) -> Candidate:
    version = preference.version
    is_erased = version.content.state is State.ERASED
    value = json.dumps(version.content.value, ensure_ascii=False)
    return Candidate(
        kind=KIND,
        id=show("prf", preference.id),
        version=version.number,
        text="" if is_erased else f"{preference.key}: {value}",
        tier=Tier.CONSTRAINTS,
        origin=_SAID[version.content.trust],
        created_at=version.written_at,
        order=order,
        ignored=Reason.ERASED if is_erased else None,
    )
