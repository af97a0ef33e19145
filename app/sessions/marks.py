"""What of a session's texts isn't current any more: a session is read from Redis, what has changed since beside it."""

from app.core.scope import Scope
from app.core.superseding import Outdated, Superseding
from app.infra.db.transaction import Database, Transaction


class Marks:
    """Knows the former values of a user's memory."""

    def __init__(self, db: Database, superseding: Superseding[Transaction]) -> None:
        """Take the doors, and what knows them."""
        self._db = db
        self._superseding = superseding

    async def outdated(self, scope: Scope) -> Outdated:
        """Return what was in force once and isn't now. Raises `store_unavailable`: else the old would look current."""
        async with self._db.read(scope) as tx:
            return await self._superseding.look(tx)
