"""A segment: up to 512 items of one kind of memory as arrays, and the bytes they are kept as. No text, no plain terms.

The bytes: "CS", format (1 byte), CRC-32 of what follows (4), sizes, the model's name, the arrays packed by zlib, and
the vectors as they are (eight-bit vectors don't pack). The CRC tells damage; forgery is the seal's to tell.
"""

import struct
import zlib
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

MAX_ITEMS: Final = 512
MAX_DIMENSIONS: Final = 8_192
MAX_ITEM_VECTORS: Final = 255
MAX_MODEL_BYTES: Final = 255
MAX_UNPACKED_BYTES: Final = 64 * 2**20

_MAGIC: Final = b"CS"
# Format 2 is format 1 with items of several vectors, format 3 is either with the vectors of other models behind it:
# each is written only where there are such.
_FORMATS: Final = (1, 2, 3)
_PREFIX: Final = struct.Struct("<2sBI")
_SIZES: Final = struct.Struct("<IHB")
# Of format 3: how long the body of format 1 or 2 is, and how many other models follow; of each its rows, dimensions and
# the length of its name.
_WHOLE: Final = struct.Struct("<IB")
_BESIDE: Final = struct.Struct("<IHB")
_UUID_BYTES: Final = 16
_SMALL_BYTES: Final = 1_024
_SMALL_WINDOW: Final = 10
_SMALL_MEMORY: Final = 3
_LEVEL: Final = 6


class SegmentError(Exception):
    """Bytes aren't a segment, or are damaged."""


class Role(IntEnum):
    """Who speaks in an item; NONE where nobody does."""

    NONE = 0
    USER = 1
    ASSISTANT = 2
    SYSTEM = 3
    TOOL = 4


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors that one model has made of a segment's items, as they stand there."""

    model: str
    embedded: NDArray[np.uint8]
    scales: NDArray[np.float32]
    vectors: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """The items as arrays: n of them, in g groups, with t different terms in p postings, m of them with vectors.

    A term's postings are `places[starts[k]:starts[k + 1]]`, where `vocabulary[k]` is its keyed id. A vector is
    `vectors[row] * scales[row]`; of the rows each item has as many as `embedded` says, in the items' order, all of one
    `model`: a long text has a vector for each of its pieces. While the model is being changed, those of another one
    stand `beside` them.
    """

    ids: NDArray[np.uint8]  # (n, 16)
    groups: NDArray[np.uint8]  # (g, 16)
    group_of: NDArray[np.uint16]  # (n)
    ordinals: NDArray[np.int64]  # (n): the place within the group
    times_ms: NDArray[np.int64]  # (n)
    roles: NDArray[np.uint8]  # (n)
    languages: NDArray[np.uint8]  # (n): codes of core.text.language
    speakers: NDArray[np.uint64]  # (n): keyed ids, 0 for none
    lengths: NDArray[np.uint32]  # (n): terms with repeats
    vocabulary: NDArray[np.uint64]  # (t), ascending
    starts: NDArray[np.uint32]  # (t + 1)
    places: NDArray[np.uint16]  # (p), ascending within a term
    counts: NDArray[np.uint16]  # (p)
    embedded: NDArray[np.uint8]  # (n): how many vectors
    scales: NDArray[np.float32]  # (m)
    vectors: NDArray[np.int8]  # (m, dimensions)
    model: str
    beside: tuple[Vectors, ...] = ()

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.ids)

    @property
    def size_bytes(self) -> int:
        """What the arrays take in memory."""
        beside = sum(one.embedded.nbytes + one.scales.nbytes + one.vectors.nbytes for one in self.beside)
        return self.vectors.nbytes + sum(array.nbytes for array in _arrays(self)) + beside

    def item_ids(self) -> list[UUID]:
        """Return the ids of the items, in their order."""
        return [UUID(bytes=row.tobytes()) for row in self.ids]

    def group_ids(self) -> list[UUID]:
        """Return the ids of the groups, in the order that `group_of` counts by."""
        return [UUID(bytes=row.tobytes()) for row in self.groups]


