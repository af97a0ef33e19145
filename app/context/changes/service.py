"""The part of the memory log that tells what changes of user memory have marked."""

from app.context.changes import store
from app.context.changes.model import MarkPage
from app.core.audit import AuditEntry
from app.core.scope import Scope
from app.infra.db.snapshots import show_snapshot
from app.infra.db.transaction import Database


class MarkLog:
    """Reads what the event of a change has noted (`app/context/changes/noting.py`)."""

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def page(self, scope: Scope, after: tuple[int, str, str, str] | None, limit: int) -> MarkPage:
        """Return marks, those of the last change first, each with the snapshot that its change made."""
        async with self._db.read(scope) as tx:
            found = await store.page(tx, after, limit + 1)
            tx.saw(AuditEntry("list", "memory_log"))
            items = [(mark, show_snapshot(tx.box, mark.change_number)) for mark in found[:limit]]
        return MarkPage(items, len(found) > limit)
