"""Which versions of the profile came of a message."""

from collections.abc import Sequence
from uuid import UUID

from app.core.ids import show
from app.core.updates import Update
from app.infra.db.transaction import Transaction
from app.profile import store

# Whatever stands in a profile was said: nothing is inferred into it.
TRUST = "explicit"


class ProfileUpdates:
    """Tells what messages have changed of the profile. An Updating of app.core.updates."""

    async def updates(self, tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Update]:
        """Return the versions that came of these messages, oldest first."""
        profile = show("usr", tx.scope.usr)
        rows = await store.versions_from(tx, message_ids)
        return [Update("profile", profile, row.version, TRUST, row.evidence_id) for row in rows]
