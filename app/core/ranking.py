"""How memories are ranked against a question: pure functions over arrays, and the weights of two kinds of data.

Every array is over the same items, in the order of their groups (sessions, documents) and of their places in them.
Scores are fused by min-max and not by reciprocal rank, which found less (LoCoMo R@10 0.609 against 0.675).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

K1: Final = 0.9
B: Final = 0.4
# Where the best item covers this share of the question's weight, words count as the weights say: in proportion more or
# less where it covers more or less, for what matches best by a common word or two is a chance hit. The best of LoCoMo
# covers 0.3 to 0.4 in most questions, that of notes which share no word with the question 0.1 to 0.2. At 0.3, R@10 is
# 0.003 higher on LoCoMo and up to 0.05 lower on such notes; counted everywhere alike, 0.002 and 0.02 to 0.07.
COVERED: Final = 0.4
# A language whose best item covers this share is reached by the question's words. On XQuAD the best item covers 0.28
# (en), 0.14 (zh) or more in nine of ten questions of its language, 0.11 or less in the other.
REACHED: Final = 0.2
# What an item keeps of its score where the question's words reach another language and not its own. On XQuAD in both
# languages: at 1 the other one pushes answers out (R@1 0.94 to 0.76, zh), at 0.7 it is found less (R@5 0.86 to 0.78, en
# by zh).
UNREACHED: Final = 0.85
# Each language's own mean and deviation count in full once it has many more items than this.
_PSEUDO_ITEMS: Final = 20
# What is longer than this many terms, and twice as long as what follows it, isn't what that answers: an assistant's
# explanation would drown what its user says next (found by the window: R@10 0.63 against 0.57 in such chats).
CONTEXT_TERMS: Final = 60
_LONGER: Final = 2
# People speak of a time for a while after it.
_AFTERMATH_MS: Final = 14 * 86_400_000


# What shares no word with the question and is less like it than this has nothing to do with it. Of unrelated texts the
# carried model says -0.1 to 0.15, of related ones 0.2 and more; models with higher cosines leave nothing out by this.
MIN_COSINE: Final = 0.05


def matches(lexical: float | None, cosine: float | None) -> bool:
    """Say whether a text that stands alone has anything to do with a question, by the share of the question's words
    that it holds and by its cosine. Of a message this says nothing: what it answers may hold the words.
    """
    return bool(lexical) or cosine is None or cosine >= MIN_COSINE


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each sign counts. `turn`, `window` and `dense` are shares of the evidence; the rest are added to it.

    `neighbour`: by the evidence of what replies to it; `session`: by the best of its group; `named`: when the question
    names its speaker; `said`: when the question says who of the two said it; `period`: when it lies in a time that the
    question names; `own`: when the user said it and the assistant is the talkative one.
    """

    turn: float
    window: float
    dense: float
    neighbour: float = 0.0
    session: float = 0.0
    named: float = 0.0
    said: float = 0.0
    period: float = 0.0
    own: float = 0.0

    @property
    def most(self) -> float:
        """The highest score there can be: evidence counts up to 1."""
        return 1 + self.neighbour + self.session + self.named + self.said + self.period + self.own


# docs/quality.md has what they find in eleven kinds of record. A session's best score at 0.4, and meaning at 1.0, find
# the same on LoCoMo and lose what users say in passing in long chats (R@10 0.57 against 0.83).
CONVERSATION: Final = Weights(
    turn=0.5,
    window=1.0,
    dense=1.5,
    neighbour=0.2,
    session=0.2,
    named=0.1,
    said=0.4,
    period=0.4,
    own=0.1,
)
# A passage is asked for with more of its own words: XQuAD, zh, R@1 0.934 and at 1 0.919, R@3 alike.
DOCUMENTS: Final = Weights(turn=1.5, window=0.0, dense=1.0)


class Posting(NamedTuple):
    """Where a term of the question occurs, each place once, and how often; `weight` is its count in the question."""

    places: Places
    counts: Floats
    weight: float


def bm25(postings: Sequence[Posting], lengths: Floats) -> tuple[Floats, float]:
    """Return the score of each item, and the score of one that had every term of the question often.

    Terms that occur nowhere count in the second: it says how much of the question could have been found.
    """
    scores = np.zeros(len(lengths), np.float32)
    if not len(lengths):
        return scores, 0.0
    norms = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1e-9))
    ceiling = 0.0
    for places, counts, weight in postings:
        rarity = float(np.log1p((len(lengths) - len(places) + 0.5) / (len(places) + 0.5)))
        most = weight * (K1 + 1) * rarity
        ceiling += most
        scores[places] += most * counts / (counts + norms[places])
    return scores, ceiling


class Windows(NamedTuple):
    """Which items are read with the one before them (`first`), and with the one before that (`second`)."""

    first: Flags
    second: Flags


