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
from app.infra.segments.packing import (
    Item,
    Spot,
    Vector,
    at,
    first_vectors,
    merge_all,
    of_model,
    pack,
    sets,
    with_vectors,
    without,
)
from app.infra.segments.tables import segment_items, segments

# So many embedded items make a segment, and such small segments a full one: a recall reads few rows, an item is written
# twice. A segment of FULL_ITEMS or more, as deletions leave it, stays as it is.
SMALL_ITEMS: Final = 32
FULL_ITEMS: Final = 256
# A batch of writes at a time: a statement's size stays bounded, whatever a document has.
BATCH: Final = 512
ROW: Final = (
    segment_items.c.id,
    segment_items.c.revision,
    segment_items.c.body_sealed,
    segment_items.c.ordinal,
    segment_items.c.time_ms,
    segment_items.c.models,
)

# An item's vectors, by the name of the model that has made them.
ByModel = Mapping[str, Vector]


@dataclass(frozen=True, slots=True)
class Loaded:
    """An index, and how many of its items wait to be embedded. The index's vectors are of one model."""

    index: Index
    pending: int


class SegmentStore:
    """The index of one kind of memory. A model is named with its revision: vectors of two models don't mix.

    Each row says which models have made vectors of all of its items, and has all of a model's or none.
    """

    def __init__(self, kind: str, cache: IndexCache, *models: str) -> None:
        """Take the kind (`message`, `chunk`), the process's cache and the models: the one that is wanted, and the one
        before it while that is being replaced.
        """
        self.kind = kind
        self._cache = cache
        self.models = models
        # Made once: to make one of them takes as long as to ask it.
        self._listed, self._listed_newer = (
            _listing(kind, with_newer=with_newer, with_models=len(models) > 1) for with_newer in (False, True)
        )

    async def add(self, tx: Transaction, items: Sequence[Item], entry: AuditEntry) -> None:
        """Add items; those with a vector need no embedding."""
        for start in range(0, len(items), BATCH):
            rows = [
                {
                    **tx.owner,
                    "id": item.id,
                    "kind": self.kind,
                    **_with_models(segment := pack([item], self.models[0])),
                    "body_sealed": _seal_item(tx.box, item.id, 0, segment),
                }
                for item in items[start : start + BATCH]
            ]
            await tx.change(insert(segment_items), entry, rows)

    def sealed(self, box: Box, item: Item) -> bytes:
        """Return the row of an item whose place and time aren't known yet: they are written beside it."""
        return _seal_item(box, item.id, 0, pack([item], self.models[0]))

    async def unembedded(self, tx: Transaction, limit: int) -> list[UUID]:
        """Return the oldest items that wait to be embedded."""
        query = select(segment_items.c.id).filter_by(**self.mine(tx), embedded=False)
        return [row.id for row in await tx.rows(query.order_by(segment_items.c.id).limit(limit))]

    async def attach(self, tx: Transaction, vectors: Mapping[UUID, ByModel], entry: AuditEntry) -> None:
        """Give items their vectors. An item that is gone meanwhile, or has one, is passed over."""
        query = select(*ROW).filter_by(**self.mine(tx), embedded=False).where(segment_items.c.id.in_(vectors))
        for row in await tx.rows(query.order_by(segment_items.c.id).with_for_update()):
            segment = opened(tx.box, row)
            for model, vector in vectors[row.id].items():
                segment = with_vectors(segment, {row.id: vector}, model)
            await self.rewrite(tx, row, segment, list(vectors[row.id]), entry)

    async def rewrite(
        self, tx: Transaction, row: Row[Any], segment: Segment, models: Sequence[str], entry: AuditEntry
    ) -> None:
        """Write the row of a newer item anew."""
        body = _seal_item(tx.box, row.id, row.revision + 1, segment)
        values = {"revision": row.revision + 1, "embedded": True, "models": models, "body_sealed": body}
        await tx.change(update(segment_items).filter_by(**self.mine(tx), id=row.id).values(values), entry)

    async def compact(self, tx: Transaction, entry: AuditEntry) -> int:
        """Put embedded items, where there are enough of them, into a segment, or small segments into a full one; return
        how many items were moved. One segment a call.
        """
        oldest = select(segment_items.c.id, segment_items.c.models).filter_by(**self.mine(tx), embedded=True)
        models, rows = _alike(await tx.rows(oldest.order_by(segment_items.c.id).limit(MAX_ITEMS)))
        ids = [row.id for row in rows]
        if len(ids) < SMALL_ITEMS:
            return await self._merge_small(tx, entry)
        # What a deletion took meanwhile doesn't come back here, and doesn't come back into the segment.
        taken = delete(segment_items).filter_by(**self.mine(tx)).where(segment_items.c.id.in_(ids)).returning(*ROW)
        moved = [opened(tx.box, row) for row in sorted((await tx.change(taken, entry)).all(), key=lambda row: row.id)]
        if moved:
            await self.insert(tx, merge_all(moved, models), models, entry)
        return len(moved)

    async def alone(self, tx: Transaction) -> None:
        """Wait for who moves items from segment to segment, or takes some out: one that looks for an item while it is
        moved would find it in neither.
        """
        name = func.hashtextextended(f"segments {tx.scope.usr} {self.kind}", 0)
        await tx.rows(select(func.pg_advisory_xact_lock(name)))

    async def _merge_small(self, tx: Transaction, entry: AuditEntry) -> int:
        """Make a full segment of small ones, where they suffice: each item is written twice, and few rows are read."""
        await self.alone(tx)
        items = func.cardinality(segments.c.item_ids)
        small = select(segments.c.id, items.label("items"), segments.c.models).where(items < FULL_ITEMS)
        models, listed = _alike(await tx.rows(small.filter_by(**self.mine(tx)).order_by(segments.c.id)))
        if sum(row.items for row in listed) < MAX_ITEMS:
            return 0
        sums = accumulate(row.items for row in listed)
        chosen = [row.id for row, held in zip(listed, sums, strict=True) if held <= MAX_ITEMS]
        taken = delete(segments).filter_by(**self.mine(tx)).where(segments.c.id.in_(chosen))
        rows = (await tx.change(taken.returning(segments.c.id, segments.c.body_sealed), entry)).all()
        taken_out = [opened_segment(tx.box, row) for row in sorted(rows)]
        if taken_out:
            await self.insert(tx, merge_all(taken_out, models), models, entry)
        return sum(map(len, taken_out))

    async def remove(self, tx: Transaction, ids: Sequence[UUID], entry: AuditEntry) -> None:
        """Take items out, wherever they are. Newer items first: compaction moves from there into the segments."""
        await self.alone(tx)
        for start in range(0, len(ids), BATCH):
            some = list(ids[start : start + BATCH])
            await tx.change(delete(segment_items).filter_by(**self.mine(tx)).where(segment_items.c.id.in_(some)), entry)
            holding = select(segments.c.id, segments.c.body_sealed, segments.c.models).filter_by(**self.mine(tx))
            holding = holding.where(segments.c.item_ids.overlap(some)).order_by(segments.c.id).with_for_update()
            for row in await tx.rows(holding):
                left = without(opened_segment(tx.box, row), frozenset(some))
                await tx.change(delete(segments).filter_by(usr=tx.scope.usr, id=row.id), entry)
                if len(left):
                    await self.insert(tx, left, row.models, entry)

    async def vectors(self, tx: Transaction, ids: Sequence[UUID], model: str) -> dict[UUID, Vector]:
        """Return the first vector of each of these items that a model has made one of."""
        found: dict[UUID, Vector] = {}
        for start in range(0, len(ids), BATCH):
            some = list(ids[start : start + BATCH])
            newer = select(*ROW).filter_by(**self.mine(tx)).where(segment_items.c.id.in_(some))
            older = select(segments.c.id, segments.c.body_sealed).filter_by(**self.mine(tx))
            parts = [opened(tx.box, row) for row in await tx.rows(newer)]
            held = await tx.rows(older.where(segments.c.item_ids.overlap(some)))
            parts += [opened_segment(tx.box, row) for row in held]
            for part in parts:
                found |= first_vectors(of_model(part, model), some)
        return found

    async def complete(self, tx: Transaction) -> list[str]:
        """Return those of the models that have made vectors of everything that is embedded."""
        rows = [row.models for row in await tx.rows(_models_of(self.kind, tx.scope.usr))]
        return [model for model in self.models if all(model in (models or ()) for models in rows)]

    async def load(self, tx: Transaction) -> Loaded:
        """Return the index of all items as this transaction sees them."""
        key = Key(tx.scope.usr, self.kind)
        # One question for all: each costs a recall a millisecond. What was appended since the last brings its bytes.
        newest = self._cache.newest(key)
        listing = self._listed if newest is None else self._listed_newer.params(newest=newest)
        rows = await tx.rows(listing.params(usr=tx.scope.usr))
        parts = [Part(row.id, row.stamp) for row in rows]
        draft = self._cache.draft(key, parts, self._searched(rows))
        came = {part: row for part, row in zip(parts, rows, strict=True) if row.body_sealed is not None}
        wanted = [part for part in draft.missing if part not in came]
        sealed, spots = await self._bodies(tx, wanted) if wanted else ({}, {})
        sealed |= {part: row.body_sealed for part, row in came.items()}
        spots |= {part: spot for part, row in came.items() if (spot := _spot(row)) is not None}
        box = tx.box
        index = await self._cache.finish(draft, sealed, lambda part, body: box.open(body, _place(part)), spots)
        return Loaded(index, pending=sum(not row.embedded for row in rows))

    def _searched(self, rows: Sequence[Row[Any]]) -> str:
        """Return the model whose vectors are searched: the wanted one as soon as it has made all, until then the one
        that has made most. Rows that nobody has looked into are of before, when there was one model.
        """
        if len(self.models) == 1:
            return self.models[0]
        last = self.models[-1:]
        made = {
            model: sum(row.items for row in rows if row.embedded and model in (row.models or last))
            for model in self.models
        }
        return max(self.models, key=lambda model: made[model])

    async def _bodies(self, tx: Transaction, missing: Sequence[Part]) -> tuple[dict[Part, bytes], dict[Part, Spot]]:
        bodies: dict[Part, bytes] = {}
        spots: dict[Part, Spot] = {}
        older = [part.id for part in missing if part.stamp < 0]
        newer = [part.id for part in missing if part.stamp >= 0]
        if older:
            query = select(segments.c.id, segments.c.body_sealed).filter_by(**self.mine(tx))
            for row in await tx.rows(query.where(segments.c.id.in_(older))):
                bodies[Part(row.id, -1)] = row.body_sealed
        for start in range(0, len(newer), BATCH):
            items = select(*ROW).filter_by(**self.mine(tx))
            for row in await tx.rows(items.where(segment_items.c.id.in_(newer[start : start + BATCH]))):
                part = Part(row.id, row.revision)
                bodies[part] = row.body_sealed
                spot = _spot(row)
                if spot is not None:
                    spots[part] = spot
        return bodies, spots

    async def insert(self, tx: Transaction, segment: Segment, models: Sequence[str] | None, entry: AuditEntry) -> None:
        """Write a segment of older items; `models` have made vectors of all of it."""
        segment_id = uuid7()
        await tx.change(
            insert(segments).values(
                **tx.owner,
                id=segment_id,
                kind=self.kind,
                item_ids=segment.item_ids(),
                models=models,
                body_sealed=tx.box.seal(encode(segment), _segment_place(segment_id)),
            ),
            entry,
        )

    def mine(self, tx: Transaction) -> dict[str, Any]:
        """Return what all rows of the user's and of this kind have."""
        return {"usr": tx.scope.usr, "kind": self.kind}


