"""Documents from an archive: their bytes are given to ingestion as if they were uploaded. An ImportedFile of
app.core.portability.
"""

from collections.abc import AsyncIterator

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.ids import parse
from app.core.portability import TAKEN, UNCHANGED, Outcome, Taking
from app.core.scope import Scope
from app.infra.db.adopting import imported_id
from app.infra.db.transaction import Database
from app.knowledge import store
from app.knowledge.exporting import FILE, FOLDER, DocumentRecord
from app.knowledge.model import Description
from app.knowledge.uploads import Uploads

# Another day they may be taken: the import waits for it.
_PASSING = frozenset({"store_unavailable", "overloaded", "in_progress", "erasing", "erased", "processing_stopped"})


class DocumentImport:
    """Takes the newest version of documents: the bytes as they came, or the text where these weren't kept."""

    file: str = FILE
    record: type = DocumentRecord
    permission: str = "knowledge:write"

    def __init__(self, db: Database, uploads: Uploads) -> None:
        """Take the doors, and what receives files."""
        self._db = db
        self._uploads = uploads

    def path(self, record: DocumentRecord) -> str | None:
        """Return where its bytes are; only a file of its own is looked at, whatever the record names."""
        folder = f"{FOLDER}/{record.id}"
        if record.original is not None:
            return f"{folder}/original"
        return f"{folder}/text.txt" if record.text is not None else None

    async def receive(self, scope: Scope, _: Taking, record: DocumentRecord, parts: AsyncIterator[bytes]) -> Outcome:
        """Upload it under its own description and time. The same bytes, described the same, are the same document."""
        source = parse("doc", record.id)
        box = await self._db.box(scope)
        document_id = imported_id(box, "document", source)
        async with self._db.read(scope) as tx:
            if await store.existing(tx, [document_id, source]):
                return UNCHANGED
        async with self._db.maintain(scope) as tx:
            # What an import that was broken off left of it.
            await store.drop_received(tx, document_id, AuditEntry("import", "document", document_id))
        said = Description(record.doc_type, record.title, record.metadata, record.file_name)
        try:
            async with self._uploads.receive(scope, document_id, record.created_at) as upload:
                async for part in parts:
                    await upload.write(part)
                document = await upload.finish(said, None)
        except AppError as error:
            if error.code in _PASSING:
                raise
            return Outcome.refused(error.code)
        return TAKEN if document.id == document_id else UNCHANGED
