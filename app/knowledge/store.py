"""Documents in Postgres: each function is one statement; what a caller wrote is sealed on its way in."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, and_, case, delete, exists, func, insert, select, update

from app.core.audit import AuditEntry
from app.infra.crypto.box import Box, Place, row_key
from app.infra.db.transaction import Transaction
from app.infra.extraction.model import MediaType
from app.knowledge.model import Content, Description, Document, Failure, Status
from app.knowledge.tables import document_parts, document_versions, documents

_ON_THE_WAY = (Status.QUEUED, Status.PROCESSING)
_NEWEST = and_(
    document_versions.c.usr == documents.c.usr,
    document_versions.c.document_id == documents.c.id,
    document_versions.c.version == documents.c.version,
)
# A version has bytes from the first on: where there are none, they were let go of.
_ORIGINAL = exists().where(
    document_parts.c.usr == document_versions.c.usr,
    document_parts.c.document_id == document_versions.c.document_id,
    document_parts.c.version == document_versions.c.version,
)
# The columns that `describe` opens.
DESCRIBED = ("doc_type_sealed", "title_sealed", "file_name_sealed", "metadata_sealed")
_COLUMNS = (
    documents.c.id,
    documents.c.version,
    documents.c.indexed_version,
    documents.c.created_at,
    documents.c.updated_at,
    *(document_versions.c[name] for name in ("status", "progress", "failure", "media_type", "encoding", "size_bytes")),
    *(document_versions.c[name] for name in DESCRIBED),
    _ORIGINAL.label("original_kept"),
)


def doc_type_tag(box: Box, doc_type: str) -> bytes:
    """Return what a type of documents is found by."""
    return box.tag("doc-type", doc_type)


async def find(tx: Transaction, document_id: UUID) -> Document | None:
    """Return a document in its newest version, None where there is none: one being received isn't there yet."""
    row = await tx.row(_shown(tx).where(documents.c.id == document_id))
    return _read(row, tx.box) if row else None


async def existing(tx: Transaction, ids: Collection[UUID]) -> Collection[UUID]:
    """Return those of the ids that are documents of the user's; one being received isn't there yet."""
    shown = _shown(tx).with_only_columns(documents.c.id, maintain_column_froms=True)
    return {row.id for row in await tx.rows(shown.where(documents.c.id.in_(ids)))}


async def with_content(tx: Transaction, tag: bytes) -> Sequence[Document]:
    """Return the documents whose newest version has the bytes with this tag, oldest first."""
    asked = _shown(tx).where(document_versions.c.content_tag == tag).order_by(documents.c.id)
    return [_read(row, tx.box) for row in await tx.rows(asked)]


async def page(tx: Transaction, after: UUID | None, limit: int) -> Sequence[Document]:
    """Return documents, newest first, older than `after` where given."""
    asked = _shown(tx).order_by(documents.c.id.desc()).limit(limit)
    if after is not None:
        asked = asked.where(documents.c.id < after)
    return [_read(row, tx.box) for row in await tx.rows(asked)]


async def count_on_the_way(tx: Transaction) -> int:
    """Return how many documents wait to be ingested, or are."""
    waiting = (
        select(func.count())
        .select_from(document_versions)
        .where(document_versions.c.usr == tx.scope.usr, document_versions.c.status.in_(_ON_THE_WAY))
    )
    number: int = await tx.scalar(waiting)
    return number


async def create(tx: Transaction, document_id: UUID, now: datetime, entry: AuditEntry) -> None:
    """Write the row of a new document, at version 1."""
    values = {"id": document_id, "version": 1, "created_at": now, "updated_at": now}
    await tx.change(insert(documents).values(**tx.owner, **values), entry)


async def lock(tx: Transaction, document_id: UUID) -> None:
    """Keep a document's row from being changed until the transaction ends. Read it afterwards, in another statement:
    joined to its version in this one, a row that had to be waited for would be gone.
    """
    await tx.row(select(documents.c.id).filter_by(usr=tx.scope.usr, id=document_id).with_for_update())


async def raise_version(tx: Transaction, document_id: UUID, version: int, now: datetime, entry: AuditEntry) -> bool:
    """Count the version up; return whether it still was `version`."""
    raised = (
        update(documents)
        .filter_by(usr=tx.scope.usr, id=document_id, version=version)
        .values(version=version + 1, updated_at=now)
    )
    return (await tx.change(raised, entry)).rowcount == 1


async def receive(tx: Transaction, document_id: UUID, version: int, now: datetime, entry: AuditEntry) -> None:
    """Write a version that is still being received: nothing is known of it yet."""
    values = {"document_id": document_id, "version": version, "status": Status.RECEIVING, "created_at": now}
    await tx.change(insert(document_versions).values(**tx.owner, **values), entry)


