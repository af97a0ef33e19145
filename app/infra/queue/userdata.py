"""How the jobs that a user's data owes are forgotten."""

from sqlalchemy import func, select

from app.core.audit import AuditEntry
from app.core.memory import Retention
from app.core.scope import Scope
from app.infra.db.transaction import Database


class JobsData:
    """The user's waiting and parked jobs: ids, never content. Those that run end by themselves: their writes are
    refused.
    """

    name = "jobs"
    store = "postgres"
    tables: tuple[str, ...] = ()
    retained: Retention | None = None

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def erase(self, scope: Scope) -> None:
        """Remove them."""
        async with self._db.erase(scope) as tx:
            await tx.change(select(func.discard_jobs()), AuditEntry("erase", self.name))

    async def count(self, scope: Scope) -> int:
        """Return how many there are."""
        async with self._db.erase(scope) as tx:
            count: int = await tx.scalar(select(func.count_jobs()))
            return count