# The order of the arrays in the bytes, and how their values are written there.
_TYPES: Final = {
    "ids": "u1",
    "groups": "u1",
    "group_of": "<u2",
    "ordinals": "<i8",
    "times_ms": "<i8",
    "roles": "u1",
    "languages": "u1",
    "speakers": "<u8",
    "lengths": "<u4",
    "vocabulary": "<u8",
    "starts": "<u4",
    "places": "<u2",
    "counts": "<u2",
    "embedded": "u1",
    "scales": "<f4",
}
_COUNTS: Final = struct.Struct(f"<{len(_TYPES)}I")
_KINDS: Final = tuple((name, np.dtype(kind)) for name, kind in _TYPES.items())


def encode(segment: Segment) -> bytes:
    """Return the segment's bytes. Raises ValueError where it has more than a segment may have."""
    model = segment.model.encode()
    if len(segment) > MAX_ITEMS or segment.vectors.shape[1] > MAX_DIMENSIONS or len(model) > MAX_MODEL_BYTES:
        raise ValueError(f"a segment has at most {MAX_ITEMS} items of {MAX_DIMENSIONS} dimensions")
    written = [array.astype(kind).tobytes() for array, kind in zip(_arrays(segment), _TYPES.values(), strict=True)]
    packed = _packed(b"".join(written))
    body = b"".join(
        [
            _SIZES.pack(len(packed), segment.vectors.shape[1], len(model)),
            _COUNTS.pack(*map(len, written)),
            model,
            packed,
            segment.vectors.tobytes(),
        ],
    )
    form = _FORMATS[bool((segment.embedded > 1).any())]
    if segment.beside:
        form = _FORMATS[-1]
        body = b"".join([_WHOLE.pack(len(body), len(segment.beside)), body, *map(_written, segment.beside)])
    return _PREFIX.pack(_MAGIC, form, zlib.crc32(body)) + body


def _packed(arrays: bytes) -> bytes:
    # For what is small zlib would make its tables for longer than it packs: a message of its own takes a sixth so.
    is_small = len(arrays) <= _SMALL_BYTES
    window, memory = (_SMALL_WINDOW, _SMALL_MEMORY) if is_small else (zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, window, memory)
    return packer.compress(arrays) + packer.flush()


def decode(data: bytes) -> Segment:
    """Return the segment of the bytes. Raises SegmentError where they are no segment, damaged, or of a later format."""
    if len(data) < _PREFIX.size + _SIZES.size + _COUNTS.size:
        raise SegmentError("too short for a segment")
    magic, form, checksum = _PREFIX.unpack_from(data)
    if magic != _MAGIC:
        raise SegmentError("not a segment")
    if form not in _FORMATS:
        raise SegmentError(f"a segment of format {form}; this version reads {_FORMATS[0]} to {_FORMATS[-1]}")
    body = memoryview(data)[_PREFIX.size :]
    if zlib.crc32(body) != checksum:
        raise SegmentError("a damaged segment: its checksum differs")
    try:
        segment = _read_all(body) if form == _FORMATS[-1] else _read(body)
    except (ValueError, IndexError, struct.error, zlib.error) as error:
        raise SegmentError(f"a malformed segment: {type(error).__name__}") from error
    _check(segment)
    return segment


def _written(beside: Vectors) -> bytes:
    model = beside.model.encode()
    if len(model) > MAX_MODEL_BYTES or beside.vectors.shape[1] > MAX_DIMENSIONS:
        raise ValueError(f"vectors have at most {MAX_DIMENSIONS} dimensions")
    return b"".join(
        [
            _BESIDE.pack(len(beside.vectors), beside.vectors.shape[1], len(model)),
            model,
            beside.embedded.astype("u1").tobytes(),
            beside.scales.astype("<f4").tobytes(),
            beside.vectors.tobytes(),
        ]
    )


