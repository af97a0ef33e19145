"""Vectors of another model for what is indexed already: the worker makes them row by row, beside those of before.

A row is written when all of it is made, so that a worker that is killed does that row again and no more. Search goes
over to the new vectors by itself, when every row of the user's has them (`SegmentStore.load`). Vectors of models that
aren't asked any more go afterwards.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Table, Text, Uuid, bindparam, delete, not_, or_, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.db.transaction import Database, Transaction
from app.infra.embedders.models import Models
from app.infra.embedders.port import EmbedderMisconfiguredError, EmbedderUnavailableError
from app.infra.segments.codec import Segment
from app.infra.segments.packing import Vector, only, sets, with_vectors
from app.infra.segments.store import ROW, SegmentStore, opened, opened_segment
from app.infra.segments.tables import segment_items, segments

NEWER_ITEMS: Final = 64
# After so many rows other jobs of the user's have their turn.
ROWS_A_TURN: Final = 4
PAGE_USERS: Final = 1_000
_FIRST: Final = UUID(int=0)
_OTHER_MODELS: Final = text("SELECT tenant, usr, kinds FROM index_of_other_models(:wanted, :past, :most)").bindparams(
    bindparam("wanted", type_=ARRAY(Text)), bindparam("past", type_=Uuid)
)

_BY_MODEL: Final = text("SELECT kind, model, items, made FROM index_by_model(:wanted)").bindparams(
    bindparam("wanted", type_=ARRAY(Text))
)

# Gives the pieces of text that items have a vector each of; an item that isn't there any more is left out.
Texts = Callable[[Transaction, Sequence[UUID]], Awaitable[Mapping[UUID, Sequence[str]]]]
# What else is written where vectors are, and what follows when a user has all of them.
Kept = Callable[[Transaction, Mapping[UUID, Vector], str, AuditEntry], Awaitable[None]]
Completed = Callable[[Scope], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Behind:
    """A segment, or newer items, that lack vectors of the wanted model; `items` are those to be embedded."""

    segment: UUID | None
    rows: Sequence[UUID]
    items: Sequence[UUID]


class RenewVectors:
    """Makes a kind's vectors anew, for one user. A Handler of app.core.jobs, and an Ageing of app.core.ageing."""

    def __init__(
        self,
        name: str,
        db: Database,
        segments: SegmentStore,
        models: Models,
        texts: Texts,
        kept: Kept | None = None,
        completed: Completed | None = None,
    ) -> None:
        """Take the job's name, the doors, the index, the models, what knows the items' texts, and what follows."""
        self.name = self.job = name
        self._db = db
        self._segments = segments
        self._models = models
        self._texts = texts
        self._kept = kept
        self._completed = completed
        self._entry = AuditEntry("renew", segments.kind)

    async def due(self) -> AsyncIterator[tuple[str, UUID]]:
        """Yield everybody who has vectors to be made, or to be let go of."""
        past = _FIRST
        asked = {"wanted": list(self._segments.models), "most": PAGE_USERS}
        while page := await self._db.survey(_OTHER_MODELS, asked | {"past": past}):
            for row in page:
                if self._segments.kind in row.kinds:
                    yield row.tenant, row.usr
            past = page[-1].usr

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Make some, and owe the rest; let go of what isn't needed when all are made. May run twice."""
        del args
        for _ in range(ROWS_A_TURN):
            if not await self._renew_next(scope):
                break
        else:
            async with self._db.maintain(scope) as tx:
                tx.enqueue(Job(self.name, once=self.name))
            return
        while await self._tidy_next(scope):
            pass
        if self._completed is not None:
            await self._completed(scope)

    async def _renew_next(self, scope: Scope) -> bool:
        async with self._db.read(scope) as tx:
            behind = await _behind(self._segments, tx)
            if behind is None:
                return False
            texts = await self._texts(tx, behind.items) if behind.items else {}
        vectors = await self._embedded(scope, {item: pieces for item, pieces in texts.items() if pieces})
        async with self._db.maintain(scope) as tx:
            await _renew(self._segments, tx, behind, vectors, self._entry)
            if self._kept is not None and vectors:
                await self._kept(tx, vectors, self._models.wanted.name, self._entry)
        return True

    async def _embedded(self, scope: Scope, texts: Mapping[UUID, Sequence[str]]) -> Mapping[UUID, Vector]:
        if not texts:
            return {}
        try:
            rows = await self._models.embed_wanted(scope, [piece for pieces in texts.values() for piece in pieces])
        except (EmbedderUnavailableError, EmbedderMisconfiguredError) as error:
            # The queue waits for a store that is down as long as it takes; search goes on with what there is.
            raise AppError("store_unavailable", "the embedder") from error
        vectors: dict[UUID, Vector] = {}
        start = 0
        for item, pieces in texts.items():
            vectors[item] = rows[start : start + len(pieces)]
            start += len(pieces)
        return vectors

    async def _tidy_next(self, scope: Scope) -> bool:
        async with self._db.maintain(scope) as tx:
            return await _tidy(self._segments, tx, self._entry)


