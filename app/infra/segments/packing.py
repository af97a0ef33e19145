"""Segments from items and from other segments: packed, merged, with vectors added or items taken out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.infra.segments.codec import MAX_ITEM_VECTORS, MAX_ITEMS, Role, Segment, Vectors

MAX_FREQUENCY: Final = 65_535
_LEVELS: Final = 127

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Item:
    """One message or chunk on its way into the index.

    `group` is its session or document and `ordinal` its place there; `terms` are keyed ids with repeats; `speaker` is a
    keyed id, 0 for none; `language` a code of core.text.language; `vector` (of length 1; or a row for each piece of a
    long text) often comes later.
    """

    id: UUID
    group: UUID
    ordinal: int
    time_ms: int
    terms: NDArray[np.uint64]
    role: Role = Role.NONE
    language: int = 0
    speaker: int = 0
    vector: Vector | None = None
    # Those of other models, while the model is being changed.
    beside: Mapping[str, Vector] = field(default_factory=dict)


class Spot(NamedTuple):
    """Where an item stands that was sealed before that was known."""

    ordinal: int
    time_ms: int


def at(segment: Segment, spot: Spot | None) -> Segment:
    """Return the segment of one item with its place and time; None leaves it as it is."""
    if spot is None:
        return segment
    ordinal, time_ms = spot
    return replace(segment, ordinals=np.array([ordinal], np.int64), times_ms=np.array([time_ms], np.int64))


def pack(items: Sequence[Item], model: str = "") -> Segment:
    """Return the segment of at most 512 items. `model` names the embedder and its revision: those of two don't mix."""
    _refuse_too_many(len(items))
    table: dict[UUID, int] = {}
    group_of = [table.setdefault(item.group, len(table)) for item in items]
    lengths = np.array([len(item.terms) for item in items], np.uint32)
    terms = np.concatenate([np.empty(0, np.uint64), *(item.terms for item in items)])
    places = np.repeat(np.arange(len(items)), lengths)
    vectors = [_rows(item.vector) for item in items]
    levels, scales = _quantised([row for rows in vectors for row in rows])
    vocabulary, starts, where, counts = _indexed(terms, places, np.ones(len(terms), np.int64))
    packed = Segment(
        ids=_bytes_of([item.id for item in items]),
        groups=_bytes_of(list(table)),
        group_of=np.array(group_of, np.uint16),
        ordinals=np.array([item.ordinal for item in items], np.int64),
        times_ms=np.array([item.time_ms for item in items], np.int64),
        roles=np.array([item.role for item in items], np.uint8),
        languages=np.array([item.language for item in items], np.uint8),
        speakers=np.array([item.speaker for item in items], np.uint64),
        lengths=lengths,
        vocabulary=vocabulary,
        starts=starts,
        places=where,
        counts=counts,
        embedded=np.array([len(rows) for rows in vectors], np.uint8),
        scales=scales,
        vectors=levels,
        model=model if len(levels) else "",
    )
    for other in sorted({name for item in items for name in item.beside}):
        packed = with_vectors(packed, {item.id: item.beside[other] for item in items if other in item.beside}, other)
    return packed


def of_model(segment: Segment, model: str) -> Segment:
    """Return the segment with the vectors of one model alone, or with none where that has made none."""
    if segment.model == model and not segment.beside:
        return segment
    found = next((one for one in sets(segment) if one.model == model), None)
    return _with_sets(segment, [] if found is None else [found])


def sets(segment: Segment) -> list[Vectors]:
    """Return the vectors of each model, those that come first first."""
    first = Vectors(segment.model, segment.embedded, segment.scales, segment.vectors)
    return [one for one in (first, *segment.beside) if len(one.vectors)]


def _with_sets(segment: Segment, kept: Sequence[Vectors]) -> Segment:
    if not kept:
        return _without_vectors(segment)
    first, *others = kept
    return replace(
        segment,
        embedded=first.embedded,
        scales=first.scales,
        vectors=first.vectors,
        model=first.model,
        beside=tuple(others),
    )


