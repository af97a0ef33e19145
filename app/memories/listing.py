"""Facts in the one list of everything remembered."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from app.core.ids import show
from app.core.remembered import Remembered, RememberedKind
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.memories import store
from app.memories.model import Memory


class MemoryListing:
    """Lists the facts that hold now. A Listing of app.core.remembered."""

    kind = RememberedKind.MEMORY
    permission = "memories:read"

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def page(self, scope: Scope, before: UUID | None, limit: int) -> Sequence[Remembered]:
        """Return the facts that hold, the newest first."""
        async with self._db.read(scope) as tx:
            return [_item(memory) for memory in await store.page(tx, before, limit, datetime.now(UTC))]


def _item(memory: Memory) -> Remembered:
    content = memory.version.content
    shown = show("mem", memory.id)
    return Remembered(
        kind=RememberedKind.MEMORY,
        place=memory.id,
        id=shown,
        text=content.text or "",
        source=content.source,
        trust=content.trust,
        created_at=memory.created_at,
        href=f"/v1/memories/{shown}",
        evidence=content.evidence,
        expires_at=content.expires_at,
    )
