"""The index finds by words, by meaning and by what stands near; it filters; the kind of record changes what helps."""

import os
from collections.abc import Sequence
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.core.ranking import CONVERSATION, DOCUMENTS, Weights
from app.core.text.language import language_code
from app.core.text.terms import speaker, speakers, terms
from app.infra.crypto.box import Box
from app.infra.segments.codec import MAX_ITEMS, Role, Segment
from app.infra.segments.index import Filters, Hints, Hit, Index
from app.infra.segments.packing import Item, pack

BOX = Box(uuid4(), {1: os.urandom(32)}, 1, os.urandom(32))
SESSION = UUID(int=1000)
DAY_MS = 86_400_000
NO_TERMS = np.empty(0, np.uint64)


def axis(at: int, size: int = 8) -> NDArray[np.float32]:
    vector = np.zeros(size, np.float32)
    vector[at] = 1
    return vector


def said(
    number: int,
    text: str,
    *,
    name: str = "",
    role: Role = Role.USER,
    group: UUID = SESSION,
    vector: NDArray[np.float32] | None = None,
) -> Item:
    """Return an item whose id, ordinal and day are its number."""
    return Item(
        id=UUID(int=number),
        group=group,
        ordinal=number,
        time_ms=number * DAY_MS,
        terms=BOX.term_ids(terms(text)),
        role=role,
        language=language_code(text),
        speaker=BOX.term(speaker(name)) if name else 0,
        vector=vector,
    )


def query(text: str) -> NDArray[np.uint64]:
    return BOX.term_ids(terms(text))


def numbers(hits: Sequence[Hit]) -> list[int]:
    return [hit.item.int for hit in hits]


def segments(items: Sequence[Item], size: int = MAX_ITEMS) -> list[Segment]:
    return [pack(items[start : start + size], "m") for start in range(0, len(items), size)]


def index(items: Sequence[Item], size: int = MAX_ITEMS) -> Index:
    return Index(segments(items, size), "m")


FOOD = [
    said(1, "I love ramen with egg"),
    said(2, "The train was late"),
    said(3, "我昨天去看了电影"),
    said(4, "Ramen again, and tea"),
]


@pytest.mark.parametrize(
    ("question", "best"),
    [("egg on ramen?", 1), ("which trains were late", 2), ("什么时候看的电影？", 3), ("who wants tea", 4)],
)
@pytest.mark.parametrize("weights", [CONVERSATION, DOCUMENTS])
def test_words_find_what_has_them(question: str, best: int, weights: object) -> None:
    preset = CONVERSATION if weights is CONVERSATION else DOCUMENTS
    hits = index(FOOD).search(query(question), weights=preset)
    assert hits[0].item.int == best
    assert 0 < hits[0].lexical <= 1
    assert hits[0].dense is None


def test_meaning_finds_what_has_no_word_of_the_question() -> None:
    items = [said(1, "ramen", vector=axis(0)), said(2, "train", vector=axis(1)), said(3, "tea", vector=axis(2))]
    hits = index(items).search(query("noodles"), axis(1), weights=DOCUMENTS)
    assert hits[0].item.int == 2
    assert hits[0].dense == pytest.approx(1.0, abs=0.01)
    assert numbers(index(items).search(NO_TERMS, axis(2), weights=DOCUMENTS))[0] == 3


def test_an_item_without_a_vector_yet_is_found_by_its_words() -> None:
    items = [said(n, "talk of the weather", vector=axis(n % 8)) for n in range(1, 9)] + [said(9, "my passport is blue")]
    hits = index(items).search(query("what colour is my passport"), axis(3))
    assert hits[0].item.int == 9
    assert hits[0].dense is None


def test_an_item_without_a_vector_yet_is_not_behind_one_that_only_means_the_same() -> None:
    items = [said(n, f"sky number{n}", vector=axis(n), group=uuid4()) for n in range(8) if n != 3]
    items.append(said(3, "a blue passport", vector=axis(3), group=uuid4()))
    items.append(said(9, "my passport is blue", group=uuid4()))
    hits = index(items).search(query("what colour is my passport, blue?"), axis(3), weights=DOCUMENTS)
    assert numbers(hits)[:2] == [9, 3]


def test_large_segments_of_another_model_are_searched_by_words_alone() -> None:
    old = pack([said(n, f"word{n}", vector=axis(0)) for n in range(200)], "old")
    new = pack([said(n, f"word{n}", vector=axis(1)) for n in range(200, 400)], "m")
    both = Index([old, new], "m")
    assert both.embedded == 200
    assert [(hit.item.int, hit.dense) for hit in both.search(query("word7"), axis(0), top_k=1)] == [(7, None)]


def test_an_item_alone_is_found() -> None:
    alone = index([said(1, "ramen", vector=axis(0))])
    assert numbers(alone.search(query("ramen"), axis(1))) == [1]
    assert numbers(alone.search(query("other"), axis(1))) == [1]
    assert alone.search(query("other")) == []


