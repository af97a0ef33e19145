"""A question of single characters asks for the pairs that may hold them; no other question does."""

import pytest

from app.core.text.characters import characters
from app.core.text.terms import terms


@pytest.mark.parametrize(
    ("question", "asked"),
    [("猫", "猫"), ("猫？", "猫"), (" 猫 ", "猫"), ("猫、狗", "猫狗"), ("猫 猫", "猫"), ("貓!", "貓"), ("㐂", "㐂")],
)
def test_single_characters_are_asked_for_in_pairs(question: str, asked: str) -> None:
    found = characters(question)
    assert [held[0] for held in found] == list(asked)
    assert all(
        len(held) == len(set(held)) and all(character in pair for pair in held)
        for character, held in zip(asked, found, strict=True)
    )


@pytest.mark.parametrize(
    "question", ["", "?!", "小猫", "cat", "a", "5", "猫 cat", "猫 狗 鱼", "3月", "の", "ก", "\ud800"]
)
def test_other_questions_ask_with_their_own_terms(question: str) -> None:
    assert characters(question) == []


@pytest.mark.parametrize(
    "text",
    [
        "我的猫很胖。",
        "養了一隻貓，很可愛",
        "猫",
        "買猫",
        "猫粮",
        "我家cat就是猫",
        "「猫」",
        "猫のえさ",
        "この猫",
        "他叫猫猫",
    ],
)
def test_what_holds_the_character_has_a_pair_that_is_asked_for(text: str) -> None:
    character = "貓" if "貓" in text else "猫"
    (held,) = characters(character)
    assert set(held) & set(terms(text))
