"""Which of what waits for the user's word came of a message: fields of the profile and facts."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from app.core.ids import show
from app.core.updates import Update
from app.core.writing import Accepting, Trust, Waits
from app.infra.db.transaction import Transaction
from app.writer import candidate_store


class InferredUpdates:
    """Tells which candidates messages speak for. An Updating of app.core.updates."""

    def __init__(self, accepting: dict[Waits, Accepting[Transaction]]) -> None:
        """Take the kinds of memory that what waits would change."""
        self._accepting = accepting

    async def updates(self, tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Update]:
        """Return the candidates that these messages speak for and that still wait, oldest first."""
        asked = set(message_ids)
        found: list[Update] = []
        for each in await candidate_store.waiting(tx):
            spoken = [evidence.id for evidence in each.evidence if evidence.id in asked]
            if spoken:
                base = await self._accepting[each.waits].version(tx)
                version = replace(each, base_version=base).version
                found += [Update("candidate", show("cnd", each.id), version, Trust.INFERRED, one) for one in spoken]
        return found
