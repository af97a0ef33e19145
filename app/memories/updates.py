"""Which facts came of a message."""

from collections.abc import Sequence
from uuid import UUID

from app.core.ids import show
from app.core.updates import Update
from app.infra.db.transaction import Transaction
from app.memories import store


class MemoryUpdates:
    """Tells what messages have changed among facts. An Updating of app.core.updates."""

    async def updates(self, tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Update]:
        """Return the versions that came of these messages, oldest first."""
        return [
            Update("memory", show("mem", row.memory_id), row.version, row.trust, row.evidence_id)
            for row in await store.versions_from(tx, message_ids)
        ]
