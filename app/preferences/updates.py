"""Which preferences came of a message: those that are written, and those that wait for the user's word."""

from collections.abc import Sequence
from uuid import UUID

from app.core.ids import show
from app.core.updates import Update
from app.infra.db.transaction import Transaction
from app.preferences import candidate_store, store
from app.preferences.judgement import Candidate
from app.preferences.model import Trust


class PreferenceUpdates:
    """Tells what messages have changed among preferences and candidates. An Updating of app.core.updates."""

    async def updates(self, tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Update]:
        """Return the versions that came of these messages, then the candidates that they speak for."""
        written = [
            Update("preference", show("prf", row.preference_id), row.version, row.trust, row.evidence_id)
            for row in await store.versions_from(tx, message_ids)
        ]
        waiting = await candidate_store.waiting_from(tx, message_ids)
        return written + [update for candidate in waiting for update in _of(candidate, message_ids)]


def _of(candidate: Candidate, message_ids: Sequence[UUID]) -> list[Update]:
    shown = show("cnd", candidate.id)
    messages = [evidence.id for evidence in candidate.evidence if evidence.id in message_ids]
    return [Update("candidate", shown, candidate.version, Trust.INFERRED, message) for message in messages]
