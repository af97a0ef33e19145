"""What was inferred of a user's profile and facts and waits, in the one list of everything remembered."""

import json
from collections.abc import Sequence
from uuid import UUID

from app.core.ids import show
from app.core.remembered import Remembered, RememberedKind
from app.core.scope import Scope
from app.core.writing import Trust, Waits
from app.infra.db.transaction import Database
from app.writer import candidate_store
from app.writer.candidate_model import Candidate

PERMISSIONS = {Waits.PROFILE: "profile:read", Waits.MEMORY: "memories:read"}


class InferredListing:
    """Lists the candidates that wait for one kind of memory. A Listing of app.core.remembered."""

    kind = RememberedKind.CANDIDATE

    def __init__(self, db: Database, waits: Waits) -> None:
        """Take the doors, and the kind of memory."""
        self._db = db
        self._waits = waits
        self.permission = PERMISSIONS[waits]

    async def page(self, scope: Scope, before: UUID | None, limit: int) -> Sequence[Remembered]:
        """Return them, the newest first."""
        async with self._db.read(scope) as tx:
            return [_item(each) for each in await candidate_store.page(tx, self._waits, before, limit)]


def _item(candidate: Candidate) -> Remembered:
    shown = show("cnd", candidate.id)
    said = str(candidate.value)
    if candidate.key is not None:
        said = f"{candidate.key}: {json.dumps(candidate.value, ensure_ascii=False)}"
    return Remembered(
        kind=RememberedKind.CANDIDATE,
        place=candidate.id,
        id=shown,
        text=said,
        source="proposal",
        trust=Trust.INFERRED,
        created_at=candidate.created_at,
        href=f"/v1/{candidate.waits}-candidates/{shown}",
        evidence=candidate.evidence[-1] if candidate.evidence else None,
    )