def test_an_empty_index_finds_nothing() -> None:
    assert Index([]).search(query("ramen"), axis(0)) == []
    assert len(Index([])) == 0


def test_vectors_of_another_model_or_size_are_left_aside() -> None:
    old = pack([said(1, "ramen", vector=axis(0))], "old")
    new = pack([said(2, "train", vector=axis(1))], "m")
    both = Index([old, new], "m")
    assert both.embedded == 1
    hits = both.search(query("ramen"), axis(0), weights=DOCUMENTS)
    assert {hit.item.int: hit.dense for hit in hits}[1] is None
    assert all(hit.dense is None for hit in both.search(query("ramen"), axis(0, 16)))


def test_the_answer_to_a_question_is_found_by_the_question() -> None:
    items = [
        said(1, "What is the dog called?", role=Role.ASSISTANT),
        said(2, "Bello."),
        said(3, "And the weather?", role=Role.ASSISTANT),
        said(4, "Rainy."),
        said(5, "Lunch was fine.", group=UUID(int=1001)),
    ]
    assert set(numbers(index(items).search(query("name of the dog"), top_k=2))) == {1, 2}
    # Documents have no turns: a chunk isn't found by the words of the one before it.
    assert numbers(index(items).search(query("dog"), weights=DOCUMENTS)) == [1]


@pytest.mark.parametrize(
    ("wish", "more", "question"),
    [
        ("Tell me about the Otago railway.", " The line does cross a gorge", "What does the Otago railway cross?"),
        ("讲讲奥塔哥铁路吧。", "这条线路经过峡谷", "奥塔哥铁路经过什么？"),
    ],
)
def test_a_long_answer_goes_before_the_wish_for_it(wish: str, more: str, question: str) -> None:
    near = axis(0) * np.float32(0.8) + axis(1) * np.float32(0.6)
    items = [
        said(1, wish, name="Ann", vector=near),
        said(2, wish + more * 15, name="Bob", vector=near),
        *(said(n, f"other{n} thing{n}", vector=axis(2 + n % 4), group=uuid4()) for n in range(3, 30)),
    ]
    assert numbers(index(items).search(query(question), axis(0), top_k=2)) == [2, 1]


@pytest.mark.parametrize("weights", [CONVERSATION, DOCUMENTS])
def test_a_chance_hit_on_one_word_is_behind_what_means_the_same(weights: Weights) -> None:
    # No note has the words but one, and that has one of six.
    items = [said(n, f"note{n} of{n} nothing{n}", vector=axis(n % 4), group=uuid4()) for n in range(1, 30)]
    items.append(said(30, "my cousin plays chess", vector=axis(5), group=uuid4()))
    meant = axis(6) * np.float32(0.8) + axis(7) * np.float32(0.6)
    items.append(said(31, "shellfish makes me ill", vector=meant, group=uuid4()))
    hits = index(items).search(query("foods allergic dangerous dinner guests cousin"), axis(6), weights=weights)
    assert numbers(hits)[0] == 31


def test_among_notes_of_one_hand_a_neighbour_is_no_answer() -> None:
    notes = [said(n, text) for n, text in enumerate(["the dog is called Bello", "rain today", "lunch was fine"])]
    chat = [
        said(n, text, role=role)
        for (n, text), role in zip(
            enumerate(["the dog is called Bello", "rain today", "lunch was fine"]),
            [Role.USER, Role.ASSISTANT, Role.USER],
            strict=True,
        )
    ]
    assert numbers(index(notes).search(query("dog"))) == [0]
    assert numbers(index(chat).search(query("dog"))) == [0, 1, 2]


def test_a_named_speaker_goes_first_among_equals() -> None:
    names = ["Ann", "Bob", "张曼婷"]
    items = [said(n, "I like tea", name=name, group=UUID(int=n)) for n, name in enumerate(names)]
    for question, best in (("Does Ann like tea?", 0), ("what does Bob like", 1), ("张曼婷 like", 2)):
        hints = Hints(speakers=BOX.term_ids(speakers(question)))
        assert index(items).search(query(question), hints=hints)[0].item.int == best


@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT])
def test_whose_words_are_asked_for_go_first_among_equals(role: Role) -> None:
    either = index(
        [said(1, "ramen is fine", role=Role.USER), said(2, "ramen is fine", role=Role.ASSISTANT, group=UUID(int=1))]
    )
    (first, _) = either.search(query("ramen"), hints=Hints(role=role))
    assert first.item.int == int(role)


def test_of_several_vectors_the_nearest_counts() -> None:
    long = said(1, "one", vector=np.stack([axis(0), axis(1)]))
    several = index([long, said(2, "two"), said(3, "three", vector=axis(2)), said(4, "four", vector=axis(3))])
    for at, item in ((0, 1), (1, 1), (2, 3), (3, 4)):
        hits = several.search(NO_TERMS, axis(at))
        assert hits[0].item.int == item
        assert hits[0].dense == pytest.approx(1, abs=0.01)


