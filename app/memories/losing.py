"""What was inferred from a message goes with it: facts that nobody said and that it alone shows."""

from collections.abc import Collection

from app.core.audit import AuditEntry
from app.core.evidence import Evidence, EvidenceKind
from app.infra.db.transaction import Transaction
from app.memories import store
from app.memories.expiring import end
from app.memories.indexing import MemoryIndex
from app.memories.model import DELETION


class InferredFacts:
    """Facts that rest on messages. A Resting of app.core.evidence."""

    def __init__(self, index: MemoryIndex) -> None:
        """Take the index of facts."""
        self._index = index

    async def lose(self, tx: Transaction, evidence: Collection[Evidence]) -> None:
        """Delete the facts that were inferred from these."""
        messages = [each.id for each in evidence if each.kind is EvidenceKind.MESSAGE]
        for memory in await store.inferred_from(tx, messages):
            entry = AuditEntry("withdraw", "memory", memory.id)
            await end(tx, self._index, memory, DELETION, await tx.next_change(entry), entry)