def windows(follows: Flags, lengths: Floats) -> Windows:
    """Return the windows of items: what each answers, and what that answers, as far as neither is far longer than it.

    A window around the item (one before, one after) finds less: R@10 0.708 against 0.717 on LoCoMo.
    """
    first, second = follows.copy(), follows.copy()
    first[1:] &= lengths[:-1] <= np.maximum(CONTEXT_TERMS, _LONGER * lengths[1:])
    second[:2] = False
    second[2:] &= follows[1:-1] & (lengths[:-2] <= np.maximum(CONTEXT_TERMS, _LONGER * lengths[2:]))
    return Windows(first, second)


def windowed(posting: Posting, within: Windows) -> Posting:
    """Return the occurrences in windows of three."""
    counts = np.zeros(len(within.first), np.float32)
    counts[posting.places] = posting.counts
    counts = three(counts, within)
    places = np.flatnonzero(counts)
    return Posting(places, counts[places], posting.weight)


def three(values: Floats, within: Windows) -> Floats:
    """Return each value with those of its window: what is said answers what was asked before it."""
    summed = values.copy()
    summed[1:] += np.where(within.first[1:], values[:-1], 0)
    summed[2:] += np.where(within.second[2:], values[:-2], 0)
    return summed


def replies(follows: Flags, lengths: Floats) -> Flags:
    """Say which items answer the one before them, and don't explain: an explanation holds what is asked for itself, and
    would put the wish for it first (R@1 0.75 against 0.84 on long answers of CMRC).
    """
    short = follows.copy()
    short[1:] &= lengths[1:] <= np.maximum(CONTEXT_TERMS, _LONGER * lengths[:-1])
    return short


def answered(values: Floats, replies: Flags) -> Floats:
    """Return for each item the value of the one that replies to it: 0 where none does."""
    after = np.zeros_like(values)
    after[:-1] = np.where(replies[1:], values[1:], 0)
    return after


def best_of_group(values: Floats, starts: Places, sociable: Floats) -> Floats:
    """Return the best value of each item's group as far as that is a conversation (`sociable` 1), else its own (0)."""
    if not len(values):
        return values
    best = np.repeat(np.maximum.reduceat(values, starts), np.diff(np.append(starts, len(values))))
    mixed: Floats = sociable * best + (1 - sociable) * values
    return mixed


def min_max(values: Floats, among: Flags) -> Floats:
    """Return the values stretched from 0 to 1 over those `among` which is chosen, and 0 elsewhere.

    Where all are equal there is nothing to stretch: 1 if they are more than nothing, else 0.
    """
    chosen = values[among]
    low, high = float(chosen.min(initial=np.inf)), float(chosen.max(initial=-np.inf))
    if high <= low:
        return (among & (values > 0)).astype(np.float32)
    return np.where(among, (values - low) / (high - low), 0).astype(np.float32)


def per_language(similarities: Floats, languages: NDArray[np.uint8], among: Flags) -> Floats:
    """Return the similarities as deviations from what is usual in the item's language.

    An embedding puts texts of one language near each other: without this, that of the question wins by itself.
    """
    levelled = np.zeros_like(similarities)
    chosen = similarities[among]
    if not len(chosen):
        return levelled
    mean, deviation = float(chosen.mean()), float(chosen.std())
    for code in np.unique(languages[among]):
        there = among & (languages == code)
        own = similarities[there]
        share = len(own) / (len(own) + _PSEUDO_ITEMS)
        centre = share * float(own.mean()) + (1 - share) * mean
        width = share * float(own.std()) + (1 - share) * deviation
        levelled[there] = (own - centre) / max(width, 1e-6)
    return levelled


def best_covered(covered: Floats, languages: NDArray[np.uint8], among: Flags) -> Floats:
    """Return for each item which share of the question's weight the best of its language covers."""
    best = np.zeros_like(covered)
    for code in np.unique(languages[among]):
        there = among & (languages == code)
        best[there] = covered[there].max()
    return best


class Fused(NamedTuple):
    """The evidence for each item, and what its words and its meaning count in it."""

    scores: Floats
    words: Floats
    meaning: Floats


def fuse(lexical: Floats, dense: Floats, best: Floats, among: Flags, weights: Weights) -> Fused:
    """Return the evidence for each item from 0 to 1, of words and meaning, each from 0 to 1.

    `best` is what `best_covered` says: where words find little or nothing, meaning decides.
    """
    words = (weights.turn + weights.window) * best / np.float32(COVERED)
    share = words / np.maximum(words + np.float32(weights.dense), np.float32(1e-9))
    reached = np.minimum(best / np.float32(REACHED), 1)
    kept = 1 - (1 - UNREACHED) * (reached.max(initial=0) - reached)
    scores = np.where(among, (share * lexical + (1 - share) * dense) * kept, 0).astype(np.float32)
    return Fused(scores, share * kept, (1 - share) * kept)


def in_periods(times_ms: NDArray[np.int64], spans: Sequence[tuple[int, int]]) -> Floats:
    """Return 1 for an item in one of the spans [start, end), falling to 0 over the two weeks after it."""
    near = np.zeros(len(times_ms))
    for start, end in spans:
        fading = np.clip(1 - (times_ms - end) / _AFTERMATH_MS, 0, 1)
        near = np.maximum(near, np.where(times_ms >= start, fading, 0))
    return near.astype(np.float32)
