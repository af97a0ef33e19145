"""Chunks in Postgres, and what the vector store is owed of them: each function is one statement."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, and_, delete, func, select, true, tuple_
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.infra.crypto.box import Box, Place, row_key
from app.infra.db.transaction import Transaction
from app.knowledge import text_store
from app.knowledge.model import Location, Passage, StoredChunk, StoredText
from app.knowledge.store import DESCRIBED, describe
from app.knowledge.tables import chunk_texts, chunks, document_versions, documents, vector_changes, vector_collections
from app.knowledge.text_store import ITS_TEXT, TEXT, opened

# What search finds: the chunks of the version that a document is searched in.
_SEARCHED = and_(
    chunks.c.usr == documents.c.usr,
    chunks.c.document_id == documents.c.id,
    chunks.c.version == documents.c.indexed_version,
)
_ITS_VERSION = and_(
    document_versions.c.usr == chunks.c.usr,
    document_versions.c.document_id == chunks.c.document_id,
    document_versions.c.version == chunks.c.version,
)


@dataclass(frozen=True, slots=True)
class Change:
    """A text that came or went, as far as the vector store knows; `revision` tells a later change from this one."""

    tag: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Extent:
    """How many different texts are searched, and how many the vector store has yet to be told of."""

    texts: int
    changes: int


def text_tag(box: Box, text: str) -> bytes:
    """Return what equal texts of a user are known by."""
    return box.tag("chunk", text)


async def searched(tx: Transaction, tags: Collection[bytes]) -> Mapping[bytes, UUID]:
    """Return of those of the texts with these tags that are searched a chunk each."""
    return await _one_of_each(tx, chunks.c.content_tag.in_(tags), None)


async def some_texts(tx: Transaction, limit: int) -> Mapping[bytes, UUID]:
    """Return a chunk of some of the texts that are searched."""
    return await _one_of_each(tx, true(), limit)


async def _one_of_each(tx: Transaction, which: ColumnElement[bool], limit: int | None) -> Mapping[bytes, UUID]:
    asked = (
        select(chunks.c.content_tag, chunks.c.id)
        .join_from(chunks, documents, _SEARCHED)
        .ext(distinct_on(chunks.c.content_tag))
        .where(chunks.c.usr == tx.scope.usr, which)
        .order_by(chunks.c.content_tag)
        .limit(limit)
    )
    return {row.content_tag: row.id for row in await tx.rows(asked)}


async def texts_of(tx: Transaction, ids: Sequence[UUID]) -> dict[UUID, Sequence[str]]:
    """Return the texts of those of the chunks that are there."""
    asked = select(chunks.c.id, *TEXT).outerjoin(chunk_texts, ITS_TEXT)
    rows = await tx.rows(asked.where(chunks.c.usr == tx.scope.usr, chunks.c.id.in_(ids)))
    return {row.id: [opened(tx.box, row)] for row in rows}


async def put(
    tx: Transaction,
    document_id: UUID,
    version: int,
    pieces: Sequence[StoredChunk],
    entry: AuditEntry,
) -> None:
    """Write chunks of a version over those that an earlier attempt left. The caller holds the user's turn."""
    await text_store.put(tx, pieces, entry)
    key = ["usr", "id"]
    values = [
        {**tx.owner, "document_id": document_id, "version": version, **_sealed(tx.box, piece)} for piece in pieces
    ]
    written = upsert(chunks)
    replaced = {name: written.excluded[name] for name in values[0] if name not in {"tenant", *key}}
    await tx.change(written.on_conflict_do_update(index_elements=key, set_=replaced), entry, values)


async def trim(tx: Transaction, document_id: UUID, version: int, length: int, entry: AuditEntry) -> None:
    """Delete what an earlier attempt left behind the last chunk of a version."""
    left = delete(chunks).filter_by(usr=tx.scope.usr, document_id=document_id, version=version)
    await tx.change(left.where(chunks.c.ordinal >= length), entry)


async def ids_of_version(tx: Transaction, document_id: UUID, version: int) -> Sequence[UUID]:
    """Return the ids of the chunks of a version."""
    asked = select(chunks.c.id).filter_by(usr=tx.scope.usr, document_id=document_id, version=version)
    return [row.id for row in await tx.rows(asked)]


