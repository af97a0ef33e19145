"""A text's language is the one of its script, and any text has one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text.language import LANGUAGES, language, language_code
from app.core.text.passages import MAX_CHARS, passage, pieces, spoken


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_one_of_the_languages(text: str) -> None:
    assert LANGUAGES[language_code(text)] == language(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello there", "en"),
        ("déjà vu", "en"),
        ("你好 world", "zh"),
        ("我用 Python 写代码", "zh"),
        ("Please use the API key 密钥", "en"),
        ("今日はいい天気ですね", "ja"),
        ("東京タワー", "ja"),
        ("안녕하세요", "ko"),
        ("Привет", "ru"),
        ("สวัสดี", "th"),
        ("12:30 !!", "und"),
        ("", "und"),
        ("\ud800", "und"),
    ],
)
def test_the_language_is_known(text: str, expected: str) -> None:
    assert language(text) == expected


def test_the_codes_in_segments_stay() -> None:
    assert LANGUAGES[:5] == ("und", "en", "zh", "ja", "ko")


def test_a_message_is_embedded_beside_what_it_answers() -> None:
    asked, said = spoken("Ann", "How often?"), spoken("Bob", "Twice a week.")
    assert passage(said, asked) == "Ann: How often?\nBob: Twice a week."
    assert passage(said) == "Bob: Twice a week."
    assert spoken("", "Hi") == "Hi"


def test_of_what_a_message_answers_no_more_than_its_own_length_is_embedded_and_no_explanation() -> None:
    asked = "Ann: " + "Well. " * 20 + "How often?"
    assert passage("Bob: Twice a week.", asked) == f"{asked[-60:]}\nBob: Twice a week."
    assert passage("Bob: Twice.", "Ann: " + "because " * 60) == "Bob: Twice."
    assert passage("好的。", "\ud800" + "讲" * 150) == "好的。"


LONG_TEXTS = st.lists(st.sampled_from(["a" * 300 + ". ", "字" * 99 + "。", "x"])).map("".join)


@given(st.text(st.characters(exclude_categories=())) | LONG_TEXTS)
def test_pieces_are_few_and_hold_all_that_is_said(text: str) -> None:
    found = pieces(text, 4)
    assert len(found) <= 4
    assert "".join("".join(found).split()) == "".join(text.split())
    assert len(text) > 4 * MAX_CHARS or all(len(piece) <= 2 * MAX_CHARS for piece in found)
