"""How the rows of a user are erased and counted: by owner, table after table."""

from sqlalchemy import Table, delete, func, select

from app.core.audit import AuditEntry
from app.core.memory import Retention
from app.core.scope import Scope
from app.infra.db.transaction import Database


class OwnedRows:
    """A kind of a user's data that is rows of Postgres and nothing else. A UserData of app.core.memory."""

    store = "postgres"

    def __init__(self, db: Database, name: str, tables: tuple[Table, ...], retained: Retention | None = None) -> None:
        """Take the doors, the kind's name and its tables, children first. `retained` says why rows stay, where they
        do.
        """
        self._db = db
        self._tables = tables
        self.name = name
        self.tables = tuple(table.name for table in tables)
        self.retained = retained

    async def erase(self, scope: Scope) -> None:
        """Remove the user's rows. May run twice. What is retained stays."""
        if self.retained is not None:
            return
        async with self._db.erase(scope) as tx:
            for table in self._tables:
                await tx.change(delete(table).where(table.c.usr == scope.usr), AuditEntry("erase", self.name))

    async def count(self, scope: Scope) -> int:
        """Return how many rows of the user there are."""
        total = 0
        async with self._db.erase(scope) as tx:
            for table in self._tables:
                total += await tx.scalar(select(func.count()).select_from(table).where(table.c.usr == scope.usr))
        return total
