"""Segments merge, grow vectors and lose items as if they had been packed so from the beginning."""

from dataclasses import fields, replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.infra.segments.codec import MAX_ITEMS, Segment, decode, encode
from app.infra.segments.index import Index
from app.infra.segments.packing import (
    MAX_FREQUENCY,
    Item,
    first_vectors,
    merge,
    merge_all,
    of_model,
    only,
    pack,
    sets,
    with_vectors,
    without,
)

MODEL, OTHER = "m1", "m2"
TERMS = st.lists(st.integers(0, 6), max_size=6).map(lambda ids: np.array(ids, np.uint64))
ROW = st.lists(st.integers(-3, 3), min_size=4, max_size=4)
VECTORS = (ROW | st.lists(ROW, min_size=1, max_size=3)).map(lambda v: np.array(v, np.float32))


@st.composite
def items(draw: st.DrawFn) -> list[Item]:
    return [
        Item(
            id=UUID(int=number),
            group=UUID(int=draw(st.integers(100, 103))),
            ordinal=number,
            time_ms=number * 1000,
            terms=draw(TERMS),
            vector=draw(st.none() | VECTORS),
        )
        for number in range(draw(st.integers(0, 9)))
    ]


def assert_equal(one: Segment, other: Segment) -> None:
    """Equal in all that a reader sees: which number a group has is the writer's business."""
    for field in fields(Segment):
        if field.name not in {"groups", "group_of", "vectors"}:
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)
    np.testing.assert_array_equal(one.vectors.reshape(-1), other.vectors.reshape(-1))
    assert [one.group_ids()[code] for code in one.group_of] == [other.group_ids()[code] for code in other.group_of]
    assert set(one.group_ids()) == set(other.group_ids())


@given(items(), st.integers(0, 9), st.integers(0, 9))
def test_merging_is_packing_together(all_items: list[Item], one: int, other: int) -> None:
    a, b = sorted((one, other))
    parts = [pack(all_items[:a], MODEL), pack(all_items[a:b], MODEL), pack(all_items[b:], MODEL)]
    assert_equal(merge(parts, MODEL), pack(all_items, MODEL))
    assert_equal(merge([pack([item], MODEL) for item in all_items], MODEL), pack(all_items, MODEL))


@given(items(), st.sets(st.integers(0, 9)))
def test_taking_items_out_is_never_having_packed_them(all_items: list[Item], gone: set[int]) -> None:
    left = without(pack(all_items, MODEL), {UUID(int=number) for number in gone})
    assert_equal(left, pack([item for item in all_items if item.id.int not in gone], MODEL))
    assert_equal(decode(encode(left)), left)


@given(items(), st.dictionaries(st.integers(0, 9), VECTORS))
def test_adding_vectors_is_having_packed_them(all_items: list[Item], vectors: dict[int, np.ndarray]) -> None:
    grown = with_vectors(pack(all_items, MODEL), {UUID(int=number): v for number, v in vectors.items()}, MODEL)
    assert_equal(grown, pack([replace(i, vector=vectors.get(i.id.int, i.vector)) for i in all_items], MODEL))


def test_vectors_of_two_models_stand_beside_each_other_and_are_never_mixed() -> None:
    old = [
        Item(UUID(int=n), UUID(int=9), n, 0, np.empty(0, np.uint64), vector=np.ones(4, np.float32)) for n in range(3)
    ]
    new = with_vectors(pack(old, MODEL), {UUID(int=1): np.ones(8, np.float32)}, OTHER)
    assert [(one.model, one.embedded.tolist(), one.vectors.shape) for one in sets(new)] == [
        (MODEL, [1, 1, 1], (3, 4)),
        (OTHER, [0, 1, 0], (1, 8)),
    ]
    both = [pack([replace(old[0], id=UUID(int=7))], MODEL), new]
    merged = merge(both, OTHER)
    assert (merged.model, merged.embedded.tolist(), merged.beside) == (OTHER, [0, 0, 1, 0], ())
    kept = without(merge_all(both, [MODEL, OTHER]), {UUID(int=0)})
    assert [(one.model, one.embedded.tolist()) for one in sets(kept)] == [(MODEL, [1, 1, 1]), (OTHER, [0, 1, 0])]
    assert [one.model for one in sets(only(kept, [OTHER]))] == [OTHER]
    read = decode(encode(kept))
    for one, other in zip(sets(read), sets(kept), strict=True):
        np.testing.assert_array_equal(one.vectors, other.vectors)
        np.testing.assert_array_equal(one.scales, other.scales)
    assert list(first_vectors(of_model(read, OTHER), kept.item_ids())) == [UUID(int=1)]
    assert [Index([read], model).embedded for model in (MODEL, OTHER, "a third")] == [3, 1, 0]


def test_a_frequency_past_what_is_counted_is_kept_as_that() -> None:
    often = Item(UUID(int=1), UUID(int=9), 0, 0, np.full(MAX_FREQUENCY + 5, 3, np.uint64))
    assert pack([often]).counts.tolist() == [MAX_FREQUENCY]


def test_more_than_a_segment_is_not_merged() -> None:
    half = pack([Item(UUID(int=n), UUID(int=9), n, 0, np.empty(0, np.uint64)) for n in range(MAX_ITEMS // 2 + 1)])
    with pytest.raises(ValueError, match="at most 512"):
        merge([half, half])
