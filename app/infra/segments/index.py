"""The index of one user and kind in memory: assembled from segments; searched by words, meaning and what is near."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core import ranking
from app.core.ranking import CONVERSATION, Flags, Floats, Posting, Weights
from app.infra.segments.codec import Role, Segment
from app.infra.segments.columns import Columns, arrange

MAX_TERMS: Final = 256
MAX_TOP_K: Final = 1_000


@dataclass(frozen=True, slots=True)
class Filters:
    """What may be found; None is no limit. Times are of [after_ms, before_ms)."""

    groups: Collection[UUID] | None = None
    items: Collection[UUID] | None = None
    roles: Collection[Role] | None = None
    after_ms: int | None = None
    before_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Hints:
    """What a question names besides its words: keyed ids of speakers, periods in Unix milliseconds, and the role of
    whom it says to have said it.

    Where it is nothing but single characters, `characters` has for each the ids of all terms that may hold it: these
    are asked for in place of the question's terms.
    """

    speakers: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    periods: Sequence[tuple[int, int]] = ()
    characters: Sequence[NDArray[np.uint64]] = ()
    role: Role | None = None


class Half(NamedTuple):
    """One half of what speaks for an item: how it stands among all that was looked at (0 to 1), and what that counts in
    the score.
    """

    score: float
    weight: float


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found. `score` (0 to 1) ranks the hits of one search and says nothing outside it.

    `lexical` is the share of the question's weight that the item's own words cover (0 to 1), `dense` the cosine, None
    where there is no vector: these two can be held against a threshold. `words` and `meaning` explain the score: it is
    the sum of both, each times its weight, and of what the weights add to them. None where it wasn't asked for.
    """

    item: UUID
    group: UUID
    ordinal: int
    score: float
    lexical: float
    dense: float | None
    words: Half | None = None
    meaning: Half | None = None


ANYTHING: Final = Filters()
NO_HINTS: Final = Hints()


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    """What one search knows of each item; `dense` is NaN where there is no vector."""

    fused: Floats
    lexical: Floats
    dense: Floats
    # The two halves from 0 to 1, and what each counts; without meaning, words are all there is.
    words: Floats
    meaning: Floats | None = None
    weights: ranking.Fused | None = None