async def is_receiving(tx: Transaction, document_id: UUID, version: int) -> bool:
    """Return whether a version is there to be received, and keep it there until the transaction ends."""
    held = (
        select(document_versions.c.version)
        .filter_by(usr=tx.scope.usr, document_id=document_id, version=version, status=Status.RECEIVING)
        .with_for_update(read=True, key_share=True)
    )
    return await tx.scalar(held) is not None


async def queue(
    tx: Transaction,
    document_id: UUID,
    version: int,
    description: Description,
    content: Content,
    entry: AuditEntry,
) -> bool:
    """Complete a version that was being received; return whether it still was."""
    box, row = tx.box, row_key(document_id, version)
    optional = {"title_sealed": description.title, "file_name_sealed": description.file_name}
    sealed = {
        column: None if value is None else box.seal_json(value, Place("document_versions", column, row))
        for column, value in optional.items()
    }
    completed = (
        update(document_versions)
        .filter_by(usr=tx.scope.usr, document_id=document_id, version=version, status=Status.RECEIVING)
        .values(
            status=Status.QUEUED,
            doc_type_tag=doc_type_tag(box, description.doc_type),
            doc_type_sealed=box.seal_json(description.doc_type, Place("document_versions", "doc_type_sealed", row)),
            metadata_sealed=box.seal_json(description.metadata, Place("document_versions", "metadata_sealed", row)),
            media_type=content.media_type,
            size_bytes=content.size_bytes,
            content_tag=content.tag,
            **sealed,
        )
    )
    return (await tx.change(completed, entry)).rowcount == 1


async def add_part(
    tx: Transaction,
    document_id: UUID,
    version: int,
    ordinal: int,
    body: bytes,
    entry: AuditEntry,
) -> None:
    """Write a part of a version's bytes."""
    sealed = tx.box.seal(body, _part_place(document_id, version, ordinal))
    values = {"document_id": document_id, "version": version, "ordinal": ordinal, "body_sealed": sealed}
    await tx.change(insert(document_parts).values(**tx.owner, **values), entry)


async def part(tx: Transaction, document_id: UUID, version: int, ordinal: int) -> bytes | None:
    """Return a part of a version's bytes, None after the last."""
    asked = select(document_parts.c.body_sealed).filter_by(
        usr=tx.scope.usr,
        document_id=document_id,
        version=version,
        ordinal=ordinal,
    )
    sealed = await tx.scalar(asked)
    return None if sealed is None else tx.box.open(sealed, _part_place(document_id, version, ordinal))


async def drop_original(tx: Transaction, document_id: UUID, version: int, entry: AuditEntry) -> None:
    """Delete the bytes of a version; its chunks stay."""
    dropped = delete(document_parts).filter_by(usr=tx.scope.usr, document_id=document_id, version=version)
    await tx.change(dropped, entry)


async def start(tx: Transaction, document_id: UUID, version: int, entry: AuditEntry) -> int | None:
    """Mark that ingestion of a version begins; return how often it has begun, None where there is nothing to ingest."""
    begun = (
        update(document_versions)
        .where(_is(tx, document_id, version), document_versions.c.status.in_(_ON_THE_WAY))
        .values(status=Status.PROCESSING, attempts=document_versions.c.attempts + 1)
        .returning(document_versions.c.attempts)
    )
    attempts: int | None = (await tx.change(begun, entry)).scalar_one_or_none()
    return attempts


async def give_back(tx: Transaction, document_id: UUID, version: int, entry: AuditEntry) -> None:
    """Take back that ingestion has begun: what stopped it wasn't the document."""
    given_back = (
        update(document_versions)
        .where(_is(tx, document_id, version), document_versions.c.status == Status.PROCESSING)
        .values(status=Status.QUEUED, attempts=document_versions.c.attempts - 1)
    )
    await tx.change(given_back, entry)


async def advance(tx: Transaction, document_id: UUID, version: int, progress: float, entry: AuditEntry) -> bool:
    """Write how far ingestion has come; return whether the version is still there to be ingested.

    Getting further than ever before starts the count of attempts anew: that a worker is stopped often isn't the
    document's fault.
    """
    is_further = document_versions.c.progress < progress
    advanced = (
        update(document_versions)
        .where(_is(tx, document_id, version), document_versions.c.status == Status.PROCESSING)
        .values(
            progress=func.greatest(document_versions.c.progress, progress),
            attempts=case((is_further, 1), else_=document_versions.c.attempts),
        )
    )
    return (await tx.change(advanced, entry)).rowcount == 1


