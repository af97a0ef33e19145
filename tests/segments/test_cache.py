"""The cache decodes each row once, keeps within its bound, shares builds, and forgets a user at once."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from uuid import UUID, uuid4

import numpy as np
import pytest

from app.infra.segments.cache import IndexCache, Key, Part
from app.infra.segments.codec import SegmentError, encode
from app.infra.segments.index import Index
from app.infra.segments.packing import Item, pack

MODEL = "m"
LARGE = 2**30


def body(number: int, *, dimensions: int = 8) -> bytes:
    vector = np.ones(dimensions, np.float32)
    item = Item(UUID(int=number), UUID(int=9), number, number, np.array([number], np.uint64), vector=vector)
    return encode(pack([item], MODEL))


class Rows:
    """What a store has: a body for each row. Notes which rows were opened, and in which thread."""

    def __init__(self, count: int) -> None:
        self.parts = [Part(UUID(int=number)) for number in range(count)]
        self.opened: list[Part] = []
        self.threads: set[int] = set()

    def bodies(self, parts: tuple[Part, ...]) -> Mapping[Part, bytes]:
        return {part: body(part.id.int) for part in parts}

    def unseal(self, part: Part, data: bytes) -> bytes:
        self.opened.append(part)
        self.threads.add(threading.get_ident())
        return data


async def load(cache: IndexCache, key: Key, rows: Rows, unseal: Callable[[Part, bytes], bytes] | None = None) -> Index:
    draft = cache.draft(key, rows.parts, MODEL)
    return await cache.finish(draft, rows.bodies(draft.missing), unseal or rows.unseal)


async def test_the_same_rows_are_opened_once_and_in_a_thread() -> None:
    cache, key, rows = IndexCache(LARGE), Key(uuid4(), "message"), Rows(5)
    first, second = await load(cache, key, rows), await load(cache, key, rows)
    assert first is second
    assert rows.opened == rows.parts
    assert rows.threads.isdisjoint({threading.get_ident()})


async def test_only_a_row_that_is_new_or_changed_is_opened() -> None:
    cache, key, rows = IndexCache(LARGE), Key(uuid4(), "message"), Rows(5)
    await load(cache, key, rows)
    rows.opened.clear()
    rows.parts = [*rows.parts[1:4], Part(UUID(int=4), 1), Part(UUID(int=5))]
    found = await load(cache, key, rows)
    assert rows.opened == [Part(UUID(int=4), 1), Part(UUID(int=5))]
    assert len(found) == 5


async def test_the_newest_row_of_one_item_is_told_and_none_where_nothing_is_decoded() -> None:
    cache, key, rows = IndexCache(LARGE), Key(uuid4(), "message"), Rows(3)
    assert cache.newest(key) is None
    await load(cache, key, rows)
    assert cache.newest(key) == UUID(int=2)
    rows.parts = [Part(UUID(int=7), -1)]
    await load(cache, key, rows)
    assert cache.newest(key) == UUID(int=0)


async def test_users_kinds_and_models_are_apart() -> None:
    cache, usr, rows = IndexCache(LARGE), uuid4(), Rows(2)
    for key in (Key(usr, "message"), Key(usr, "chunk"), Key(uuid4(), "message")):
        assert cache.draft(key, rows.parts, MODEL).missing == tuple(rows.parts)
        await load(cache, key, rows)
    changed = cache.draft(Key(usr, "message"), rows.parts, "other")
    assert (changed.missing, changed.index) == (tuple(rows.parts), None)
    assert (await cache.finish(changed, rows.bodies(changed.missing), rows.unseal)).embedded == 0


async def test_ten_callers_at_once_share_one_build() -> None:
    cache, key, rows = IndexCache(LARGE), Key(uuid4(), "message"), Rows(20)
    found = await asyncio.gather(*(load(cache, key, rows) for _ in range(10)))
    assert len({id(index) for index in found}) == 1
    assert sorted(rows.opened) == rows.parts


async def test_a_caller_that_goes_away_fails_no_other() -> None:
    cache, key, rows = IndexCache(LARGE), Key(uuid4(), "message"), Rows(3)
    go = threading.Event()

    def slowly(part: Part, data: bytes) -> bytes:
        go.wait(10)
        return rows.unseal(part, data)

    callers = [asyncio.create_task(load(cache, key, rows, slowly)) for _ in range(2)]
    await asyncio.sleep(0)  # both have begun
    callers[0].cancel()
    go.set()
    assert len(await callers[1]) == 3
    assert cache.draft(key, rows.parts, MODEL).index is not None


async def test_the_bound_is_kept_and_the_least_used_goes_first() -> None:
    keys, rows = [Key(UUID(int=number), "message") for number in range(4)], Rows(4)
    measure = IndexCache(LARGE)
    await load(measure, keys[0], rows)
    cache = IndexCache(int(measure.size_bytes * 2.5))
    await load(cache, keys[0], rows)
    await load(cache, keys[1], rows)
    await load(cache, keys[0], rows)  # used again
    await load(cache, keys[2], rows)
    kept = [key for key in keys if cache.draft(key, rows.parts, MODEL).index is not None]
    assert kept == [keys[0], keys[2]]
    assert cache.size_bytes == 2 * measure.size_bytes


async def test_what_alone_is_over_the_bound_is_used_and_not_kept() -> None:
    cache, key, rows = IndexCache(10), Key(uuid4(), "message"), Rows(3)
    assert len(await load(cache, key, rows)) == 3
    assert cache.size_bytes == 0
    assert cache.draft(key, rows.parts, MODEL).index is None


async def test_a_row_evicted_between_draft_and_finish_is_still_there() -> None:
    cache, key, rows = IndexCache(LARGE), Key(uuid4(), "message"), Rows(3)
    await load(cache, key, rows)
    rows.parts = [*rows.parts, Part(UUID(int=3))]
    draft = cache.draft(key, rows.parts, MODEL)
    cache.forget(key.usr)
    assert len(await cache.finish(draft, rows.bodies(draft.missing), rows.unseal)) == 4


async def test_a_forgotten_user_leaves_nothing_and_what_is_being_built_is_not_kept() -> None:
    cache, usr, rows = IndexCache(LARGE), uuid4(), Rows(3)
    await load(cache, Key(usr, "chunk"), rows)
    other = Key(uuid4(), "message")
    await load(cache, other, rows)
    go = threading.Event()

    def slowly(part: Part, data: bytes) -> bytes:
        go.wait(10)
        return rows.unseal(part, data)

    building = asyncio.create_task(load(cache, Key(usr, "message"), rows, slowly))
    await asyncio.sleep(0)
    before = cache.size_bytes
    cache.forget(usr)
    go.set()
    assert len(await building) == 3
    assert cache.size_bytes == before // 2
    for kind in ("chunk", "message"):
        assert cache.draft(Key(usr, kind), rows.parts, MODEL).known == {}
    assert cache.draft(other, rows.parts, MODEL).index is not None


async def test_a_damaged_row_fails_the_call_and_is_not_kept() -> None:
    cache, key, rows = IndexCache(LARGE), Key(uuid4(), "message"), Rows(2)
    with pytest.raises(SegmentError):
        await load(cache, key, rows, lambda _part, data: data[:-1])
    assert len(await load(cache, key, rows)) == 2


async def test_rows_that_were_merged_before_make_the_same_index_as_all_at_once() -> None:
    cache, key, rows = IndexCache(LARGE), Key(uuid4(), "message"), Rows(0)
    numbers: list[Part] = []
    for step in range(6):
        numbers += [Part(UUID(int=number)) for number in range(step * 20, step * 20 + 20)]
        numbers[step] = Part(numbers[step].id, step + 1)
        if step == 4:
            del numbers[3:10]
        rows.parts = list(numbers)
        grown = await load(cache, key, rows)
        fresh = await load(IndexCache(LARGE), key, rows)
        assert len(grown) == len(fresh) == grown.embedded == len(numbers)
        for number in (0, 15, step * 20 + 19):
            term = np.array([number], np.uint64)
            hits = grown.search(term, np.ones(8, np.float32), top_k=5)
            assert hits == fresh.search(term, np.ones(8, np.float32), top_k=5)
            assert [hit.item.int for hit in hits if hit.lexical] == [number] * (
                Part(UUID(int=number)).id in {part.id for part in numbers}
            )
