"""What a deletion means for inferences: what waits for the key is withdrawn, and what spoke for it is remembered."""

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction
from app.preferences import candidate_store, refusal_store, store
from app.preferences.model import Preference


async def retract(tx: Transaction, stub: Preference, entry: AuditEntry) -> None:
    """Keep what the user has deleted from being inferred again from what it was inferred from."""
    rested_on = await store.evidence_of(tx, stub.id)
    await refusal_store.retract(tx, stub.key, stub.agent, rested_on, entry)
    for candidate_id in await candidate_store.withdraw(tx, stub.key, stub.agent, entry):
        await tx.forget_answers(candidate_id, AuditEntry("withdraw", "preference_candidate", candidate_id))
