"""The arithmetic of ranking: known answers, and what must hold for any scores."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core import ranking
from app.core.ranking import CONVERSATION, DOCUMENTS, Flags, Floats, Posting, Weights

SCORES = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=30)


def floats(*values: float) -> Floats:
    return np.array(values, np.float32)


def flags(*values: int) -> Flags:
    return np.array(values, bool)


def posting(places: list[int], counts: list[float], weight: float = 1.0) -> Posting:
    return Posting(np.array(places, np.intp), floats(*counts), weight)


def test_bm25_is_the_formula() -> None:
    lengths = floats(2, 4, 6)
    scores, ceiling = ranking.bm25([posting([0, 2], [1, 3])], lengths)
    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = [
        rarity * count * 1.9 / (count + 0.9 * (1 - 0.4 + 0.4 * length / 4))
        for count, length in [(1, 2), (0, 4), (3, 6)]
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    assert ceiling == pytest.approx(rarity * 1.9)


def test_a_term_that_occurs_nowhere_counts_in_what_could_have_been_found() -> None:
    _, with_one = ranking.bm25([posting([0], [1])], floats(1, 1))
    _, with_two = ranking.bm25([posting([0], [1]), posting([], [])], floats(1, 1))
    assert with_two > with_one


def test_nothing_scores_nothing() -> None:
    scores, ceiling = ranking.bm25([], floats())
    assert (len(scores), ceiling) == (0, 0.0)
    assert not ranking.min_max(floats(), flags()).size


def test_a_window_is_an_item_and_the_two_it_answers() -> None:
    within = ranking.windows(flags(0, 1, 1, 1, 0), floats(9, 9, 9, 9, 9))
    np.testing.assert_array_equal(ranking.three(floats(1, 10, 100, 1000, 5), within), [1, 11, 111, 1110, 5])
    wide = ranking.windowed(posting([0, 4], [2, 1], 3), within)
    assert wide.places.tolist() == [0, 1, 2, 4]
    assert wide.counts.tolist() == [2, 2, 2, 1]
    assert wide.weight == 3


def test_an_explanation_is_no_window_of_what_is_said_after_it() -> None:
    within = ranking.windows(flags(0, 1, 1, 1), floats(100, 9, 100, 60))
    np.testing.assert_array_equal(ranking.three(floats(1, 10, 100, 1000), within), [1, 10, 111, 1110])


def test_what_answers_an_item_supports_it() -> None:
    np.testing.assert_array_equal(ranking.answered(floats(1, 2, 3), flags(0, 1, 0)), [2, 0, 0])


def test_an_explanation_supports_no_wish_for_it() -> None:
    assert ranking.replies(flags(0, 1, 1, 1), floats(5, 60, 5, 61)).tolist() == [False, True, True, False]


def test_the_best_of_a_group_counts_as_far_as_it_is_a_conversation() -> None:
    best = ranking.best_of_group(floats(1, 3, 2, 8), np.array([0, 2]), floats(1, 1, 0, 0.5))
    np.testing.assert_array_equal(best, [3, 3, 2, 8])


@given(SCORES, st.data())
def test_min_max_keeps_order_and_lies_between_0_and_1(values: list[float], data: st.DataObject) -> None:
    scores = floats(*values)
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), bool)
    stretched = ranking.min_max(scores, among)
    assert ((stretched >= 0) & (stretched <= 1)).all()
    assert not stretched[~among].any()
    order = np.argsort(scores[among], kind="stable")
    assert (np.diff(stretched[among][order]) >= 0).all()


def test_equal_scores_are_all_or_nothing() -> None:
    assert ranking.min_max(floats(2, 2, 0), flags(1, 1, 0)).tolist() == [1, 1, 0]
    assert ranking.min_max(floats(0, 0, 7), flags(1, 1, 0)).tolist() == [0, 0, 0]


def test_languages_are_levelled_and_a_lone_item_isn_t_made_a_winner() -> None:
    rng = np.random.default_rng(1)
    similar = np.concatenate([rng.normal(0.5, 0.1, 300), rng.normal(0.2, 0.1, 300), [0.1]]).astype(np.float32)
    languages = np.array([1] * 300 + [2] * 300 + [3], np.uint8)
    levelled = ranking.per_language(similar, languages, np.ones(601, bool))
    assert abs(levelled[:300].mean() - levelled[300:600].mean()) < 0.2
    assert levelled[600] < levelled[:300].mean()


def test_words_count_as_far_as_they_cover_the_question() -> None:
    weights, among = Weights(turn=1, window=0, dense=1), flags(1, 1)
    for best, share in ((0.0, 0.0), (ranking.COVERED / 3, 0.25), (ranking.COVERED, 0.5), (ranking.COVERED * 2, 2 / 3)):
        fused = ranking.fuse(floats(1, 0), floats(0, 1), floats(best, best), among, weights)
        np.testing.assert_allclose(fused.scores, [share, 1 - share], rtol=1e-5)


def test_what_is_best_covered_is_looked_up_language_by_language_among_what_is_chosen() -> None:
    languages = np.array([1, 1, 2, 1], np.uint8)
    best = ranking.best_covered(floats(0.5, 0.25, 0.125, 1), languages, flags(1, 1, 1, 0))
    assert best.tolist() == [0.5, 0.5, 0.125, 0]


def test_a_language_that_words_don_t_reach_is_behind_as_far_as_they_reach_another() -> None:
    similar, none, among = floats(1, 1), floats(0, 0), flags(1, 1)
    for reached, kept in ((ranking.REACHED, ranking.UNREACHED), (0.0, 1.0)):
        fused = ranking.fuse(floats(1, 0), similar, floats(reached, 0), among, DOCUMENTS)
        np.testing.assert_allclose(fused.scores, [1, kept], rtol=1e-5)
    assert ranking.fuse(none, floats(1, 0), none, among, DOCUMENTS).scores.tolist() == [1, 0]


def test_a_period_counts_inside_and_fades_over_two_weeks_after() -> None:
    day = 86_400_000
    times = np.array([-1, 0, day - 1, day + 7 * day, day + 14 * day], np.int64)
    np.testing.assert_allclose(ranking.in_periods(times, [(0, day)]), [0, 1, 1, 0.5, 0], atol=1e-6)
    assert not ranking.in_periods(times, []).any()


def test_scores_of_both_presets_can_reach_but_not_pass_1() -> None:
    assert DOCUMENTS.most == 1
    assert CONVERSATION.most == pytest.approx(2.4)