async def progress(db: Database, models: Sequence[str]) -> Sequence[Row[Any]]:  # Any: kind, model, items and made
    """Return how many of everybody's items there are of each kind, and of how many each model has made vectors."""
    return await db.survey(_BY_MODEL, {"wanted": list(models)})


async def _behind(store: SegmentStore, tx: Transaction) -> Behind | None:
    wanted = store.models[0]
    older = select(segments).filter_by(**store.mine(tx)).where(_lacks(segments, wanted))
    row = await tx.row(older.order_by(segments.c.id).limit(1))
    if row is not None:
        return Behind(row.id, [row.id], _unmade(opened_segment(tx.box, row), wanted))
    newer = select(*ROW).filter_by(**store.mine(tx), embedded=True).where(_lacks(segment_items, wanted))
    rows = await tx.rows(newer.order_by(segment_items.c.id).limit(NEWER_ITEMS))
    items = [item for row in rows for item in _unmade(opened(tx.box, row), wanted)]
    return Behind(None, [row.id for row in rows], items) if rows else None


async def _renew(
    store: SegmentStore, tx: Transaction, behind: Behind, vectors: Mapping[UUID, Vector], entry: AuditEntry
) -> None:
    """Write the vectors. A row that was moved or changed meanwhile has another id, or is looked at again."""
    wanted = store.models[0]
    await store.alone(tx)
    if behind.segment is None:
        newer = select(*ROW).filter_by(**store.mine(tx)).where(segment_items.c.id.in_(behind.rows))
        for row in await tx.rows(newer.order_by(segment_items.c.id).with_for_update()):
            segment = with_vectors(opened(tx.box, row), {row.id: vectors[row.id]} if row.id in vectors else {}, wanted)
            await store.rewrite(tx, row, segment, _named(row, segment, wanted), entry)
        return
    held = select(segments).filter_by(usr=tx.scope.usr, id=behind.segment).with_for_update()
    found = await tx.row(held)
    if found is None:
        return
    row = found
    before = opened_segment(tx.box, row)
    if not vectors:
        named = update(segments).filter_by(usr=tx.scope.usr, id=row.id).values(models=_named(row, before, wanted))
        await tx.change(named, entry)
        return
    renewed = with_vectors(before, vectors, wanted)
    await tx.change(delete(segments).filter_by(usr=tx.scope.usr, id=row.id), entry)
    await store.insert(tx, renewed, _named(row, renewed, wanted), entry)


async def _tidy(store: SegmentStore, tx: Transaction, entry: AuditEntry) -> bool:
    """Take the vectors of models that aren't asked any more out of one row; return whether there was one."""
    await store.alone(tx)
    older = select(segments).filter_by(**store.mine(tx)).where(_has_others(segments, store.models))
    row = await tx.row(older.order_by(segments.c.id).limit(1).with_for_update())
    if row is not None:
        kept = [model for model in row.models if model in store.models]
        await tx.change(delete(segments).filter_by(usr=tx.scope.usr, id=row.id), entry)
        await store.insert(tx, only(opened_segment(tx.box, row), kept), kept, entry)
        return True
    newer = select(*ROW).filter_by(**store.mine(tx)).where(_has_others(segment_items, store.models))
    row = await tx.row(newer.order_by(segment_items.c.id).limit(1).with_for_update())
    if row is not None:
        kept = [model for model in row.models if model in store.models]
        await store.rewrite(tx, row, only(opened(tx.box, row), kept), kept, entry)
    return row is not None


def _lacks(table: Table, wanted: str) -> ColumnElement[bool]:
    return or_(table.c.models.is_(None), not_(table.c.models.contains([wanted])))


def _has_others(table: Table, models: Sequence[str]) -> ColumnElement[bool]:
    others: ColumnElement[bool] = not_(table.c.models.contained_by(list(models)))
    return others


def _unmade(segment: Segment, wanted: str) -> list[UUID]:
    made = next((one.embedded for one in sets(segment) if one.model == wanted), None)
    return [item for place, item in enumerate(segment.item_ids()) if made is None or not made[place]]


def _named(row: Row[Any], segment: Segment, wanted: str) -> list[str]:  # Any: a row with models
    """Return the models that have made vectors of all of a row: what it says, and the wanted one.

    Of a row that was never looked into it is what is in it: then there was one model.
    """
    before = row.models or [one.model for one in sets(segment)]
    return list(dict.fromkeys([*before, wanted]))
