"""What was inferred and waits, in the one list of everything remembered."""

import json
from collections.abc import Sequence
from uuid import UUID

from app.core.ids import show
from app.core.remembered import Remembered, RememberedKind
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.preferences import candidate_store
from app.preferences.judgement import Candidate
from app.preferences.model import Origin, Trust


class CandidateListing:
    """Lists the candidates that wait, for every agent and for the caller's own. A Listing of app.core.remembered."""

    kind = RememberedKind.CANDIDATE
    permission = "preferences:read"

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def page(self, scope: Scope, before: UUID | None, limit: int) -> Sequence[Remembered]:
        """Return them, the newest first."""
        async with self._db.read(scope) as tx:
            return [_item(candidate) for candidate in await candidate_store.page(tx, before, limit)]


def _item(candidate: Candidate) -> Remembered:
    shown = show("cnd", candidate.id)
    return Remembered(
        kind=RememberedKind.CANDIDATE,
        place=candidate.id,
        id=shown,
        text=f"{candidate.key}: {json.dumps(candidate.value, ensure_ascii=False)}",
        source=Origin.PROPOSAL,
        trust=Trust.INFERRED,
        created_at=candidate.created_at,
        href=f"/v1/preference-candidates/{shown}",
        evidence=candidate.evidence[-1] if candidate.evidence else None,
    )