def test_a_named_time_goes_first_among_equals() -> None:
    items = [said(n, "We went hiking", group=UUID(int=2000 + n)) for n in (10, 40, 70)]
    found = index(items).search(query("hiking"), hints=Hints(periods=[(39 * DAY_MS, 41 * DAY_MS)]))
    assert numbers(found) == [40, 70, 10]


def test_of_equals_the_newer_goes_first() -> None:
    items = [said(n, "We went hiking", group=UUID(int=2000 + n)) for n in (3, 9, 6)]
    assert numbers(index(items).search(query("hiking"), weights=DOCUMENTS)) == [9, 6, 3]


def test_what_the_user_said_goes_first_where_the_assistant_explains() -> None:
    chat = [
        said(1, "I am allergic to nuts"),
        said(2, "Allergic reactions to nuts: " + "a long explanation of it " * 20, role=Role.ASSISTANT),
        said(3, "thanks", group=UUID(int=5)),
    ]
    assert index(chat).search(query("allergic nuts"))[0].item.int == 1


def test_filters_narrow_and_combine() -> None:
    items = [
        said(1, "tea", role=Role.USER),
        said(2, "tea", role=Role.ASSISTANT),
        said(3, "tea", role=Role.USER, group=UUID(int=7)),
        said(4, "tea", role=Role.USER),
    ]
    search = index(items, 2).search
    cases = [
        (Filters(groups=[SESSION]), {1, 2, 4}),
        (Filters(groups=[]), set()),
        (Filters(roles=[Role.ASSISTANT]), {2}),
        (Filters(items=[UUID(int=3), UUID(int=99)]), {3}),
        (Filters(after_ms=2 * DAY_MS), {2, 3, 4}),
        (Filters(before_ms=2 * DAY_MS), {1}),
        (Filters(groups=[SESSION], roles=[Role.USER], after_ms=2 * DAY_MS), {4}),
    ]
    for filters, expected in cases:
        assert set(numbers(search(query("tea"), filters=filters))) == expected
        assert set(numbers(search(query("tea"), filters=filters, weights=DOCUMENTS))) == expected


def test_top_k_is_kept_and_0_is_none() -> None:
    items = [said(n, "tea") for n in range(30)]
    assert len(index(items).search(query("tea"), top_k=7)) == 7
    assert index(items).search(query("tea"), top_k=0) == []


def test_of_an_item_in_two_segments_the_last_counts() -> None:
    older, newer = said(1, "ramen"), said(1, "ramen", vector=axis(0))
    both = Index([pack([older, said(2, "tea")]), pack([newer], "m")], "m")
    assert (len(both), both.embedded) == (2, 1)
    assert numbers(both.search(query("ramen"), weights=DOCUMENTS)) == [1]


def test_an_answer_in_the_other_language_is_among_the_first() -> None:
    rng = np.random.default_rng(1)

    def near(centre: NDArray[np.float32], share: float) -> NDArray[np.float32]:
        mixed = centre * share + rng.normal(size=64).astype(np.float32) / 8
        return (mixed / np.linalg.norm(mixed)).astype(np.float32)

    # As embedders do: every text lies near the middle of its language, and a little towards what it is about.
    english, chinese, about = (axis(n, 64) for n in range(3))
    items = [said(n, "some english words here", group=uuid4(), vector=near(english, 2)) for n in range(100)]
    items += [said(n, "一些中文的话", group=uuid4(), vector=near(chinese, 2)) for n in range(100, 200)]
    items.append(said(200, "答案在这里", group=uuid4(), vector=near(chinese + about, 2)))
    hits = index(items).search(query("where is it"), near(english + about, 2), weights=DOCUMENTS, top_k=101)
    cosine = {hit.item.int: hit.dense or 0 for hit in hits}
    assert 200 in numbers(hits)[:3]
    assert sum(cosine[200] < cosine.get(n, 0) for n in range(100)) > 50  # by cosine alone it would be lost


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(1, 40), st.integers(0, 5))
def test_how_items_are_cut_into_segments_changes_nothing(count: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = ["tea", "ramen", "train", "dog", "rain", "电影", "天气", "music", "run", "book"]
    items = [
        said(
            number,
            " ".join(rng.choice(words, 4)),
            role=Role(int(rng.integers(1, 3))),
            group=UUID(int=int(rng.integers(3))),
            vector=rng.normal(size=8).astype(np.float32) if rng.random() < 0.7 else None,
        )
        for number in range(count)
    ]
    asked, vector = query("tea and music in the rain 电影"), axis(2)
    one, many = (index(items, cut).search(asked, vector, top_k=60) for cut in (MAX_ITEMS, size))
    assert numbers(one) == numbers(many)
    np.testing.assert_allclose([hit.score for hit in one], [hit.score for hit in many], atol=1e-5)
    assert all(0 <= hit.score <= 1 for hit in one)