class Index:
    """All items in the order of their groups. Nothing in it changes: many threads may search it."""

    def __init__(self, segments: Sequence[Segment], model: str = "") -> None:
        """Assemble segments: of an item in several the last one counts, of vectors those of `model`."""
        self._columns: Columns = arrange(segments, model)
        self.model = model

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._columns)

    @property
    def embedded(self) -> int:
        """How many items have a vector of the index's model."""
        return sum(len(block.places) for block in self._columns.vectors)

    @cached_property
    def is_of_one_language(self) -> bool:
        """Whether cosines of its items compare as they are: an embedding puts texts of one language near each other."""
        return len(np.unique(self._columns.languages)) <= 1

    @property
    def size_bytes(self) -> int:
        """What the index takes in memory, its segments included."""
        return self._columns.size_bytes

    def search(
        self,
        terms: NDArray[np.uint64],
        vector: Floats | None = None,
        *,
        weights: Weights = CONVERSATION,
        filters: Filters = ANYTHING,
        hints: Hints = NO_HINTS,
        top_k: int = 10,
    ) -> list[Hit]:
        """Return the best items, best first, of equals the newer: without terms by meaning, without vector by words.

        It computes for some milliseconds: call it in a thread. Terms past the first MAX_TERMS are left out.
        """
        columns = self._columns
        among = self._among(filters)
        if not among.any() or top_k < 1:
            return []
        held = [columns.any_of(ids) for ids in hints.characters]
        evidence = self._evidence(held or columns.postings(terms[:MAX_TERMS]), vector, among, weights)
        scores = self._with_priors(evidence.fused, weights, hints)
        # An item alone has nothing to be ranked by, and is found all the same.
        found = np.flatnonzero(among & ((scores > 0) | (evidence.lexical > 0) | ~np.isnan(evidence.dense)))
        wanted = min(top_k, MAX_TOP_K, len(found))
        if wanted < len(found):
            found = found[scores[found] >= np.partition(scores[found], -wanted)[-wanted]]
        best = found[np.lexsort((-found, -columns.times_ms[found], -scores[found]))][:wanted]
        return [self._hit(int(place), scores, evidence, weights.most) for place in best]

    def nearest(self, vector: Floats, limit: int, among: Collection[UUID] | None = None) -> set[UUID]:
        """Return the items nearest to a vector of length 1, of those `among` where given: equal ones count as one.

        It computes: call it in a thread.
        """
        similar = self._columns.similarities(vector)
        known = ~np.isnan(similar)
        if among is not None:
            known &= self._among(Filters(items=among))
        different = np.unique(similar[known])
        if not len(different) or limit < 1:
            return set()
        far = different[-min(limit, len(different))]
        return {UUID(bytes=self._columns.ids[place].tobytes()) for place in np.flatnonzero(known & (similar >= far))}

    def _hit(self, place: int, scores: Floats, evidence: _Evidence, most: float) -> Hit:
        columns = self._columns
        dense = float(evidence.dense[place])
        return Hit(
            item=UUID(bytes=columns.ids[place].tobytes()),
            group=UUID(bytes=columns.groups[columns.group_of[place]]),
            ordinal=int(columns.ordinals[place]),
            score=float(scores[place]),
            lexical=float(evidence.lexical[place]),
            dense=None if np.isnan(dense) else dense,
            words=_half(place, evidence.words, None if evidence.weights is None else evidence.weights.words, most),
            meaning=None
            if evidence.meaning is None or evidence.weights is None
            else _half(place, evidence.meaning, evidence.weights.meaning, most),
        )

    def holds(self, items: Collection[UUID]) -> bool:
        """Say whether all of these are in the index. It looks at every item: call it in a thread."""
        return {item.bytes for item in items} <= {row.tobytes() for row in self._columns.ids}

    def _among(self, filters: Filters) -> Flags:
        columns = self._columns
        among = np.ones(len(columns), bool)
        if filters.groups is not None:
            wanted = {group.bytes for group in filters.groups}
            among &= np.array([group in wanted for group in columns.groups], bool)[columns.group_of]
        if filters.items is not None:
            wanted = {item.bytes for item in filters.items}
            among &= np.array([row.tobytes() in wanted for row in columns.ids], bool)
        if filters.roles is not None:
            among &= np.isin(columns.roles, [int(role) for role in filters.roles])
        if filters.after_ms is not None:
            among &= columns.times_ms >= filters.after_ms
        if filters.before_ms is not None:
            among &= columns.times_ms < filters.before_ms
        return among

    def _evidence(
        self,
        postings: Sequence[Posting],
        vector: Floats | None,
        among: Flags,
        weights: Weights,
    ) -> _Evidence:
        columns = self._columns
        turns, ceiling = ranking.bm25(postings, columns.lengths)
        covered = turns / np.float32(max(ceiling, 1e-9))
        best = covered
        words = weights.turn * ranking.min_max(turns, among)
        if weights.window:
            wide = [ranking.windowed(posting, columns.windows) for posting in postings]
            windows, most = ranking.bm25(wide, columns.window_lengths)
            best = np.maximum(covered, windows / np.float32(max(most, 1e-9)))
            words = words + weights.window * ranking.min_max(windows, among)
        lexical = (words / np.float32(weights.turn + weights.window)).astype(np.float32)
        if vector is None or not weights.dense:
            return _Evidence(lexical, covered, np.full(len(columns), np.nan, np.float32), words=lexical)
        similar = columns.similarities(vector)
        dense = self._meaning(similar, lexical, among)
        best = ranking.best_covered(best, columns.languages, among)
        fused = ranking.fuse(lexical, dense, best, among, weights)
        return _Evidence(fused.scores, covered, similar, words=lexical, meaning=dense, weights=fused)

    def _meaning(self, similar: Floats, lexical: Floats, among: Flags) -> Floats:
        """Return the similarities from 0 to 1.

        An item without a vector yet counts as an average one, or as its words do: what was just said is found.
        """
        known = among & ~np.isnan(similar)
        levelled = ranking.per_language(np.nan_to_num(similar), self._columns.languages, known)
        dense = ranking.min_max(levelled, known)
        usual = float(dense[known].mean()) if known.any() else 0.0
        return np.where(known, dense, np.maximum(lexical, np.float32(usual))).astype(np.float32)

    def _with_priors(self, evidence: Floats, weights: Weights, hints: Hints) -> Floats:
        columns = self._columns
        scores = evidence.copy()
        if weights.neighbour:
            scores += weights.neighbour * ranking.answered(evidence, columns.replies)
        if weights.session:
            scores += weights.session * ranking.best_of_group(evidence, columns.starts, columns.sociable)
        if weights.named and len(hints.speakers):
            named = np.isin(columns.speakers, hints.speakers) & (columns.speakers != 0)
            scores += np.float32(weights.named) * named
        if weights.said and hints.role is not None:
            scores += np.float32(weights.said) * (columns.roles == hints.role)
        if weights.period and hints.periods:
            scores += np.float32(weights.period) * ranking.in_periods(columns.times_ms, hints.periods)
        if weights.own and columns.talkative:
            scores += np.float32(weights.own) * (columns.roles == Role.USER)
        return np.divide(scores, weights.most, dtype=np.float32)


def _half(place: int, scores: Floats, weights: Floats | None, most: float) -> Half:
    return Half(float(scores[place]), (1.0 if weights is None else float(weights[place])) / most)
