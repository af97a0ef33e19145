"""Spans of sentences cover a text and end where its sentences do, in Chinese and English."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text.sentences import sentences

PIECES = st.sampled_from(
    ["。", ".", "3.2", " ", "\n", "Dr.", "第十条", "word", "!", "？", "\u201d", "…", "\ud800", "A.", "e.g."]
)


@given(st.lists(PIECES | st.text(st.characters(exclude_categories=()), max_size=3)).map("".join))
def test_spans_cover_every_character_in_order(text: str) -> None:
    spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)
    if text.strip():
        assert all(text[start:end].strip() for start, end in spans)


@pytest.mark.parametrize(
    "parts",
    [
        ["Dr. Smith paid 3.5 euros to J. R. Tolkien, e.g. for books. ", "Then he left! ", '"Really?" ', "he said.\n"],
        ["Clause 3.2 applies. ", "See Fig. 3 for it. ", "It ended at 5 p.m. ", "She left."],
        [
            "第十条 甲方应当在3.2款规定的期限内付款。",
            "乙方不得拖延；",
            "否则应支付违约金！",
            "“真的吗？”",
            "他说……",
            "走了。\n\n",
        ],
        ["1. First item. ", "Second sentence.\n", "2. Next item\n", "3.2. Sub clause. ", "(a) x"],
        ["I am I. ", "You are you."],
        ["版本3.2已发布。", "价格是3.14元。", "see www.example.com/a?b=1!c 吧"],
        ["真的吗?", "好!", "走"],
        ["wait... ", "what"],
        ["He said “go.” ", "Then left."],
        ["\n\n title\n", "text"],
        ["no end"],
        ["（见附件。）", "下一句。"],
    ],
)
def test_sentences_end_where_a_reader_ends_them(parts: list[str]) -> None:
    text = "".join(parts)
    assert [text[start:end] for start, end in sentences(text)] == parts


def test_nothing_has_no_sentences() -> None:
    assert sentences("") == []


@pytest.mark.parametrize(
    "text",
    [
        " " * 200_000,
        "." * 200_000 + "x",
        "!" * 200_000 + "x",
        " " * 100_000 + "Mr. " * 20_000,
        "\n " * 100_000,
        ".)" * 100_000,
    ],
)
def test_the_time_is_linear_on_any_text(text: str) -> None:
    start = time.perf_counter()
    sentences(text)
    assert time.perf_counter() - start < 5
