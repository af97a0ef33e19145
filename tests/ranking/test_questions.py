"""A question is searched by what it asks about, and says whose words it asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text.questions import asked, sayer
from app.core.text.terms import terms


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Where did I leave my car?", "leave car"),
        ("What is the name of the hotel in Rome?", "name hotel Rome"),
        ("我家的猫害怕什么？", "的猫害怕"),
        ("请问谁负责维护锅炉", "负责维护锅炉"),
        ("ramen with egg", "ramen egg"),
    ],
)
def test_words_that_only_make_it_a_question_are_left_out(question: str, about: str) -> None:
    assert asked(question) == terms(about)


@pytest.mark.parametrize("question", ["who", "What is it?", "谁", "什么", "你是谁？", "你", ""])
def test_a_question_of_nothing_else_keeps_them(question: str) -> None:
    assert asked(question) == terms(question)


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("What did I tell you about my car?", "user"),
        ("What have I said about dogs?", "user"),
        ("I asked you for a recipe, which one?", "user"),
        ("Which hotel did you recommend?", "assistant"),
        ("what you’ve told me about Rome", "assistant"),
        ("我说过我喜欢什么？", "user"),
        ("我之前提到的药", "user"),
        ("我跟你说过的那家店", "user"),
        ("你说过什么？", "assistant"),
        ("你上次推荐的餐厅是哪家？", "assistant"),
        ("您建议我吃什么", "assistant"),
        ("What did Caroline say?", None),
        ("Did I leave my car there?", None),
        ("我妈妈说了什么", None),
        ("你的说明书在哪", None),
        ("", None),
    ],
)
def test_whose_words_are_asked_for(question: str, role: str | None) -> None:
    assert sayer(question) == role


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_a_question(question: str) -> None:
    assert bool(asked(question)) == bool(terms(question[:4_000]))
    assert sayer(question) in {"user", "assistant", None}
