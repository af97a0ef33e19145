"""What users choose to have done with what they say."""

import asyncio

from app.core.audit import AuditEntry
from app.core.idempotency import Attempt, Replayed
from app.core.processing import Processing
from app.core.scope import Scope
from app.core.versions import Precondition, expected
from app.infra.db.transaction import Database
from app.infra.served.permits import PERMIT_S
from app.rights import store
from app.rights.model import Choices

# What the clocks of two processes may differ by in so short a time.
MARGIN_S = 0.1


class Rights:
    """Reads and changes what a user lets be done."""

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def read(self, scope: Scope) -> Choices:
        """Return the user's choices."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("read", "processing"))
            return await store.choices(tx)

    async def choose(
        self, scope: Scope, processing: Processing, precondition: Precondition, attempt: Attempt | None
    ) -> Choices:
        """Replace the user's choices. When this returns they hold everywhere. Raises `stale_version`.

        Whoever writes, holds the row or reads it again: nothing of before is committed later. What was permitted to be
        sent to a model outside is sent within PERMIT_S, or not at all: that is waited for, also by who asks again.
        """
        try:
            async with self._db.choose(scope, attempt) as tx:
                current = await store.choices(tx)
                expected(precondition, current.version)
                # Said again it stays as it is: no new version of the same.
                chosen = current
                if processing != current.processing:
                    chosen = await store.choose(tx, processing, AuditEntry(_verb(processing), "processing"))
                await tx.answer(chosen)
        except Replayed:
            await self._settle(processing)
            raise
        await self._settle(processing)
        return chosen

    async def _settle(self, processing: Processing) -> None:
        if not processing.external_models:
            await asyncio.sleep(PERMIT_S + MARGIN_S)


def _verb(processing: Processing) -> str:
    return "release" if processing == Processing() else "restrict"
