"""The sealed index in Postgres: newer items a row each, older ones in segments of 512."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    LargeBinary,
    Row,
    Select,
    Uuid,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    null,
    select,
    union_all,
    update,
)

from app.core.audit import AuditEntry
from app.core.ids import uuid7
from app.infra.crypto.box import Box, Place, row_key
from app.infra.db.transaction import Transaction
from app.infra.segments.cache import IndexCache, Key, Part
from app.infra.segments.codec import MAX_ITEMS, Segment, decode, encode
from app.infra.segments.index import Index
from app.infra.segments.packing import Item, Spot, Vector, at, merge, pack, with_vectors, without
from app.infra.segments.tables import segment_items, segments

# So many embedded items make a segment, and such small segments a full one: a recall reads few rows, an item is written
# twice. A segment of FULL_ITEMS or more, as deletions leave it, stays as it is.
SMALL_ITEMS: Final = 32
FULL_ITEMS: Final = 256
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
        # Made once: to make one of them takes as long as to ask it.
        self._listed, self._listed_newer = (_listing(kind, with_newer=with_newer) for with_newer in (False, True))

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
        """Put embedded items, where there are enough of them, into a segment, or small segments into a full one; return
        how many items were moved. One segment a call.
        """
        oldest = select(segment_items.c.id).filter_by(**self._mine(tx), embedded=True)
        ids = [row.id for row in await tx.rows(oldest.order_by(segment_items.c.id).limit(MAX_ITEMS))]
        if len(ids) < SMALL_ITEMS:
            return await self._merge_small(tx, entry)
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

    async def _alone(self, tx: Transaction) -> None:
        """Wait for who moves items from segment to segment, or takes some out: one that looks for an item while it is
        moved would find it in neither.
        """
        name = func.hashtextextended(f"segments {tx.scope.usr} {self._kind}", 0)
        await tx.rows(select(func.pg_advisory_xact_lock(name)))

    async def _merge_small(self, tx: Transaction, entry: AuditEntry) -> int:
        """Make a full segment of small ones, where they suffice: each item is written twice, and few rows are read."""
        await self._alone(tx)
        items = func.cardinality(segments.c.item_ids)
        small = select(segments.c.id, items.label("items")).filter_by(**self._mine(tx)).where(items < FULL_ITEMS)
        listed = await tx.rows(small.order_by(segments.c.id))
        if sum(row.items for row in listed) < MAX_ITEMS:
            return 0
        sums = accumulate(row.items for row in listed)
        chosen = [row.id for row, held in zip(listed, sums, strict=True) if held <= MAX_ITEMS]
        taken = delete(segments).filter_by(**self._mine(tx)).where(segments.c.id.in_(chosen))
        rows = (await tx.change(taken.returning(segments.c.id, segments.c.body_sealed), entry)).all()
        opened = [decode(tx.box.open(row.body_sealed, _segment_place(row.id))) for row in sorted(rows)]
        if opened:
            await self._insert_segment(tx, merge(opened, self.model), entry)
        return sum(map(len, opened))

    async def remove(self, tx: Transaction, ids: Sequence[UUID], entry: AuditEntry) -> None:
        """Take items out, wherever they are. Newer items first: compaction moves from there into the segments."""
        await self._alone(tx)
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
        key = Key(tx.scope.usr, self._kind)
        # One question for all: each costs a recall a millisecond. What was appended since the last brings its bytes.
        newest = self._cache.newest(key)
        listing = self._listed if newest is None else self._listed_newer.params(newest=newest)
        rows = await tx.rows(listing.params(usr=tx.scope.usr))
        parts = [Part(row.id, row.stamp) for row in rows]
        draft = self._cache.draft(key, parts, self.model)
        came = {part: row for part, row in zip(parts, rows, strict=True) if row.body_sealed is not None}
        wanted = [part for part in draft.missing if part not in came]
        sealed, spots = await self._bodies(tx, wanted) if wanted else ({}, {})
        sealed |= {part: row.body_sealed for part, row in came.items()}
        spots |= {part: spot for part, row in came.items() if (spot := _spot(row)) is not None}
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


def _listing(kind: str, *, with_newer: bool) -> Select[Any]:
    """Return the query of all rows of `usr`, segments first: of an item in two the last counts.

    It has the bytes of what is newer than `newest`, where that is asked for. Segments have no revision: -1 tells one
    from a newer item of the same id.
    """
    usr = bindparam("usr", type_=Uuid)
    older = select(
        segments.c.id,
        literal(-1).label("stamp"),
        literal(value=True).label("embedded"),
        cast(null(), LargeBinary).label("body_sealed"),
        cast(null(), BigInteger).label("ordinal"),
        cast(null(), BigInteger).label("time_ms"),
    ).where(segments.c.usr == usr, segments.c.kind == kind)
    is_newer = segment_items.c.id > bindparam("newest", type_=Uuid)
    newer = select(
        segment_items.c.id,
        segment_items.c.revision,
        segment_items.c.embedded,
        case((is_newer, segment_items.c.body_sealed)) if with_newer else cast(null(), LargeBinary),
        segment_items.c.ordinal,
        segment_items.c.time_ms,
    ).where(segment_items.c.usr == usr, segment_items.c.kind == kind)
    either = union_all(older, newer).subquery()
    return select(either).order_by(either.c.stamp >= 0, either.c.id)


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