def only(segment: Segment, models: Collection[str]) -> Segment:
    """Return the segment with the vectors of these models alone."""
    return _with_sets(segment, [one for one in sets(segment) if one.model in models])


def merge_all(segments: Sequence[Segment], models: Sequence[str]) -> Segment:
    """Return one segment of all items, in the order given, with the vectors of each of these models."""
    parts = [merge([of_model(one, model) for one in segments], model) for model in models]
    if not parts:
        return merge(segments)
    return _with_sets(parts[0], [one for part in parts for one in sets(part)])


def merge(segments: Sequence[Segment], model: str = "") -> Segment:
    """Return one segment of all items, in the order given, with those vectors that are of `model`."""
    _refuse_too_many(sum(map(len, segments)))
    if not segments:
        return pack([])
    table: dict[bytes, int] = {}
    group_of = [
        np.array([table.setdefault(row.tobytes(), len(table)) for row in one.groups], np.uint16)[one.group_of]
        for one in segments
    ]
    offsets = np.cumsum([0, *map(len, segments)])
    kept = [of_model(one, model) for one in segments]
    vectors = [one.vectors for one in kept if len(one.vectors)]
    vocabulary, starts, places, counts = _indexed(
        np.concatenate([np.repeat(one.vocabulary, np.diff(one.starts)) for one in segments]),
        np.concatenate([one.places + offset for one, offset in zip(segments, offsets[:-1], strict=True)]),
        np.concatenate([one.counts for one in segments]).astype(np.int64),
    )
    return Segment(
        ids=np.concatenate([one.ids for one in segments]),
        groups=np.frombuffer(b"".join(table), np.uint8).reshape(-1, 16),
        group_of=np.concatenate(group_of),
        ordinals=np.concatenate([one.ordinals for one in segments]),
        times_ms=np.concatenate([one.times_ms for one in segments]),
        roles=np.concatenate([one.roles for one in segments]),
        languages=np.concatenate([one.languages for one in segments]),
        speakers=np.concatenate([one.speakers for one in segments]),
        lengths=np.concatenate([one.lengths for one in segments]),
        vocabulary=vocabulary,
        starts=starts,
        places=places,
        counts=counts,
        embedded=np.concatenate([one.embedded for one in kept]),
        scales=np.concatenate([one.scales for one in kept]),
        vectors=np.concatenate(vectors) if vectors else np.empty((0, 0), np.int8),
        model=model if vectors else "",
    )


def without(segment: Segment, ids: Collection[UUID]) -> Segment:
    """Return the segment without some of its items: nothing of theirs stays, neither a term nor a group."""
    keep = np.array([id_ not in ids for id_ in segment.item_ids()], bool)
    places = np.cumsum(keep) - 1
    posted = keep[segment.places]
    vocabulary, starts, where, counts = _indexed(
        np.repeat(segment.vocabulary, np.diff(segment.starts))[posted],
        places[segment.places[posted]],
        segment.counts[posted].astype(np.int64),
    )
    groups, group_of = np.unique(segment.group_of[keep], return_inverse=True)
    kept = [_kept(one, keep) for one in sets(segment)]
    return _with_sets(
        Segment(
            ids=segment.ids[keep],
            groups=segment.groups[groups],
            group_of=group_of.astype(np.uint16),
            ordinals=segment.ordinals[keep],
            times_ms=segment.times_ms[keep],
            roles=segment.roles[keep],
            languages=segment.languages[keep],
            speakers=segment.speakers[keep],
            lengths=segment.lengths[keep],
            vocabulary=vocabulary,
            starts=starts,
            places=where,
            counts=counts,
            embedded=segment.embedded[keep],
            scales=segment.scales[:0],
            vectors=np.empty((0, 0), np.int8),
            model="",
        ),
        [one for one in kept if len(one.vectors)],
    )


