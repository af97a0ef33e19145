"""Documents as evidence of what is remembered."""

from collections.abc import Collection
from uuid import UUID

from app.core.evidence import EvidenceKind
from app.infra.db.transaction import Transaction
from app.knowledge import store


class DocumentEvidence:
    """Says which documents there are. A Holder of app.core.evidence."""

    kind = EvidenceKind.DOCUMENT

    async def holds(self, tx: Transaction, ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of the ids that are documents of the user's."""
        return await store.existing(tx, ids)
