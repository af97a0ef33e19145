"""A segment reads as it was written, and damaged bytes are refused, whatever the damage."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import fields, replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.infra.segments.codec import MAX_ITEMS, Role, Segment, SegmentError, decode, encode
from app.infra.segments.packing import Item, pack

IDS = st.uuids()
TERMS = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=12).map(lambda ids: np.array(ids, np.uint64))
VECTORS = st.none() | st.lists(
    st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4), min_size=1, max_size=3
).map(lambda rows: np.array(rows, np.float32))
ITEMS = st.lists(
    st.builds(
        Item,
        id=IDS,
        group=st.sampled_from([UUID(int=1), UUID(int=2), UUID(int=2**128 - 1)]),
        ordinal=st.integers(-(2**63), 2**63 - 1),
        time_ms=st.integers(-(2**63), 2**63 - 1),
        terms=TERMS,
        role=st.sampled_from(Role),
        language=st.integers(0, 255),
        speaker=st.integers(0, 2**64 - 1),
        vector=VECTORS,
    ),
    max_size=8,
    unique_by=lambda item: item.id,
)


def assert_equal(one: Segment, other: Segment) -> None:
    for field in fields(Segment):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


@given(ITEMS)
def test_a_segment_reads_as_it_was_written(items: list[Item]) -> None:
    segment = pack(items, "model-1")
    assert_equal(decode(encode(segment)), segment)


@given(ITEMS)
def test_an_item_keeps_all_that_was_said_of_it(items: list[Item]) -> None:
    read = decode(encode(pack(items, "model-1")))
    row = 0
    groups = read.group_ids()
    for place, item in enumerate(items):
        there = np.flatnonzero(read.places == place)
        terms = np.repeat(np.repeat(read.vocabulary, np.diff(read.starts))[there], read.counts[there])
        assert sorted(terms.tolist()) == sorted(item.terms.tolist())
        assert read.item_ids()[place] == item.id
        assert groups[read.group_of[place]] == item.group
        assert read.ordinals[place] == item.ordinal
        assert read.times_ms[place] == item.time_ms
        assert (read.roles[place], read.languages[place]) == (item.role, item.language)
        assert read.speakers[place] == item.speaker
        assert read.lengths[place] == len(item.terms)
        vectors: Sequence[np.ndarray] = [] if item.vector is None else list(item.vector)
        assert read.embedded[place] == len(vectors)
        for vector in vectors:
            kept = read.vectors[row] * read.scales[row]
            np.testing.assert_allclose(kept, vector, atol=np.abs(vector).max() / 250 + 1e-7)
            row += 1


def example() -> Segment:
    items = [
        Item(UUID(int=1), UUID(int=9), 0, 1_700_000_000_000, np.array([7, 5, 7], np.uint64), Role.USER, 1, 77),
        Item(
            UUID(int=2),
            UUID(int=9),
            1,
            1_700_000_060_000,
            np.array([5], np.uint64),
            vector=np.array([1, -0.5], np.float32),
        ),
    ]
    return pack(items, "m")


def test_bytes_of_the_first_format_stay_readable() -> None:
    assert_equal(decode(bytes.fromhex(FIRST_FORMAT)), example())


FIRST_FORMAT = (
    "435301644fa0643b000000020001200000001000000004000000100000001000000002000000020000001000000008000000"
    "100000000c000000060000000600000002000000040000006d789c636040018ca85c0626343e2756c5194fcf7703390941cf"
    "c0342310faa2696486aa6785f2d9d12c61869b08d20d1461646162b40100f34606567fc0"
)


def test_a_segment_is_of_the_second_format_only_where_an_item_has_several_vectors() -> None:
    one = Item(UUID(int=1), UUID(int=9), 0, 0, np.empty(0, np.uint64), vector=np.ones(4, np.float32))
    several = replace(one, vector=np.ones((2, 4), np.float32))
    assert [encode(pack([item], "m"))[2] for item in (one, several)] == [1, 2]


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_byte_that_changed_is_noticed(at: int, flip: int) -> None:
    data = bytearray(encode(example()))
    data[at % len(data)] ^= flip
    with pytest.raises(SegmentError):
        decode(bytes(data))


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=9))
def test_bytes_too_few_or_too_many_are_noticed(cut: int, more: bytes) -> None:
    data = encode(example())
    for wrong in (data[: cut % len(data)], data + more):
        with pytest.raises(SegmentError):
            decode(wrong)


@given(st.binary(max_size=300))
def test_any_bytes_under_a_right_checksum_are_read_or_refused(body: bytes) -> None:
    with pytest.raises(SegmentError):
        decode(struct.pack("<2sBI", b"CS", 1, zlib.crc32(body)) + body)


def test_a_later_format_is_named() -> None:
    data = bytearray(encode(example()))
    data[2] = 9
    with pytest.raises(SegmentError, match="format 9; this version reads 1 to 3"):
        decode(bytes(data))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("places", [0, 2, 0]),  # an item that isn't there
        ("starts", [0, 2, 4]),
        ("starts", [1, 2, 3]),
        ("starts", [0, 0, 3]),
        ("group_of", [0, 1]),
        ("embedded", [1, 1]),
        ("embedded", [0, 2]),
        ("ordinals", [1]),
        ("vocabulary", [7, 5]),
        ("counts", [1]),
        ("starts", []),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(name: str, values: list[int]) -> None:
    segment = example()
    wrong = np.array(values, getattr(segment, name).dtype)
    # The name is a field and the array of its type; a checker can't follow the dict.
    with pytest.raises(SegmentError, match="don't fit"):
        decode(encode(replace(segment, **{name: wrong})))  # type: ignore[arg-type] # a field by its name


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    body = bytearray(encode(example())[7:])
    struct.pack_into("<I", body, 7, 2**31)
    with pytest.raises(SegmentError, match="malformed"):
        decode(struct.pack("<2sBI", b"CS", 1, zlib.crc32(body)) + bytes(body))


def test_more_than_a_segment_is_not_written() -> None:
    items = [Item(UUID(int=n), UUID(int=9), n, 0, np.empty(0, np.uint64)) for n in range(MAX_ITEMS + 1)]
    with pytest.raises(ValueError, match="at most 512"):
        pack(items)
    full = pack(items[:MAX_ITEMS])
    assert len(decode(encode(full))) == MAX_ITEMS


def test_an_item_of_20_terms_and_512_dimensions_takes_less_than_1200_bytes_alone_and_700_among_512() -> None:
    rng = np.random.default_rng(1)
    vocabulary = rng.integers(0, 2**63, 3000).astype(np.uint64)
    items = [
        Item(
            UUID(bytes=rng.bytes(16)),
            UUID(int=n // 20),
            n % 20,
            1_700_000_000_000 + n * 60_000,
            vocabulary[np.minimum(rng.zipf(1.3, 20) - 1, 2999)],
            vector=rng.normal(size=512).astype(np.float32),
        )
        for n in range(MAX_ITEMS)
    ]
    assert len(encode(pack(items[:1], "m"))) < 1200
    assert len(encode(pack(items, "m"))) < 700 * MAX_ITEMS
