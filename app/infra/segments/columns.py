"""The arrays that a search looks into: the items of all segments, in the order of their groups and places there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.core import ranking
from app.core.ranking import Flags, Floats, Places, Posting, Windows
from app.infra.segments.codec import MAX_ITEMS, Role, Segment
from app.infra.segments.packing import merge, of_model, without

# Smaller segments (rows of newer items, mostly) are merged when an index is assembled: fewer to look into.
SMALL_ITEMS: Final = 32
# An assistant that says twice as much as the user explains; then what users say of themselves is told apart.
TALKATIVE: Final = 2.0

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Words(NamedTuple):
    """One segment's inverted list, and the places of its items among all."""

    segment: Segment
    places: Places


class Vectors(NamedTuple):
    """One segment's vectors in eight bits, the places of their items among all, and where each item's rows begin."""

    levels: NDArray[np.int8]
    scales: Floats
    places: Places
    starts: Places


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Arrays over the items. `replies`: it answers the one before it, and shortly; `windows`: what it is read with of
    what it answers; `starts`: where groups begin.
    """

    ids: NDArray[np.uint8]
    groups: list[bytes]
    group_of: Places
    ordinals: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    roles: NDArray[np.uint8]
    languages: NDArray[np.uint8]
    speakers: NDArray[np.uint64]
    lengths: Floats
    window_lengths: Floats
    windows: Windows
    replies: Flags
    starts: Places
    sociable: Floats
    talkative: bool
    words: list[Words]
    vectors: list[Vectors]

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.ids)

    @property
    def size_bytes(self) -> int:
        """What the arrays take in memory; of the segments, what they hold of their own."""
        own = sum(value.nbytes for name in self.__slots__ if isinstance(value := getattr(self, name), np.ndarray))
        return own + sum(words.segment.size_bytes + words.places.nbytes for words in self.words)

    def postings(self, terms: NDArray[np.uint64]) -> list[Posting]:
        """Return where each of the different terms occurs, be it nowhere, weighted by its count in `terms`."""
        different, weights = np.unique(terms, return_counts=True)
        places: list[list[Places]] = [[_NOWHERE] for _ in different]
        counts: list[list[NDArray[np.uint16]]] = [[_NEVER] for _ in different]
        for segment, ranks in self.words:
            if not len(segment.vocabulary):
                continue
            at = np.minimum(np.searchsorted(segment.vocabulary, different), len(segment.vocabulary) - 1)
            for term in np.flatnonzero(segment.vocabulary[at] == different):
                start, end = segment.starts[at[term]], segment.starts[at[term] + 1]
                places[term].append(ranks[segment.places[start:end]])
                counts[term].append(segment.counts[start:end])
        return [
            Posting(np.concatenate(where), np.concatenate(often).astype(np.float32), float(weight))
            for where, often, weight in zip(places, counts, weights, strict=True)
        ]

    def any_of(self, terms: NDArray[np.uint64]) -> Posting:
        """Return where any of different terms occurs, as one. They are pairs that share a character, which most of its
        occurrences stand in two of.
        """
        counts = np.zeros(len(self), np.float32)
        for segment, ranks in self.words:
            for term in np.flatnonzero(np.isin(segment.vocabulary, terms)):
                places = slice(segment.starts[term], segment.starts[term + 1])
                counts[ranks[segment.places[places]]] += segment.counts[places]
        where = np.flatnonzero(counts)
        return Posting(where, np.maximum(counts[where] / 2, 1).astype(np.float32), 1.0)

    def similarities(self, vector: Floats) -> Floats:
        """Return the cosine of each item's vector to one of length 1: of several the best, NaN for none of its size."""
        similar = np.full(len(self), np.nan, np.float32)
        for levels, scales, places, starts in self.vectors:
            if levels.shape[1] == len(vector):
                # Segment by segment, so that what is widened for the product stays in the processor's cache.
                cosines = (levels.astype(np.float32) @ vector) * scales
                similar[places] = cosines if len(cosines) == len(places) else np.maximum.reduceat(cosines, starts)
        return similar


_NOWHERE: Final = np.empty(0, np.intp)
_NEVER: Final = np.empty(0, np.uint16)