async def fail(tx: Transaction, document_id: UUID, version: int, failure: Failure, entry: AuditEntry) -> None:
    """Write that ingestion of a version has failed, and why."""
    failed = (
        update(document_versions)
        .where(_is(tx, document_id, version), document_versions.c.status.in_(_ON_THE_WAY))
        .values(status=Status.FAILED, failure=failure)
    )
    await tx.change(failed, entry)


async def restart(tx: Transaction, document_id: UUID, version: int, entry: AuditEntry) -> bool:
    """Let a version that failed be ingested anew; return whether it had failed."""
    restarted = (
        update(document_versions)
        .where(_is(tx, document_id, version), document_versions.c.status == Status.FAILED)
        .values(status=Status.QUEUED, failure=None, attempts=0, progress=0)
    )
    return (await tx.change(restarted, entry)).rowcount == 1


async def finish(tx: Transaction, document_id: UUID, version: int, encoding: str | None, entry: AuditEntry) -> bool:
    """Write that a version is ready; return whether it was still being ingested."""
    finished = (
        update(document_versions)
        .where(_is(tx, document_id, version), document_versions.c.status == Status.PROCESSING)
        .values(status=Status.READY, progress=1, encoding=encoding)
    )
    return (await tx.change(finished, entry)).rowcount == 1


async def search_in(tx: Transaction, document_id: UUID, version: int, now: datetime, entry: AuditEntry) -> bool:
    """Make a version the one that search finds; return whether it still is the newest."""
    swapped = (
        update(documents)
        .filter_by(usr=tx.scope.usr, id=document_id, version=version)
        .values(indexed_version=version, updated_at=now)
    )
    return (await tx.change(swapped, entry)).rowcount == 1


async def drop_versions(tx: Transaction, document_id: UUID, keep: Sequence[int], entry: AuditEntry) -> None:
    """Delete the versions of a document but those to keep, with their bytes and chunks."""
    others = delete(document_versions).where(
        document_versions.c.usr == tx.scope.usr,
        document_versions.c.document_id == document_id,
        document_versions.c.version.not_in(keep),
    )
    await tx.change(others, entry)


async def drop(tx: Transaction, document_id: UUID, version: int, entry: AuditEntry) -> bool:
    """Delete a document with all that belongs to it; return whether its version still was `version`."""
    dropped = delete(documents).filter_by(usr=tx.scope.usr, id=document_id, version=version)
    return (await tx.change(dropped, entry)).rowcount == 1


async def drop_received(tx: Transaction, document_id: UUID, entry: AuditEntry) -> None:
    """Delete a document that was never completely received."""
    received = (
        select(document_versions.c.document_id)
        .filter_by(usr=tx.scope.usr, document_id=document_id, status=Status.RECEIVING)
        .scalar_subquery()
    )
    await tx.change(delete(documents).filter_by(usr=tx.scope.usr).where(documents.c.id == received), entry)


def _shown(tx: Transaction) -> Select[Any]:  # Any: rows of _COLUMNS
    return (
        select(*_COLUMNS)
        .join_from(documents, document_versions, _NEWEST)
        .where(documents.c.usr == tx.scope.usr, document_versions.c.status != Status.RECEIVING)
    )


def _is(tx: Transaction, document_id: UUID, version: int) -> ColumnElement[bool]:
    return and_(
        document_versions.c.usr == tx.scope.usr,
        document_versions.c.document_id == document_id,
        document_versions.c.version == version,
    )


def _part_place(document_id: UUID, version: int, ordinal: int) -> Place:
    return Place("document_parts", "body_sealed", row_key(document_id, version, ordinal))


def _read(row: Row[Any], box: Box) -> Document:  # Any: rows of _COLUMNS
    return Document(
        id=row.id,
        version=row.version,
        indexed_version=row.indexed_version,
        status=Status(row.status),
        progress=row.progress,
        failure=None if row.failure is None else Failure(row.failure),
        description=describe(row, box, row_key(row.id, row.version)),
        media_type=MediaType(row.media_type),
        encoding=row.encoding,
        size_bytes=row.size_bytes,
        created_at=row.created_at,
        updated_at=row.updated_at,
        original_kept=row.original_kept,
    )


def describe(row: Row[Any], box: Box, key: bytes) -> Description:  # Any: rows with the sealed columns of a version
    """Open what the caller said of the version whose row has that key."""

    def opened(column: str) -> Any:  # noqa: ANN401 - the JSON that was sealed
        sealed = getattr(row, column)
        return None if sealed is None else box.open_json(sealed, Place("document_versions", column, key))

    return Description(
        doc_type=opened("doc_type_sealed"),
        title=opened("title_sealed"),
        metadata=opened("metadata_sealed"),
        file_name=opened("file_name_sealed"),
    )
