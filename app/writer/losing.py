"""What waits and was inferred from a message goes with it."""

from collections.abc import Collection

from app.core.audit import AuditEntry
from app.core.evidence import Evidence
from app.infra.db.transaction import Transaction
from app.writer import candidate_store, refusal_store
from app.writer.candidate_model import State
from app.writer.candidates import WHAT, settle


class InferredWaiting:
    """Candidates that rest on messages. A Resting of app.core.evidence."""

    async def lose(self, tx: Transaction, evidence: Collection[Evidence]) -> None:
        """Withdraw those that rest on these alone; the others have less that speaks for them."""
        gone = set(evidence)
        await refusal_store.forget(tx, gone, AuditEntry("withdraw", WHAT))
        for candidate in await candidate_store.waiting(tx):
            left = [each for each in candidate.evidence if each not in gone]
            if len(left) == len(candidate.evidence):
                continue
            if not left:
                await settle(tx, candidate.id, State.WITHDRAWN, "withdraw")
                continue
            entry = AuditEntry("withdraw", WHAT, candidate.id)
            await candidate_store.argue(tx, candidate, left, candidate.confidence, entry)
            await tx.forget_answers(candidate.id, entry)
