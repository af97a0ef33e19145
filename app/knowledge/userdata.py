"""How knowledge is forgotten: the rows by OwnedRows, the collections in the vector store by a kind of its own."""

from collections.abc import Sequence

from sqlalchemy import delete, select

from app.core.audit import AuditEntry
from app.core.memory import Retention
from app.core.scope import Scope
from app.infra.chroma.client import BrokenCollectionError
from app.infra.chroma.index import ChromaIndex
from app.infra.db.rows import OwnedRows
from app.infra.db.transaction import Database
from app.knowledge.tables import (
    chunk_texts,
    chunks,
    document_parts,
    document_versions,
    documents,
    vector_changes,
    vector_collections,
)


def knowledge_rows(db: Database) -> OwnedRows:
    """Return the kind of a user's data that is documents, children first."""
    tables = (vector_changes, chunks, chunk_texts, document_parts, document_versions, documents)
    return OwnedRows(db, "knowledge", tables)


class CollectionData:
    """The user's collections in the vector store, of every model, and the names by which they are found."""

    name = "vectors"
    store = "chroma"
    tables: tuple[str, ...] = (vector_collections.name,)
    retained: Retention | None = None

    def __init__(self, db: Database, collections: Sequence[ChromaIndex]) -> None:
        """Take the doors and the vector store, by model."""
        self._db = db
        self._collections = collections
        self._chroma = collections[0]

    async def erase(self, scope: Scope) -> None:
        """Drop the collections, then their names."""
        for name in await self._names(scope):
            await self._chroma.drop(name)
        async with self._db.erase(scope) as tx:
            await tx.change(delete(vector_collections).filter_by(usr=scope.usr), AuditEntry("erase", self.name))

    async def count(self, scope: Scope) -> int:
        """Return how many vectors there are. A collection that can't be read counts as one."""
        return sum([await self._count_in(name) for name in await self._names(scope)])

    async def _count_in(self, name: str) -> int:
        try:
            return await self._chroma.count_in(name)
        except BrokenCollectionError:
            return 1

    async def _names(self, scope: Scope) -> set[str]:
        async with self._db.erase(scope) as tx:
            rows = await tx.rows(select(vector_collections.c.name).filter_by(usr=scope.usr))
        # The names that are made now are looked for even where nobody wrote them down.
        return {*(one.name(scope.usr) for one in self._collections), *(row.name for row in rows)}
