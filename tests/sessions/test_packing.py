"""The index of messages stays in few rows, however little is appended at a time, and loses and keeps nothing by it."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import numpy as np
from sqlalchemy import select

from app.core.audit import AuditEntry
from app.core.ids import uuid7
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.infra.segments.cache import IndexCache
from app.infra.segments.codec import MAX_ITEMS
from app.infra.segments.packing import Item
from app.infra.segments.store import SMALL_ITEMS, SegmentStore
from app.infra.segments.tables import segment_items, segments
from app.sessions.indexing import IndexMessages
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope
from tests.sessions.talk import append, open_session, recall, said

ENTRY = AuditEntry("compact", "message")


def indexer(wiring: Wiring) -> IndexMessages:
    return next(handler for handler in wiring.handlers if isinstance(handler, IndexMessages))


def item() -> Item:
    return Item(uuid7(), UUID(int=1), 0, 0, np.arange(3, dtype=np.uint64), vector=np.ones(4, np.float32))


async def rows(db: Database, scope: Scope) -> tuple[Sequence[Sequence[UUID]], int]:
    async with db.read(scope) as tx:
        packed = await tx.rows(select(segments.c.item_ids).filter_by(usr=scope.usr).order_by(segments.c.id))
        newer = await tx.rows(select(segment_items.c.id).filter_by(usr=scope.usr))
    return [row.item_ids for row in packed], len(newer)


async def test_a_few_messages_at_a_time_leave_few_rows_and_every_message_once(
    client: MakeClient, scope: MakeScope, wiring: Wiring
) -> None:
    alice, user = await client("alice"), await scope("alice")
    session = await open_session(alice)
    stored = 0
    for turn in range(15):
        stored += len(await append(alice, session, *(said(f"note {turn} {part}") for part in range(SMALL_ITEMS + 4))))
        await indexer(wiring).run(user, {})
    packed, newer = await rows(wiring.db, user)
    assert newer < SMALL_ITEMS
    assert max(map(len, packed)) > 15 * SMALL_ITEMS
    assert len(packed) < 4
    ids = [item for one in packed for item in one]
    assert len(ids) == len(set(ids)) == stored - newer
    assert (await recall(alice, "note 3 17", top_k=1))["hits"][0]["text"] == "note 3 17"


async def test_what_is_removed_while_small_segments_are_merged_is_gone(
    client: MakeClient, scope: MakeScope, wiring: Wiring
) -> None:
    await open_session(await client("alice"))
    user, db, store = await scope("alice"), wiring.db, SegmentStore("message", IndexCache(), "m")
    for _ in range(MAX_ITEMS // SMALL_ITEMS):
        async with db.write(user) as tx:
            await store.add(tx, [item() for _ in range(SMALL_ITEMS)], ENTRY)
        async with db.write(user) as tx:
            assert await store.compact(tx, ENTRY) == SMALL_ITEMS
    packed, _ = await rows(db, user)
    gone = packed[0][0]

    async def remove() -> None:
        async with db.write(user) as tx:
            await store.remove(tx, [gone], ENTRY)

    async with db.write(user) as tx:
        assert await store.compact(tx, ENTRY) == MAX_ITEMS
        removal = asyncio.create_task(remove())
        # Time to come as far as it can while the merge isn't committed: it waits for that.
        done, _ = await asyncio.wait({removal}, timeout=0.5)
        assert not done
    await removal
    packed, newer = await rows(db, user)
    assert [len(one) for one in packed] == [MAX_ITEMS - 1]
    assert gone not in packed[0]
    assert newer == 0
