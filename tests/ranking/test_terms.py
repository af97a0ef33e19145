"""Terms are found in any text, in words or bigrams, and equal writings give equal terms."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text.terms import MAX_SPEAKERS, MAX_TERM_CHARS, MAX_TERMS, speaker, speakers, terms

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_any_text_has_terms_lone_surrogates_included(text: str) -> None:
    for term in [*terms(text), *speakers(text)]:
        assert 0 < len(term) <= MAX_TERM_CHARS + 1
        assert not any(unicodedata.category(c) in {"Cs", "Zs", "Cc"} for c in term)


@given(ANY_TEXT, ANY_TEXT)
def test_the_terms_of_two_lines_are_those_of_each(one: str, other: str) -> None:
    assert terms(f"{one}\n{other}") == terms(one) + terms(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \x00 \ud800 -- ", []),
        ("Hello, WORLD", ["hello", "world"]),
        ("\uff28\uff45llo \uff11\uff12", ["hello", "12"]),
        ("Caroline\u2019s dog isn't Bob's", ["carolin", "dog", "isn't", "bob"]),
        ("café CAFE\u0301 cafe", ["caf", "caf", "caf"]),
        ("1,000.50 3.2.1 v2 10th", ["1000.50", "3.2.1", "v2", "10th"]),
        ("snake_case e-mail", ["snak", "cas", "e", "mail"]),
        ("我的猫", ["我的", "的猫"]),
        ("猫", ["猫"]),
        ("我用Python写代码3天", ["我用", "python", "写代", "代码", "3", "天"]),
        ("2016年5月", ["2016", "年", "5", "月"]),
        ("カタカナ と ひらがな", ["カタ", "タカ", "カナ", "と", "ひら", "らが", "がな"]),
        ("한국어 말", ["한국", "국어", "말"]),
        ("𠮷野家", ["𠮷野", "野家"]),
        ("Привет мир", ["привет", "мир"]),
    ],
)
def test_terms_are_known(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("dogs", "dog"),
        ("studies", "studied"),
        ("painting", "painted"),
        ("running", "run"),
        ("classes", "class"),
        ("moved", "moving"),
        ("boxes", "box"),
        ("hiking", "hike"),
    ],
)
def test_forms_of_an_english_word_are_one_term(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize(
    ("one", "other"), [("this", "the"), ("red", "r"), ("sing", "s"), ("news", "new york"), ("bus", "bu")]
)
def test_other_words_stay_apart(one: str, other: str) -> None:
    assert terms(one) != terms(other)


def test_a_huge_text_is_bounded() -> None:
    assert len(terms("中" * 1_000_000)) == MAX_TERMS
    assert terms("a" * 1_000_000) == ["a" * MAX_TERM_CHARS]
    assert len(speakers("".join(map(chr, range(0x4E00, 0x9000))))) == MAX_SPEAKERS


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Caroline", "What did Caroline's sister say?"),
        ("caroline", "WHAT DID CAROLINE SAY"),
        ("张曼婷", "张曼婷上周说了什么？"),
        ("王", "王说了什么"),
        ("Wang Wei", "When did Wang call?"),
        ("José", "Jose told me"),
    ],
)
def test_a_speaker_that_a_question_names_is_among_its_speakers(name: str, question: str) -> None:
    assert speaker(name) in speakers(question)


def test_a_name_is_no_term_and_no_name_is_empty() -> None:
    assert speaker("Mark") not in terms("mark my words")
    assert speaker(" \ud800 ") == ""