async def note_changes(tx: Transaction, document_id: UUID, versions: Sequence[int], entry: AuditEntry) -> None:
    """Owe the vector store the texts of versions of a document: that they came, or went."""
    theirs = (
        select(chunks.c.tenant, chunks.c.usr, chunks.c.content_tag)
        .where(chunks.c.usr == tx.scope.usr, chunks.c.document_id == document_id, chunks.c.version.in_(versions))
        .distinct()
    )
    await _note(tx, theirs, entry)


async def note_all(tx: Transaction, entry: AuditEntry) -> None:
    """Owe the vector store every text that is searched."""
    searched = (
        select(chunks.c.tenant, chunks.c.usr, chunks.c.content_tag)
        .join_from(chunks, documents, _SEARCHED)
        .where(chunks.c.usr == tx.scope.usr)
        .distinct()
    )
    await _note(tx, searched, entry)


async def _note(tx: Transaction, texts: Select[Any], entry: AuditEntry) -> None:  # Any: rows of tenant, usr and tag
    # In one order, so that two writers never wait for each other.
    written = upsert(vector_changes).from_select(["tenant", "usr", "content_tag"], texts.order_by(chunks.c.content_tag))
    raised = {"revision": vector_changes.c.revision + 1}
    await tx.change(written.on_conflict_do_update(index_elements=["usr", "content_tag"], set_=raised), entry)


async def changes(tx: Transaction, limit: int) -> Sequence[Change]:
    """Return some of what the vector store is owed."""
    asked = (
        select(vector_changes.c.content_tag, vector_changes.c.revision)
        .filter_by(usr=tx.scope.usr)
        .order_by(vector_changes.c.content_tag)
        .limit(limit)
    )
    return [Change(row.content_tag, row.revision) for row in await tx.rows(asked)]


async def settle(tx: Transaction, told: Sequence[Change], entry: AuditEntry) -> None:
    """Strike off what the vector store was told, but for what has changed since."""
    pairs = [(change.tag, change.revision) for change in told]
    # Locked in the order in which they are written: a delete by itself takes rows as it finds them, and deadlocks.
    locked = (
        select(vector_changes.c.content_tag)
        .where(
            vector_changes.c.usr == tx.scope.usr,
            tuple_(vector_changes.c.content_tag, vector_changes.c.revision).in_(pairs),
        )
        .order_by(vector_changes.c.content_tag)
        .with_for_update()
        .cte("locked")
    )
    struck = delete(vector_changes).where(
        vector_changes.c.usr == tx.scope.usr,
        vector_changes.c.content_tag.in_(select(locked.c.content_tag)),
    )
    await tx.change(struck, entry)


async def extent(tx: Transaction) -> Extent:
    """Return how much is searched, and how much of it the vector store doesn't know yet."""
    texts = (
        select(func.count(chunks.c.content_tag.distinct()))
        .join_from(chunks, documents, _SEARCHED)
        .where(chunks.c.usr == tx.scope.usr)
        .scalar_subquery()
    )
    owed = select(func.count()).select_from(vector_changes).filter_by(usr=tx.scope.usr).scalar_subquery()
    row = await tx.row(select(texts.label("texts"), owed.label("owed")))
    return Extent(row.texts, row.owed) if row else Extent(0, 0)


async def remember_collection(tx: Transaction, name: str, entry: AuditEntry) -> None:
    """Write the name of a collection that is about to be made."""
    await tx.change(upsert(vector_collections).values(**tx.owner, name=name).on_conflict_do_nothing(), entry)


async def collections(tx: Transaction) -> Sequence[str]:
    """Return the names of the user's collections."""
    return [row.name for row in await tx.rows(select(vector_collections.c.name).filter_by(usr=tx.scope.usr))]


async def forget_collection(tx: Transaction, name: str, entry: AuditEntry) -> None:
    """Strike off a collection that was dropped."""
    await tx.change(delete(vector_collections).filter_by(usr=tx.scope.usr, name=name), entry)


