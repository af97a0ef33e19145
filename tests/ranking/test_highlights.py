"""Highlights: the question's words where they stand in a text, counted in its own characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text.highlights import MAX_HIGHLIGHTS, highlights
from app.core.text.terms import terms


@pytest.mark.parametrize(
    ("question", "text", "marked"),
    [
        ("When is the rent due?", "The rents are due. Rent!", ["rents", "due", "Rent"]),
        ("paying", "She paid, he pays, they are PAYING.", ["pays", "PAYING"]),
        ("违约金怎么算", "逾期的，支付违约金千分之一。", ["违约金"]),
        ("猫", "黑猫和白猫", ["猫", "猫"]),
        ("café prices", "\U0001f600\U0001f600 Cafe\u0301 PRICES: ＰＲＩＣＥ 5", ["Cafe\u0301", "PRICES", "ＰＲＩＣＥ"]),
        ("istanbul", "İstanbul \U0001f680 istanbul", ["istanbul"]),
        ("rent 1,200", "It costs 1200 a month, or 1,200.", ["1200", "1,200"]),
        ("Miete Straße", "Die STRASSE und die Straße", ["Straße"]),
        ("what is it", "What it is.", ["What", "it", "is"]),
        ("rent", "", []),
        ("?!", "What?!", []),
        ("zebra", "The rent is due.", []),
    ],
)
def test_the_words_of_a_question_are_marked(question: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in highlights(question, text)] == marked


def test_there_are_only_so_many() -> None:
    assert len(highlights("rent", "rent is " * 1_000)) == MAX_HIGHLIGHTS


@given(st.text(max_size=30), st.text(max_size=200))
def test_ranges_lie_in_the_text_in_order_and_apart(question: str, text: str) -> None:
    ranges = highlights(question, text)
    borders = [border for pair in ranges for border in pair]
    assert borders == sorted(set(borders))
    assert all(0 <= start < end <= len(text) for start, end in ranges)


@given(st.text(alphabet="abc 猫狗鱼.\U0001f600e\u0301Ａ", max_size=60))
def test_what_is_asked_word_for_word_is_marked(text: str) -> None:
    assert bool(highlights(text, text)) == bool(terms(text))