def _alike(rows: Sequence[Row[Any]]) -> tuple[list[str], Sequence[Row[Any]]]:
    """Return most of the rows: those that the same models have made vectors of. What nobody has looked into stays."""
    by_models: dict[tuple[str, ...], list[Row[Any]]] = {}
    for row in rows:
        if row.models:
            by_models.setdefault(tuple(sorted(row.models)), []).append(row)
    models = max(by_models, key=lambda models: len(by_models[models]), default=())
    return list(models), by_models.get(models, [])


def _with_models(segment: Segment) -> dict[str, Any]:
    models = [one.model for one in sets(segment)]
    return {"embedded": bool(models), "models": models}


def _models_of(kind: str, usr: UUID) -> Select[Any]:
    older = select(segments.c.models).filter_by(usr=usr, kind=kind)
    newer = select(segment_items.c.models).filter_by(usr=usr, kind=kind, embedded=True)
    either = union_all(older, newer).subquery()
    return select(either.c.models).distinct()


def _listing(kind: str, *, with_newer: bool, with_models: bool) -> Select[Any]:
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
        *((segments.c.models, func.cardinality(segments.c.item_ids).label("items")) if with_models else ()),
    ).where(segments.c.usr == usr, segments.c.kind == kind)
    is_newer = segment_items.c.id > bindparam("newest", type_=Uuid)
    newer = select(
        segment_items.c.id,
        segment_items.c.revision,
        segment_items.c.embedded,
        case((is_newer, segment_items.c.body_sealed)) if with_newer else cast(null(), LargeBinary),
        segment_items.c.ordinal,
        segment_items.c.time_ms,
        *((segment_items.c.models, literal(1).label("items")) if with_models else ()),
    ).where(segment_items.c.usr == usr, segment_items.c.kind == kind)
    either = union_all(older, newer).subquery()
    return select(either).order_by(either.c.stamp >= 0, either.c.id)


def opened(box: Box, row: Row[Any]) -> Segment:
    """Open the row of a newer item."""
    return at(decode(box.open(row.body_sealed, _item_place(row.id, row.revision))), _spot(row))


def opened_segment(box: Box, row: Row[Any]) -> Segment:
    """Open the row of a segment."""
    return decode(box.open(row.body_sealed, _segment_place(row.id)))


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
