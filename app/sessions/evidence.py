"""Messages as evidence of what is remembered."""

from collections.abc import Collection
from uuid import UUID

from app.core.evidence import EvidenceKind
from app.infra.db.transaction import Transaction
from app.sessions import store


class MessageEvidence:
    """Says which messages there are. A Holder of app.core.evidence."""

    kind = EvidenceKind.MESSAGE

    async def holds(self, tx: Transaction, ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of the ids that are messages of the user's."""
        return await store.existing_messages(tx, ids)
