"""Documents in an export: what was said of each, its bytes as they came, and its text as it is searched. An Exported of
app.core.portability.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from app.core.ids import show
from app.core.portability import BITE, ArchiveFile
from app.infra.db.transaction import Transaction
from app.infra.extraction.model import MediaType
from app.knowledge import chunk_store, store
from app.knowledge.model import (
    MAX_DOC_TYPE_CHARS,
    MAX_FILE_NAME_CHARS,
    MAX_TITLE_CHARS,
    MAX_VERSION,
    Document,
    StoredText,
    part_count,
)
from app.knowledge.tables import chunk_texts, chunks, document_parts, document_versions, documents
from app.web.records import Record, json_lines
from app.web.wire import JsonObject, Moment

FILE: Final = "documents.jsonl"
FOLDER: Final = "documents"
# These are packed already.
_PACKED: Final = frozenset({MediaType.PDF, MediaType.DOCX})


class DocumentRecord(Record):
    """A document in its newest version. `original` and `text` are files of the archive, null where there is none.

    The original isn't kept where it held a number that is never stored; the text is that of `text_version`, the version
    that is searched.
    """

    id: Annotated[str, Field(pattern=r"^doc_[0-9a-f]{32}$")]
    version: Annotated[int, Field(ge=1, le=MAX_VERSION)]
    doc_type: Annotated[str, Field(min_length=1, max_length=MAX_DOC_TYPE_CHARS)]
    title: Annotated[str, Field(max_length=MAX_TITLE_CHARS)] | None
    file_name: Annotated[str, Field(max_length=MAX_FILE_NAME_CHARS)] | None
    metadata: JsonObject
    media_type: str
    encoding: str | None
    size_bytes: Annotated[int, Field(ge=0)]
    status: Literal["queued", "processing", "ready", "failed"]
    failure: str | None
    created_at: Moment
    updated_at: Moment
    original: str | None
    text: str | None
    text_version: int | None


class DocumentExport:
    """Gives documents with their bytes and texts. Passages and vectors are made of these."""

    tables: tuple[str, ...] = tuple(
        table.name for table in (documents, document_versions, document_parts, chunks, chunk_texts)
    )
    records: Mapping[str, type] = {FILE: DocumentRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give the list of documents, then the bytes and the text of each."""
        yield ArchiveFile(FILE, json_lines(_records(tx)))
        async for page in _pages(tx):
            for document in page:
                if document.original_kept:
                    is_packed = document.media_type in _PACKED
                    yield ArchiveFile(_original(document), _bytes(tx, document), is_packed=is_packed)
                if document.indexed_version is not None:
                    yield ArchiveFile(_text(document), _text_of(tx, document.id, document.indexed_version))


async def _pages(tx: Transaction) -> AsyncIterator[Sequence[Document]]:
    last: UUID | None = None
    while page := await store.page(tx, last, BITE):
        last = page[-1].id
        yield page


async def _records(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    async for page in _pages(tx):
        yield [_record(document) for document in page]


async def _bytes(tx: Transaction, document: Document) -> AsyncIterator[bytes]:
    for ordinal in range(part_count(document.size_bytes)):
        part = await store.part(tx, document.id, document.version, ordinal)
        if part is None:
            raise RuntimeError("a part of a document isn't there")
        yield part


async def _text_of(tx: Transaction, document_id: UUID, version: int) -> AsyncIterator[bytes]:
    """Yield the text of a version. Its passages overlap, and between two there may be white space."""
    end, last = 0, -1
    while page := await chunk_store.next_texts(tx, document_id, version, last, BITE):
        for each in page:
            yield _following(each, end).encode()
            end, last = max(end, each.end), each.ordinal


def _following(piece: StoredText, end: int) -> str:
    """Return what a passage adds to the text before it, which ends at a place."""
    gap = "\n" * (piece.start - end) if end else ""
    return gap + piece.text[max(0, end - piece.start) :]


def _record(document: Document) -> DocumentRecord:
    said = document.description
    return DocumentRecord.kept(
        id=show("doc", document.id),
        version=document.version,
        doc_type=said.doc_type,
        title=said.title,
        file_name=said.file_name,
        metadata=dict(said.metadata),
        media_type=document.media_type.value,
        encoding=document.encoding,
        size_bytes=document.size_bytes,
        status=document.status.value,
        failure=document.failure.value if document.failure else None,
        created_at=document.created_at,
        updated_at=document.updated_at,
        original=_original(document) if document.original_kept else None,
        text=_text(document) if document.indexed_version is not None else None,
        text_version=document.indexed_version,
    )


def _original(document: Document) -> str:
    return f"{FOLDER}/{show('doc', document.id)}/original"


def _text(document: Document) -> str:
    return f"{FOLDER}/{show('doc', document.id)}/text.txt"
