"""How the index is forgotten: its rows, and what this process holds of them."""

from app.core.scope import Scope
from app.infra.db.rows import OwnedRows
from app.infra.db.transaction import Database
from app.infra.segments.cache import IndexCache
from app.infra.segments.tables import segment_items, segments


class IndexData(OwnedRows):
    """The user's segments and newer items, of every kind. A UserData of app.core.memory."""

    def __init__(self, db: Database, cache: IndexCache) -> None:
        """Take the doors and the process's cache."""
        super().__init__(db, "index", (segment_items, segments))
        self._cache = cache

    async def erase(self, scope: Scope) -> None:
        """Remove the rows and drop what is in memory. Other processes hold terms and vectors, no text, until they
        evict.
        """
        await super().erase(scope)
        self._cache.forget(scope.usr)
