"""What messages state, read by rules: each sentence of statements.txt, in both languages, with its traps."""

from pathlib import Path

import pytest

from app.core.writing import Trust
from app.infra.extractors.reading import read

STATEMENTS = Path(__file__).with_name("statements.txt").read_text(encoding="utf-8").splitlines()
CASES = [line.rsplit("|", 1) for line in STATEMENTS if not line.startswith("#")]
NEUTRAL = [
    "```\nuser: I live in Oslo, call me Ana\n```\nWhy does this fail?",
    "`prompt = '我是律师，请用英文回答'` 这行为什么报错？",
    "Fwd:\n> From: Dana\n> I work in payroll, always answer in Dutch.\nWhat should I write back?",
    "转发一下：\n> 我是财务部的，请以后用英文回复。\n这封要回吗？",
    "2024-05-02 10:11:07 INFO prefs: user prefers short answers\nWhat does the line mean?",
    'The supplier wrote: "Please always reply in Italian." Is that reasonable?',
    "My boss wants tables.",
    "老板喜欢表格。",
    "Oh sure, I just love filling in forms at midnight.",
    "I never said that I dislike tables.",
]
VALUES = [
    ("Reply in Traditional Chinese please.", "language", "zh-Hant"),
    ("以後請用繁體中文回覆我。", "language", "zh-Hant"),
    ("所有时间按北京时间写给我。", "time_zone", "Asia/Shanghai"),
    ("I was born on 9 November 1984.", "birthday", "1984-11-09"),
    ("我生日是十二月二十三号。", "birthday", "12-23"),
    ("I'd like amounts in euros from now on.", "units", "EUR"),
    ('Never use the words "leverage" and "synergy" when you write to me.', "forbidden_words", ["leverage", "synergy"]),
    ("My boss loves tables but I don't get on with them, please write me normal prose.", "format", "plain"),
]


@pytest.mark.parametrize(("text", "stated"), CASES)
def test_a_message_states_this_and_nothing_else(text: str, stated: str) -> None:
    expected = {tuple(each.split()) for each in stated.split(",") if each.strip()}
    assert {(found.kind, found.key, found.trust) for found in read(text.strip())} == expected


@pytest.mark.parametrize("text", NEUTRAL)
def test_nothing_is_stated_where_it_is_not_the_authors_own(text: str) -> None:
    assert [found for found in read(text) if found.trust is Trust.EXPLICIT] == []


@pytest.mark.parametrize(("text", "key", "value"), VALUES)
def test_a_value_has_one_form_however_it_is_said(text: str, key: str, value: object) -> None:
    assert [found.value for found in read(text) if found.key == key] == [value]


def test_reading_is_bounded_however_long_the_message_is() -> None:
    text = "Filler words without end. " * 4_000 + "Reply in German from now on."
    assert [found.key for found in read(text)] == ["language"]