def arrange(segments: Sequence[Segment], model: str) -> Columns:
    """Return the columns of the segments: of an item in several the last one, of vectors those of `model`."""
    parts = _merged_where_small(_each_item_once([of_model(one, model) for one in segments]), model)
    table: dict[bytes, int] = {}
    codes = _joined([_group_codes(part, table) for part in parts], np.intp)
    ordinals = _joined([part.ordinals for part in parts], np.int64)
    order = np.lexsort((ordinals, codes))
    group_of = codes[order]
    roles = _joined([part.roles for part in parts], np.uint8)[order]
    speakers = _joined([part.speakers for part in parts], np.uint64)[order]
    lengths = _joined([part.lengths for part in parts], np.float32)[order]
    follows = _follows(group_of, roles, speakers)
    windows = ranking.windows(follows, lengths)
    starts = np.flatnonzero(np.diff(group_of, prepend=-1))
    words = _placed(parts, order)
    return Columns(
        ids=_joined([part.ids for part in parts], np.uint8).reshape(-1, 16)[order],
        groups=list(table),
        group_of=group_of,
        ordinals=ordinals[order],
        times_ms=_joined([part.times_ms for part in parts], np.int64)[order],
        roles=roles,
        languages=_joined([part.languages for part in parts], np.uint8)[order],
        speakers=speakers,
        lengths=lengths,
        window_lengths=ranking.three(lengths, windows),
        windows=windows,
        replies=ranking.replies(follows, lengths),
        starts=starts,
        sociable=_shares(follows, starts),
        talkative=_is_talkative(roles, lengths),
        words=words,
        vectors=[
            Vectors(part.vectors, part.scales, places[part.embedded > 0], _first_rows(part.embedded))
            for part, places in words
            if len(part.vectors) and part.model == model
        ],
    )


def _each_item_once(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments with the last of each item: a reader may see an item beside the segment it went into."""
    ids = _joined([one.ids for one in segments], np.uint8).reshape(-1, 16)
    halves = np.ascontiguousarray(ids).view(np.uint64).reshape(-1, 2)
    ordered = np.sort(halves[:, 1])
    if (ordered[1:] != ordered[:-1]).all():
        return list(segments)
    seen: set[bytes] = set()
    kept: list[Segment] = []
    for one in reversed(segments):
        again = [id_ for id_ in one.item_ids() if id_.bytes in seen]
        seen.update(row.tobytes() for row in one.ids)
        kept.append(without(one, set(again)) if again else one)
    return kept[::-1]


def _merged_where_small(segments: Sequence[Segment], model: str) -> list[Segment]:
    parts: list[Segment] = []
    batch: list[Segment] = []
    held = 0
    for one in segments:
        if len(one) >= SMALL_ITEMS:
            parts.append(one)
            continue
        if held + len(one) > MAX_ITEMS:
            parts.append(merge(batch, model))
            batch, held = [], 0
        batch.append(one)
        held += len(one)
    return [*parts, merge(batch, model)] if batch else parts


def _group_codes(part: Segment, table: dict[bytes, int]) -> Places:
    return np.array([table.setdefault(row.tobytes(), len(table)) for row in part.groups], np.intp)[part.group_of]


def _placed(parts: Sequence[Segment], order: Places) -> list[Words]:
    ranks = np.empty(len(order), np.intp)
    ranks[order] = np.arange(len(order))
    ends = np.cumsum([len(part) for part in parts])
    return [Words(part, ranks[end - len(part) : end]) for part, end in zip(parts, ends, strict=True)]


def _first_rows(embedded: NDArray[np.uint8]) -> Places:
    counts = embedded[embedded > 0].astype(np.intp)
    return np.cumsum(counts) - counts


def _follows(group_of: Places, roles: NDArray[np.uint8], speakers: NDArray[np.uint64]) -> Flags:
    """Say which items answer the one before: of the same group and by someone else.

    Notes of one hand answer nothing, and so have no windows and no neighbours: the record decides it, not a setting.
    """
    follows = np.zeros(len(group_of), bool)
    other = (roles[1:] != roles[:-1]) | (speakers[1:] != speakers[:-1])
    follows[1:] = (group_of[1:] == group_of[:-1]) & other
    return follows


def _shares(follows: Flags, starts: Places) -> Floats:
    """Return for each item which share of its group answers: 1 in a conversation of two, 0 among notes."""
    if not len(follows):
        return np.empty(0, np.float32)
    sizes = np.diff(np.append(starts, len(follows)))
    shares = np.add.reduceat(follows.astype(np.float32), starts) / np.maximum(sizes - 1, 1)
    return np.repeat(shares, sizes).astype(np.float32)


def _is_talkative(roles: NDArray[np.uint8], lengths: Floats) -> bool:
    user, assistant = lengths[roles == Role.USER], lengths[roles == Role.ASSISTANT]
    return bool(len(user) and len(assistant) and assistant.mean() >= TALKATIVE * user.mean())


def _joined(arrays: Sequence[NDArray[np.generic]], kind: type[_Scalar]) -> NDArray[_Scalar]:
    return np.concatenate([np.empty((0, *arrays[0].shape[1:]) if arrays else 0, kind), *arrays]).astype(
        kind, copy=False
    )
