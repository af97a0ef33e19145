"""Collections in the vector store that belong to nobody here: of users who are gone, or of another database."""

from collections.abc import Sequence

from app.core.errors import AppError
from app.core.scope import Actor, Scope
from app.infra.chroma.client import ChromaClient
from app.infra.chroma.index import user_of
from app.infra.db.transaction import Database
from app.knowledge import chunk_store
from app.knowledge.index_watch import GONE, index_owners


class Orphans:
    """Finds them, and drops them where an operator says so: who knows that no other installation uses this Chroma."""

    def __init__(self, db: Database, client: ChromaClient) -> None:
        """Take the doors and the vector store."""
        self._db = db
        self._client = client

    async def find(self) -> Sequence[str]:
        """Return the names of those that are there and that nobody has written down. Raises `store_unavailable`.

        A name is written down before its collection is made, and struck off after that was dropped. So what is there
        is asked first, and once more in the end. Whom an erasure is at work on is left to it.
        """
        there = [name for name in await self._client.names() if user_of(name) is not None]
        known, erasing = set[str](), set()
        async for tenant, usr in index_owners(self._db):
            try:
                async with self._db.read(Scope(tenant, usr, None, Actor.OPERATOR)) as tx:
                    known.update(await chunk_store.collections(tx))
            except AppError as error:
                if error.code not in GONE:
                    raise
                erasing.add(usr)
        found = {name for name in there if name not in known and user_of(name) not in erasing}
        return sorted(found & set(await self._client.names())) if found else []

    async def drop(self, names: Sequence[str]) -> int:
        """Drop collections; return how many there were."""
        return sum([await self._client.drop(name) for name in names])
