"""Whose words a message holds: code, quotations and pasted texts bind nobody; lists and long sentences are read."""

import pytest

from app.infra.summarisers.constraints import MAX_CONSTRAINT_CHARS, constraints
from app.infra.summarisers.reading import own_sentences

PASTED_MAIL = """Can you proofread this email for me?

Here is the email:

Dear colleagues,

you must hand in your forms by Friday. Never send them by post.

Kind regards"""

CODE = """This fails, why?
```python
# never call this twice, you must not
raise ValueError("don't do that")
```
"""


@pytest.mark.parametrize(
    "text",
    [
        PASTED_MAIL,
        CODE,
        "~~~\nnever do this\n~~~",
        "```\nnever do this",
        "> Never reply to this.\n> You must log in.",
        "`never` is a type in TypeScript.",
        "The note read “never open this door”.",
        "他留了张纸条：「不要开门」。",
        "《别让我走》是一本小说。",
        "Translate into German: You must never give up.",
        "帮我翻译：请勿打扰",
        "总结一下这封邮件：\n各位同事：\n请务必在周五之前提交报告，不要迟到。",
        "See https://example.com/never/do-not?must=only",
    ],
)
def test_what_the_author_didnt_say_binds_nobody(text: str) -> None:
    assert constraints(text) == []


def test_the_authors_own_words_after_a_pasted_text_count() -> None:
    text = "Here's the log:\n\nERROR you must not retry\nnever again\n\nDon't suggest reinstalling."
    assert constraints(text) == ["Don't suggest reinstalling."]


def test_rules_after_a_colon_are_the_authors_own() -> None:
    text = "Here are my rules:\n- never use emojis\n2. Always cite sources.\n* Only metric units\n（1）不要用缩写"
    assert constraints(text) == ["never use emojis", "Always cite sources.", "Only metric units", "不要用缩写"]


def test_a_quotation_inside_of_a_constraint_is_kept() -> None:
    assert constraints('Never say "as an AI", please.') == ['Never say "as an AI", please.']
    assert constraints("以后别用“亲”称呼我。") == ["以后别用“亲”称呼我。"]
    assert constraints("Never use `eval` in the code.") == ["Never use `eval` in the code."]


def test_only_the_sentences_that_bind_are_returned() -> None:
    text = (
        "Hi! I'm off to Rome in May. Please never book early flights. 住哪里好呢？不要推荐青旅。Thanks, e.g. for tips."
    )
    assert constraints(text) == ["Please never book early flights.", "不要推荐青旅。"]


def test_typographic_and_traditional_characters_are_read() -> None:
    assert constraints("Don’t use tables.") == ["Don’t use tables."]
    assert constraints("請務必用繁體中文回覆，不要用縮寫。") == ["請務必用繁體中文回覆，不要用縮寫。"]


def test_of_a_very_long_sentence_the_clauses_that_bind_are_returned() -> None:
    story = "we went through the figures of every region and every month, " * 10
    found = constraints(f"Yesterday {story}so please never use abbreviations in the report")
    assert found == ["so please never use abbreviations in the report"]
    assert constraints("不要用缩写" + "和很长很长的句子" * 60)[0].startswith("不要用缩写")
    assert all(len(part) <= MAX_CONSTRAINT_CHARS for part in constraints("Never " + "say this and that " * 60))


def test_sentences_stand_where_they_stood() -> None:
    text = "  - Ünïcode ÄÖ; İstanbul.\n\n1. “Quoted” text!  最后一句。"
    for sentence in own_sentences(text):
        assert sentence.text in text
        assert len(sentence.text) == len(sentence.plain)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "```", "\ufffc", "\0", "\ud800 never \udfff", "?", "，。；", "- \n- \n1."]
)
def test_odd_messages_are_read(text: str) -> None:
    assert isinstance(constraints(text), list)
