"""The texts of documents, passage by passage. A Holder of app.core.superseding."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from app.core.ids import show
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.knowledge import chunk_store

PAGE: Final = 200


class PassageTexts:
    """Goes through what is searched of a user's documents."""

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def page(self, scope: Scope, after: UUID | None) -> Sequence[tuple[UUID, str, str]]:
        """Return the next passages after a place: their places, the ids of their documents, their texts."""
        async with self._db.read(scope) as tx:
            found = await chunk_store.texts(tx, after, PAGE)
        return [(chunk_id, show("doc", document_id), text) for chunk_id, document_id, text in found]
