"""The texts of chunks, sealed once for each user however many chunks say the same, and a vector of each.

No text is without a chunk: a trigger of the database sees to it, whoever deletes, and takes none that somebody holds
who writes a chunk of it (revision 0028). Chunks of before that have texts of their own.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, and_, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.infra.crypto.box import Box, Place
from app.infra.db.transaction import Transaction
from app.knowledge.model import StoredChunk
from app.knowledge.tables import chunk_texts, chunks

_STORED: Final = np.dtype("<f2")
# What is read beside a chunk so that `opened` can open its text, and the outer join that it needs.
TEXT = (
    chunks.c.text_tag,
    chunks.c.text_sealed.label("own_text"),
    chunk_texts.c.text_sealed.label("shared_text"),
)
ITS_TEXT = and_(chunk_texts.c.usr == chunks.c.usr, chunk_texts.c.content_tag == chunks.c.text_tag)
Vector = NDArray[np.float32]


def opened(box: Box, row: Row[Any]) -> str:  # Any: a chunk's id and the columns of TEXT
    """Return the text of a chunk."""
    if row.own_text is not None:
        return box.open(row.own_text, Place("chunks", "text_sealed", row.id)).decode()
    return box.open(row.shared_text, Place("chunk_texts", "text_sealed", row.text_tag)).decode()


async def known_vectors(tx: Transaction, tags: Collection[bytes], model: str) -> Mapping[bytes, Vector]:
    """Return the vectors that the model has made already of the texts with these tags, of whichever document."""
    asked = select(chunk_texts.c.content_tag, chunk_texts.c.vector_sealed).where(
        chunk_texts.c.usr == tx.scope.usr, chunk_texts.c.content_tag.in_(tags), chunk_texts.c.model == model
    )
    return {row.content_tag: _vector(tx.box, row.content_tag, row.vector_sealed) for row in await tx.rows(asked)}


async def put(tx: Transaction, pieces: Sequence[StoredChunk], entry: AuditEntry) -> None:
    """Write the texts that aren't there, and hold all of them until the transaction ends: nobody takes one as unused
    before the chunks that need it are there.
    """
    # In one order, so that two writers never wait for each other.
    texts = dict(sorted({piece.tag: piece for piece in pieces}.items()))
    written = upsert(chunk_texts)
    ours = {"model": written.excluded.model, "vector_sealed": written.excluded.vector_sealed}
    # A row is locked also where there is nothing to write: another model's vector is what is written over.
    held = written.on_conflict_do_update(
        index_elements=["usr", "content_tag"], set_=ours, where=chunk_texts.c.model != written.excluded.model
    )
    await tx.change(held, entry, [{**tx.owner, **_sealed(tx.box, piece)} for piece in texts.values()])


async def replace_vectors(tx: Transaction, vectors: Mapping[UUID, Vector], model: str, entry: AuditEntry) -> None:
    """Write a model's vectors of chunks in place of those that another model has made."""
    asked = select(chunks.c.id, chunks.c.text_tag).where(
        chunks.c.usr == tx.scope.usr, chunks.c.id.in_(vectors), chunks.c.text_tag.is_not(None)
    )
    by_tag = {row.text_tag: np.atleast_2d(vectors[row.id])[0] for row in await tx.rows(asked)}
    written = (
        update(chunk_texts)
        .where(chunk_texts.c.usr == tx.scope.usr, chunk_texts.c.content_tag == bindparam("tag"))
        .values(model=model, vector_sealed=bindparam("vector"))
    )
    rows = [{"tag": tag, "vector": _sealed_vector(tx.box, tag, vector)} for tag, vector in sorted(by_tag.items())]
    if rows:
        await tx.change(written, entry, rows)


async def give_own(tx: Transaction, limit: int, entry: AuditEntry) -> int:
    """Give some chunks that share a text one of their own, as code of before revision 0028 reads it; return how many.

    The caller holds the user's turn.
    """
    asked = (
        select(chunks.c.id, *TEXT, chunk_texts.c.model, chunk_texts.c.vector_sealed)
        .join(chunk_texts, ITS_TEXT)
        .where(chunks.c.usr == tx.scope.usr)
        .order_by(chunks.c.id)
        .limit(limit)
    )
    rows = await tx.rows(asked)
    written = (
        update(chunks)
        .where(chunks.c.usr == tx.scope.usr, chunks.c.id == bindparam("chunk"))
        .values(text_tag=None, text_sealed=bindparam("text"), model=bindparam("by"), vector_sealed=bindparam("vector"))
    )
    box = tx.box
    values = [
        {
            "chunk": row.id,
            "text": box.seal(opened(box, row).encode(), Place("chunks", "text_sealed", row.id)),
            "by": row.model,
            "vector": box.seal(
                _vector(box, row.text_tag, row.vector_sealed).astype(_STORED).tobytes(),
                Place("chunks", "vector_sealed", row.id),
            ),
        }
        for row in rows
    ]
    if values:
        await tx.change(written, entry, values)
    return len(values)


def _sealed(box: Box, piece: StoredChunk) -> dict[str, Any]:  # Any: the values of columns
    # One model's vector is enough: it is kept so that an equal text isn't embedded again.
    model = next(iter(piece.vectors))
    return {
        "content_tag": piece.tag,
        "text_sealed": box.seal(piece.chunk.text.encode(), Place("chunk_texts", "text_sealed", piece.tag)),
        "model": model,
        "vector_sealed": _sealed_vector(box, piece.tag, piece.vectors[model]),
    }


def _sealed_vector(box: Box, tag: bytes, vector: Vector) -> bytes:
    return box.seal(vector.astype(_STORED).tobytes(), Place("chunk_texts", "vector_sealed", tag))


def _vector(box: Box, tag: bytes, sealed: bytes) -> Vector:
    stored = np.frombuffer(box.open(sealed, Place("chunk_texts", "vector_sealed", tag)), _STORED)
    return stored.astype(np.float32)