def _read_all(body: memoryview) -> Segment:
    length, count = _WHOLE.unpack_from(body)
    at = _WHOLE.size + length
    segment = _read(body[_WHOLE.size : at])
    beside: list[Vectors] = []
    for _ in range(count):
        rows, dimensions, model_bytes = _BESIDE.unpack_from(body, at)
        at += _BESIDE.size
        model = str(body[at : at + model_bytes], "utf-8")
        embedded = np.frombuffer(body, np.uint8, len(segment), at + model_bytes)
        at += model_bytes + len(segment)
        scales = np.frombuffer(body, np.dtype("<f4"), rows, at)
        vectors = np.frombuffer(body, np.int8, rows * dimensions, at + scales.nbytes)
        at += scales.nbytes + vectors.nbytes
        beside.append(Vectors(model, embedded, scales, vectors.reshape(rows, dimensions)))
    if at != len(body):
        raise ValueError("more than was told")
    return replace(segment, beside=tuple(beside))


def _read(body: memoryview) -> Segment:
    packed_bytes, dimensions, model_bytes = _SIZES.unpack_from(body)
    sizes = _COUNTS.unpack_from(body, _SIZES.size)
    if sum(sizes) > MAX_UNPACKED_BYTES:
        raise ValueError("larger than a segment may be")
    at = _SIZES.size + _COUNTS.size
    model = str(body[at : at + model_bytes], "utf-8")
    at += model_bytes
    unpacker = zlib.decompressobj()
    unpacked = unpacker.decompress(body[at : at + packed_bytes], sum(sizes) + 1)
    if len(unpacked) != sum(sizes) or not unpacker.eof:
        raise ValueError("the arrays aren't of the sizes told")
    arrays: dict[str, NDArray[np.generic]] = {}
    left = 0
    for (name, kind), size in zip(_KINDS, sizes, strict=True):
        if size % kind.itemsize:
            raise ValueError("half a value")
        arrays[name] = np.frombuffer(unpacked, kind, size // kind.itemsize, left) if size else np.empty(0, kind)
        left += size
    vectors = np.frombuffer(body[at + packed_bytes :], np.int8)
    rows = len(arrays["scales"])
    arrays["ids"] = arrays["ids"].reshape(-1, _UUID_BYTES)
    arrays["groups"] = arrays["groups"].reshape(-1, _UUID_BYTES)
    # The types are those of _TYPES, which a checker can't follow through a dict.
    return Segment(**arrays, vectors=vectors.reshape(rows, dimensions), model=model)  # type: ignore[arg-type]


def _check(segment: Segment) -> None:
    """Refuse arrays that would send a reader out of bounds."""
    items, terms, postings = len(segment.ids), len(segment.vocabulary), len(segment.places)
    per_item = (
        segment.group_of,
        segment.ordinals,
        segment.times_ms,
        segment.roles,
        segment.languages,
        segment.speakers,
        segment.lengths,
        segment.embedded,
    )
    sound = (
        items <= MAX_ITEMS
        and segment.vectors.shape[1] <= MAX_DIMENSIONS
        and all(len(array) == items for array in per_item)
        and bool((segment.group_of < len(segment.groups)).all())
        and int(segment.embedded.sum()) == len(segment.vectors)
        and len(segment.starts) == terms + 1
        and len(segment.counts) == postings
        and segment.starts[0] == 0
        and segment.starts[-1] == postings
        and bool((segment.starts[1:] > segment.starts[:-1]).all())
        and bool((segment.vocabulary[1:] > segment.vocabulary[:-1]).all())
        and bool((segment.places < items).all())
        and all(_fits(one, items) for one in segment.beside)
    )
    if not sound:
        raise SegmentError("a malformed segment: its arrays don't fit together")


def _fits(beside: Vectors, items: int) -> bool:
    rows = len(beside.vectors)
    return len(beside.embedded) == items and len(beside.scales) == rows and int(beside.embedded.sum()) == rows


def _arrays(segment: Segment) -> list[NDArray[np.generic]]:
    return [getattr(segment, name) for name in _TYPES]
