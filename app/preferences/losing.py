"""What was inferred from a message goes with it: what waits, and what is in force and nothing else speaks for."""

from collections.abc import Collection
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.evidence import Evidence, EvidenceKind
from app.infra.db.transaction import Transaction
from app.preferences import candidate_store, losing_store
from app.preferences.judgement import Fate
from app.preferences.model import DELETION, Preference
from app.preferences.writing import Change, apply


class InferredPreferences:
    """Preferences and candidates that rest on messages. A Resting of app.core.evidence."""

    async def lose(self, tx: Transaction, evidence: Collection[Evidence]) -> None:
        """Withdraw what rested on these alone. A value in force ends with a version, and may be inferred again."""
        await _lose_candidates(tx, {(each.kind.value, each.id.hex) for each in evidence})
        forgotten = await losing_store.forget(tx, evidence, AuditEntry("withdraw", "preference"))
        messages = [each.id for each in evidence if each.kind is EvidenceKind.MESSAGE]
        spoken_for = {(row.key_tag, row.agent) for row in forgotten}
        for preference in await losing_store.inferred(tx, messages, spoken_for):
            if not await losing_store.is_spoken_for(tx, preference):
                await _end(tx, preference, messages)


async def _lose_candidates(tx: Transaction, gone: Collection[tuple[str, str]]) -> None:
    for row in await losing_store.waiting(tx):
        left = [each for each in row.evidence if (each["kind"], each["id"]) not in gone]
        if len(left) == len(row.evidence):
            continue
        entry = AuditEntry("withdraw", "preference_candidate", row.id)
        if left:
            await losing_store.argue(tx, row, left, entry)
        else:
            await candidate_store.decide(tx, row.id, Fate.WITHDRAWN, entry)
        await tx.forget_answers(row.id, entry)


async def _end(tx: Transaction, preference: Preference, messages: Collection[UUID]) -> None:
    entry = AuditEntry("withdraw", "preference", preference.id)
    number = await tx.next_change(entry)
    change = Change(preference.id, preference.key, preference.version.number, DELETION)
    if await apply(tx, change, preference.agent, number, entry) is None:
        raise RuntimeError("a preference changed while its user's changes were held")
    shown = preference.version.content.evidence
    await losing_store.erase_inferred(tx, preference.id, {*messages, *([shown.id] if shown else [])}, entry)
    await tx.forget_answers(preference.id, entry)