def _kept(one: Vectors, keep: NDArray[np.bool_]) -> Vectors:
    rows = np.repeat(keep, one.embedded)
    return Vectors(one.model, one.embedded[keep], one.scales[rows], one.vectors[rows])


def with_vectors(segment: Segment, vectors: Mapping[UUID, Vector], model: str) -> Segment:
    """Return the segment with a model's vectors for some of its items. Those it had stay, of whichever model."""
    others = [one for one in sets(segment) if one.model != model]
    base = of_model(segment, model)
    ends = np.cumsum(base.embedded, dtype=np.intp)
    levels: list[NDArray[np.int8]] = []
    scales: list[NDArray[np.float32]] = []
    embedded = base.embedded.copy()
    for place, id_ in enumerate(segment.item_ids()):
        if id_ in vectors:
            rows, sizes = _quantised(_rows(vectors[id_]))
            embedded[place] = len(rows)
        else:
            had = slice(ends[place] - base.embedded[place], ends[place])
            rows, sizes = base.vectors[had], base.scales[had]
        if len(rows):
            levels.append(rows)
            scales.append(sizes)
    if not levels:
        return _with_sets(segment, others)
    made = Vectors(model, embedded, np.concatenate(scales), np.concatenate(levels))
    return _with_sets(segment, [*others, made])


def first_vectors(segment: Segment, ids: Collection[UUID]) -> dict[UUID, Vector]:
    """Return the first vector of those of the items that have one, of length 1 again."""
    found: dict[UUID, Vector] = {}
    ends = np.cumsum(segment.embedded, dtype=np.intp)
    for place, id_ in enumerate(segment.item_ids()):
        if id_ in ids and segment.embedded[place]:
            levels = segment.vectors[ends[place] - segment.embedded[place]].astype(np.float32)
            found[id_] = levels / np.float32(max(float(np.linalg.norm(levels)), 1e-9))
    return found


def _rows(vector: Vector | None) -> Sequence[Vector]:
    """Return an item's vectors: of one piece of text each."""
    return [] if vector is None else list(np.atleast_2d(vector)[:MAX_ITEM_VECTORS])


def _refuse_too_many(items: int) -> None:
    if items > MAX_ITEMS:
        raise ValueError(f"a segment has at most {MAX_ITEMS} items, not {items}")


def _without_vectors(segment: Segment) -> Segment:
    return replace(
        segment,
        embedded=np.zeros_like(segment.embedded),
        scales=segment.scales[:0],
        vectors=np.empty((0, 0), np.int8),
        model="",
        beside=(),
    )


def _indexed(
    terms: NDArray[np.uint64],
    places: NDArray[np.integer],
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint16]]:
    """Return vocabulary, starts, places and counts of postings in any order; those of one term and place are summed."""
    order = np.lexsort((places, terms))
    terms, places, counts = terms[order], places[order], counts[order]
    first = np.ones(len(terms), bool)
    first[1:] = (terms[1:] != terms[:-1]) | (places[1:] != places[:-1])
    at = np.flatnonzero(first)
    summed = np.add.reduceat(counts, at) if len(at) else counts
    vocabulary, starts = np.unique(terms[at], return_index=True)
    return (
        vocabulary,
        np.append(starts, len(at)).astype(np.uint32),
        places[at].astype(np.uint16),
        np.minimum(summed, MAX_FREQUENCY).astype(np.uint16),
    )


def _quantised(vectors: Sequence[Vector]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return the vectors in 255 levels, each scaled by its largest value: inner products keep to 0.01 or so."""
    if not vectors:
        return np.empty((0, 0), np.int8), np.empty(0, np.float32)
    stacked = np.stack(vectors).astype(np.float32)
    scales = (np.abs(stacked).max(axis=1) / _LEVELS).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)[:, np.newaxis]
    return np.rint(stacked / divisors).astype(np.int8), scales


def _bytes_of(ids: Sequence[UUID]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join([id_.bytes for id_ in ids]), np.uint8).reshape(-1, 16)
