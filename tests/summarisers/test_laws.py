"""What holds for any messages: bounds, determinism, one fold however it is cut, and the user's words unchanged."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.infra.summarisers.constraints import MAX_CONSTRAINT_CHARS, Bounds, constraints, fold, merge_constraints
from app.infra.summarisers.extractive import Limits, Turn, render, summarise

PHRASES = [
    *("Never use tables.", "You may use tables again.", "Always use tables for prices.", "don't use emojis or slang"),
    *("From now on answer in French.", "Always answer in English, please.", "Keep it under 100 words.", "Call me Bo."),
    *(
        "Forget all my rules.",
        "Forget that rule.",
        "I don't eat pork.",
        "I eat pork again.",
        "No need to cite sources now.",
    ),
    *(
        "不要用表格。",
        "可以再用表格了。",
        "以后都用中文回答，别用缩写。",
        "回答不要超过50字",
        "我只吃素",
        "刚才那条要求取消",
        "叫我老李",
    ),
    *(
        "What a day!",
        "你好",
        "I moved to Berlin in 2021.",
        "我明天九点去上海开会。",
        "Thanks!",
        "Why must it never end?",
    ),
]
messages = st.lists(st.sampled_from(PHRASES), max_size=3).map(" ".join) | st.text(max_size=80)
turns = st.lists(st.builds(Turn, st.sampled_from(["user", "assistant", "tool", "system"]), messages), max_size=8)
relaxed = settings(max_examples=150, deadline=None)
SMALL = Limits(Bounds(constraints=4, chars=120), gist_chars=150)


@given(text=messages)
@relaxed
def test_a_constraint_is_a_part_of_its_message(text: str) -> None:
    found = constraints(text)
    assert found == constraints(text)
    assert all(part in text for part in found)
    assert all(part.strip() and len(part) <= MAX_CONSTRAINT_CHARS for part in found)


@given(text=messages)
@relaxed
def test_a_constraint_alone_is_read_as_it_was_in_its_message(text: str) -> None:
    assert [part for found in constraints(text) for part in constraints(found)] == constraints(text)


@given(parts=st.lists(messages, max_size=6), cut=st.integers(0, 6))
@relaxed
def test_merging_in_one_go_or_in_two_is_the_same(parts: list[str], cut: int) -> None:
    said = [constraints(text) for text in parts]
    first = [found for some in said[:cut] for found in some]
    rest = [found for some in said[cut:] for found in some]
    for bounds in (None, SMALL.constraints):
        assert merge_constraints(merge_constraints([], first, bounds), rest, bounds) == merge_constraints(
            [], first + rest, bounds
        )


@given(before=turns, after=turns)
@relaxed
def test_summarising_in_one_go_or_in_two_is_the_same(before: list[Turn], after: list[Turn]) -> None:
    for limits in (Limits(), SMALL):
        assert summarise(summarise(None, before, limits), after, limits) == summarise(None, before + after, limits)


@given(given_turns=turns)
@relaxed
def test_a_summary_stays_within_its_bounds(given_turns: list[Turn]) -> None:
    summary = summarise(None, given_turns, SMALL)
    assert len(summary.constraints) <= 4
    assert sum(map(len, summary.constraints)) <= 120
    assert len(summary.gist) <= 150
    for language in ("en", "zh"):
        text = render(summary, language)
        assert all(constraint in text for constraint in summary.constraints)
        assert bool(text) == bool(summary.constraints or summary.gist)


@given(old=st.lists(st.text(max_size=40), max_size=4), new=st.lists(st.text(max_size=40), max_size=4))
@relaxed
def test_merging_takes_any_strings(old: list[str], new: list[str]) -> None:
    assert merge_constraints(old, new) == merge_constraints(old, new)


def test_at_the_bound_the_oldest_go_and_are_counted() -> None:
    said = [f"Never mention project {name}." for name in ("Ada", "Bea", "Cleo", "Dora", "Ella", "Fay")]
    folded = fold([], said, Bounds(constraints=4))
    assert list(folded.kept) == said[2:]
    assert folded.omitted == 2


def test_at_the_bound_what_is_said_of_oneself_goes_before_what_is_put_to_the_reader() -> None:
    said = ["Never use tables.", "I don't eat pork.", "Always cite sources.", "别用表情", "Call me Bo."]
    assert "I don't eat pork." not in fold([], said, Bounds(constraints=4)).kept
    assert "Never use tables." in fold([], said, Bounds(constraints=4)).kept


def test_the_newest_stays_whatever_the_bound() -> None:
    newest = "Never use tables, " + "whatever the figures and whoever asks for them, " * 5
    folded = fold(["Call me Bo."], constraints(newest), Bounds(constraints=10, chars=60))
    assert folded.kept[-1].startswith("Never use tables")
    assert folded.omitted == 1
    assert sum(map(len, folded.kept)) <= 60


def test_what_was_omitted_is_said() -> None:
    text = [f"Never mention project {name}." for name in ("Ada", "Bea", "Cleo", "Dora", "Ella", "Fay")]
    summary = summarise(None, [Turn("user", said) for said in text], SMALL)
    assert summary.omitted == 6 - len(summary.constraints)
    assert str(summary.omitted) in render(summary, "en")
    assert str(summary.omitted) in render(summary, "zh")


def test_a_constraint_stays_however_long_ago_it_was_stated() -> None:
    chatter = random.Random(7)  # noqa: S311 - chatter
    subjects = ["The train to Kyoto", "My sister", "这个项目", "The invoice", "天气", "That restaurant", "我的猫"]
    summary = summarise(None, [Turn("user", "Never use abbreviations. 以后都用中文回答我。")])
    sizes = set()
    for number in range(600):
        text = (
            f"{chatter.choice(subjects)} came up again, number {number}, 一共{number}次。 Costs {chatter.random():.3f}."
        )
        summary = summarise(summary, [Turn("user", text), Turn("assistant", f"Noted: {text}")])
        sizes.add(len(render(summary)))
    assert summary.constraints == ("Never use abbreviations.", "以后都用中文回答我。")
    assert max(sizes) < 2_000


ENGLISH = (
    "I'm preparing the quarterly review with Dana and we went through the numbers yesterday. The revenue in Asia grew "
    "by 12 percent, which surprised everyone. Could you draft a short paragraph about it? I'd like to send it tonight. "
    "Please never use abbreviations, and keep it under 100 words. My manager thinks the tables are too long, but I "
    "like them. By the way, always cite the source of each figure. Thanks a lot for your help so far!"
)
CHINESE = (
    "我正在准备季度总结，昨天和小王一起核对了数据。亚洲区的收入增长了百分之十二，大家都很意外。"
    "你能帮我写一段简短的说明吗？今晚要发给领导。请不要使用缩写，必须写明数据来源。"
    "另外我觉得第二张图有点乱，你怎么看？对了，以后都用中文回答我，别再用表格了。谢谢你一直以来的帮助。"
) * 4


@pytest.mark.parametrize("text", [ENGLISH[:500], CHINESE[:500]], ids=["English", "Chinese"])
def test_finding_constraints_takes_less_than_a_millisecond(text: str) -> None:
    def seconds() -> float:
        start = time.process_time()
        for _ in range(50):
            constraints(text)
        return (time.process_time() - start) / 50

    assert min(seconds() for _ in range(5)) < 0.001


@pytest.mark.parametrize(
    "text",
    [
        *("never " * 30_000, "must not " * 20_000, "in the " * 30_000 + "never x", "a" * 200_000, "，" * 100_000),
        *("不要" * 100_000, "don't, " * 30_000, "```" * 50_000, '"' * 100_000, "translate this " * 10_000 + ":"),
        *("every " * 30_000 + "must", "if i " * 40_000, "每次" * 60_000 + "都", "请" * 100_000 + "用", "\n\n" * 90_000),
        *("translate this:\n\n" * 10_000, "可以" * 90_000 + "用了", "取消" * 90_000 + "要求"),
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_no_message_takes_long(text: str) -> None:
    start = time.process_time()
    merge_constraints([], constraints(text))
    assert time.process_time() - start < 5