async def ids_by_tag(tx: Transaction, tags: Collection[bytes]) -> Mapping[UUID, bytes]:
    """Return the searched chunks whose texts have these tags."""
    asked = (
        select(chunks.c.id, chunks.c.content_tag)
        .join_from(chunks, documents, _SEARCHED)
        .where(chunks.c.usr == tx.scope.usr, chunks.c.content_tag.in_(tags))
    )
    return {row.id: row.content_tag for row in await tx.rows(asked)}


async def passages(tx: Transaction, ids: Collection[UUID]) -> Mapping[UUID, Passage]:
    """Return those of the chunks with these ids that are the user's and are searched now."""
    asked = (
        select(
            *(chunks.c[name] for name in ("id", "document_id", "version", "location_sealed", "content_tag")),
            *TEXT,
            *(document_versions.c[name] for name in DESCRIBED),
            document_versions.c.created_at,
        )
        .join_from(chunks, documents, _SEARCHED)
        .join(document_versions, _ITS_VERSION)
        .outerjoin(chunk_texts, ITS_TEXT)
        .where(chunks.c.usr == tx.scope.usr, chunks.c.id.in_(ids))
    )
    return {row.id: _passage(row, tx.box) for row in await tx.rows(asked)}


async def texts(tx: Transaction, after: UUID | None, limit: int) -> Sequence[tuple[UUID, UUID, str]]:
    """Return the next chunks that are searched: their ids, their documents' ids and their texts."""
    asked = select(chunks.c.id, chunks.c.document_id, *TEXT).join(documents, _SEARCHED).outerjoin(chunk_texts, ITS_TEXT)
    asked = asked.where(chunks.c.usr == tx.scope.usr).order_by(chunks.c.id).limit(limit)
    rows = await tx.rows(asked if after is None else asked.where(chunks.c.id > after))
    return [(row.id, row.document_id, opened(tx.box, row)) for row in rows]


async def next_texts(tx: Transaction, document_id: UUID, version: int, after: int, limit: int) -> Sequence[StoredText]:
    """Return what chunks of a version say, in their order, those after an ordinal."""
    columns = [chunks.c[name] for name in ("id", "ordinal", "location_sealed")]
    asked = select(*columns, *TEXT).outerjoin(chunk_texts, ITS_TEXT).where(chunks.c.usr == tx.scope.usr)
    asked = asked.where(chunks.c.document_id == document_id, chunks.c.version == version, chunks.c.ordinal > after)
    rows = await tx.rows(asked.order_by(chunks.c.ordinal).limit(limit))
    places = [_location(tx.box, row.id, row.location_sealed) for row in rows]
    return [
        StoredText(row.ordinal, opened(tx.box, row), place.start, place.end)
        for row, place in zip(rows, places, strict=True)
    ]


def _passage(row: Row[Any], box: Box) -> Passage:  # Any: the columns of `passages`
    said = describe(row, box, row_key(row.document_id, row.version))
    return Passage(
        chunk_id=row.id,
        document_id=row.document_id,
        version=row.version,
        title=said.title,
        doc_type=said.doc_type,
        text=opened(box, row),
        tag=row.content_tag,
        location=_location(box, row.id, row.location_sealed),
        created_at=row.created_at,
    )


def _sealed(box: Box, piece: StoredChunk) -> dict[str, Any]:  # Any: the values of columns
    location = piece.chunk.location
    shown = {"start": location.start, "end": location.end, "headings": location.headings}
    if location.page is not None:
        shown |= {"page": location.page, "end_page": location.end_page}
    return {
        "id": piece.id,
        "ordinal": piece.ordinal,
        "content_tag": piece.tag,
        "text_tag": piece.tag,
        # An earlier attempt, by code of before, may have left these.
        "text_sealed": None,
        "model": None,
        "vector_sealed": None,
        "location_sealed": box.seal_json(shown, Place("chunks", "location_sealed", piece.id)),
    }


def _location(box: Box, chunk_id: UUID, sealed: bytes) -> Location:
    shown = box.open_json(sealed, Place("chunks", "location_sealed", chunk_id))
    return Location(
        shown["start"], shown["end"], tuple(shown["headings"]), page=shown.get("page"), end_page=shown.get("end_page")
    )
