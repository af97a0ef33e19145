"""Documents in the one list of everything remembered."""

from collections.abc import Sequence
from uuid import UUID

from app.core.ids import show
from app.core.remembered import Remembered, RememberedKind
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.knowledge import store
from app.knowledge.model import Document


class DocumentListing:
    """Lists the documents by their titles. A Listing of app.core.remembered."""

    kind = RememberedKind.DOCUMENT
    permission = "knowledge:read"

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def page(self, scope: Scope, before: UUID | None, limit: int) -> Sequence[Remembered]:
        """Return the documents, the newest first."""
        async with self._db.read(scope) as tx:
            return [_item(document) for document in await store.page(tx, before, limit)]


def _item(document: Document) -> Remembered:
    described, shown = document.description, show("doc", document.id)
    return Remembered(
        kind=RememberedKind.DOCUMENT,
        place=document.id,
        id=shown,
        text=described.title or described.file_name or described.doc_type,
        source="document",
        # What a document says, nobody is said to have stated.
        trust=None,
        created_at=document.created_at,
        href=f"/v1/knowledge/documents/{shown}",
    )
