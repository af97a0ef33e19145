"""The sealed index in Postgres: newer items a row each, older ones in segments of 512."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row, delete, insert, literal, select, union_all, update

from app.core.audit import AuditEntry
from app.core.ids import uuid7
from app.infra.crypto.box import Box, Place, row_key
from app.infra.db.transaction import Transaction
from app.infra.segments.cache import IndexCache, Key, Part
from app.infra.segments.codec import MAX_ITEMS, Segment, decode, encode
from app.infra.segments.index import Index
from app.infra.segments.packing import Item, Spot, Vector, at, merge, pack, with_vectors, without
from app.infra.segments.tables import segment_items, segments

# A batch of writes at a time: a statement's size stays bounded, whatever a document has.
BATCH: Final = 512
_ROW: Final = (
    segment_items.c.id,
    segment_items.c.revision,
    segment_items.c.body_sealed,
    segment_items.c.ordinal,
    segment_items.c.time_ms,
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """An index, and how many of its items wait to be embedded."""

    index: Index
    pending: int


class SegmentStore:
    """The index of one kind of memory. `model` names the embedder and its revision: vectors of two models don't mix."""

    def __init__(self, kind: str, cache: IndexCache, model: str) -> None:
        """Take the kind (`message`, `chunk`), the process's cache and the model of the vectors."""
        self._kind = kind
        self._cache = cache
        self.model = model

    async def add(self, tx: Transaction, items: Sequence[Item], entry: AuditEntry) -> None:
        """Add items; those with a vector need no embedding."""
        for start in range(0, len(items), BATCH):
            rows = [
                {
                    **tx.owner,
                    "id": item.id,
                    "kind": self._kind,
                    "embedded": item.vector is not None,
                    "body_sealed": _seal_item(tx.box, item.id, 0, pack([item], self.model)),
                }
                for item in items[start : start + BATCH]
            ]
            await tx.change(insert(segment_items), entry, rows)

    def sealed(self, box: Box, item: Item) -> bytes:
        """Return the row of an item whose place and time aren't known yet: they are written beside it."""
        return _seal_item(box, item.id, 0, pack([item], self.model))

    async def unembedded(self, tx: Transaction, limit: int) -> list[UUID]:
        """Return the oldest items that wait to be embedded."""
        query = select(segment_items.c.id).filter_by(**self._mine(tx), embedded=False)
        return [row.id for row in await tx.rows(query.order_by(segment_items.c.id).limit(limit))]

    async def attach(self, tx: Transaction, vectors: Mapping[UUID, Vector], entry: AuditEntry) -> None:
        """Give items their vectors. An item that is gone meanwhile, or has one, is passed over."""
        query = select(*_ROW).filter_by(**self._mine(tx), embedded=False).where(segment_items.c.id.in_(vectors))
        for row in await tx.rows(query.order_by(segment_items.c.id).with_for_update()):
            segment = with_vectors(_opened(tx.box, row), {row.id: vectors[row.id]}, self.model)
            body = _seal_item(tx.box, row.id, row.revision + 1, segment)
            await tx.change(
                update(segment_items)
                .filter_by(**self._mine(tx), id=row.id)
                .values(revision=row.revision + 1, embedded=True, body_sealed=body),
                entry,
            )

    async def compact(self, tx: Transaction, entry: AuditEntry) -> int:
        """Put 512 embedded items, where there are so many, into a segment; return how many were put. One segment a
        call.
        """
        oldest = select(segment_items.c.id).filter_by(**self._mine(tx), embedded=True)
        ids = [row.id for row in await tx.rows(oldest.order_by(segment_items.c.id).limit(MAX_ITEMS))]
        if len(ids) < MAX_ITEMS:
            return 0
        # What a deletion took meanwhile doesn't come back here, and doesn't come back into the segment.
        taken = delete(segment_items).filter_by(**self._mine(tx)).where(segment_items.c.id.in_(ids)).returning(*_ROW)
        rows = sorted((await tx.change(taken, entry)).all(), key=lambda row: row.id)
        opened = {row: _opened(tx.box, row) for row in rows}
        ready = [segment for segment in opened.values() if segment.model == self.model]
        if ready:
            await self._insert_segment(tx, merge(ready, self.model), entry)
        stale = [row for row, segment in opened.items() if segment.model != self.model]
        await self._put_back(tx, {row: opened[row] for row in stale}, entry)
        return len(ready)

    async def remove(self, tx: Transaction, ids: Sequence[UUID], entry: AuditEntry) -> None:
        """Take items out, wherever they are. Newer items first: compaction moves from there into the segments."""
        for start in range(0, len(ids), BATCH):
            some = list(ids[start : start + BATCH])
            await tx.change(
                delete(segment_items).filter_by(**self._mine(tx)).where(segment_items.c.id.in_(some)), entry
            )
            holding = select(segments.c.id, segments.c.body_sealed).filter_by(**self._mine(tx))
            holding = holding.where(segments.c.item_ids.overlap(some)).order_by(segments.c.id).with_for_update()
            for row in await tx.rows(holding):
                left = without(decode(tx.box.open(row.body_sealed, _segment_place(row.id))), frozenset(some))
                await tx.change(delete(segments).filter_by(usr=tx.scope.usr, id=row.id), entry)
                if len(left):
                    await self._insert_segment(tx, left, entry)

    async def load(self, tx: Transaction) -> Loaded:
        """Return the index of all items as this transaction sees them."""
        # Segments have no revision: -1 tells one from a newer item of the same id.
        older = select(segments.c.id, literal(-1).label("stamp"), literal(value=True).label("embedded"))
        newer = select(segment_items.c.id, segment_items.c.revision, segment_items.c.embedded)
        either = union_all(older.filter_by(**self._mine(tx)), newer.filter_by(**self._mine(tx))).subquery()
        # One question for both: each costs a recall a millisecond.
        rows = await tx.rows(select(either).order_by(either.c.stamp >= 0, either.c.id))
        parts = [Part(row.id, row.stamp) for row in rows]
        draft = self._cache.draft(Key(tx.scope.usr, self._kind), parts, self.model)
        sealed, spots = await self._bodies(tx, draft.missing) if draft.missing else ({}, {})
        box = tx.box
        index = await self._cache.finish(draft, sealed, lambda part, body: box.open(body, _place(part)), spots)
        return Loaded(index, pending=sum(not row.embedded for row in rows))

    async def _put_back(self, tx: Transaction, stale: Mapping[Row[Any], Segment], entry: AuditEntry) -> None:
        """Let items whose vectors another model made wait for new ones."""
        rows = [
            {
                **tx.owner,
                "id": row.id,
                "kind": self._kind,
                "revision": row.revision + 1,
                "embedded": False,
                "body_sealed": _seal_item(tx.box, row.id, row.revision + 1, segment),
            }
            for row, segment in stale.items()
        ]
        if rows:
            await tx.change(insert(segment_items), entry, rows)

    async def _bodies(self, tx: Transaction, missing: Sequence[Part]) -> tuple[dict[Part, bytes], dict[Part, Spot]]:
        bodies: dict[Part, bytes] = {}
        spots: dict[Part, Spot] = {}
        older = [part.id for part in missing if part.stamp < 0]
        newer = [part.id for part in missing if part.stamp >= 0]
        if older:
            query = select(segments.c.id, segments.c.body_sealed).filter_by(**self._mine(tx))
            for row in await tx.rows(query.where(segments.c.id.in_(older))):
                bodies[Part(row.id, -1)] = row.body_sealed
        for start in range(0, len(newer), BATCH):
            items = select(*_ROW).filter_by(**self._mine(tx))
            for row in await tx.rows(items.where(segment_items.c.id.in_(newer[start : start + BATCH]))):
                part = Part(row.id, row.revision)
                bodies[part] = row.body_sealed
                spot = _spot(row)
                if spot is not None:
                    spots[part] = spot
        return bodies, spots

    async def _insert_segment(self, tx: Transaction, segment: Segment, entry: AuditEntry) -> None:
        segment_id = uuid7()
        await tx.change(
            insert(segments).values(
                **tx.owner,
                id=segment_id,
                kind=self._kind,
                item_ids=segment.item_ids(),
                body_sealed=tx.box.seal(encode(segment), _segment_place(segment_id)),
            ),
            entry,
        )

    def _mine(self, tx: Transaction) -> dict[str, Any]:
        return {"usr": tx.scope.usr, "kind": self._kind}


def _opened(box: Box, row: Row[Any]) -> Segment:
    return at(decode(box.open(row.body_sealed, _item_place(row.id, row.revision))), _spot(row))


def _spot(row: Row[Any]) -> Spot | None:
    return None if row.ordinal is None else Spot(row.ordinal, row.time_ms)


def _seal_item(box: Box, item_id: UUID, revision: int, segment: Segment) -> bytes:
    return box.seal(encode(segment), _item_place(item_id, revision))


def _item_place(item_id: UUID, revision: int) -> Place:
    return Place("segment_items", "body_sealed", row_key(item_id, revision))


def _segment_place(segment_id: UUID) -> Place:
    return Place("segments", "body_sealed", segment_id)


def _place(part: Part) -> Place:
    return _segment_place(part.id) if part.stamp < 0 else _item_place(part.id, part.stamp)
