"""The times that a question names are found in English and Chinese, and nothing else is taken for one."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.text.periods import MAX_PERIODS, MAX_YEARS, Period, periods

NOW = datetime(2024, 5, 15, 12, 30, tzinfo=UTC)  # a Wednesday


def span(start: str, end: str) -> Period:
    return Period(*(int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000) for day in (start, end)))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What happened on 3 June, 2023?", "2023-06-03", "2023-06-04"),
        ("the 3rd of June 2023", "2023-06-03", "2023-06-04"),
        ("on May 3, 2023", "2023-05-03", "2023-05-04"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("in December 2023", "2023-12-01", "2024-01-01"),
        ("trips in 2023", "2023-01-01", "2024-01-01"),
        ("2023-05-03", "2023-05-03", "2023-05-04"),
        ("2023年5月3日说了什么", "2023-05-03", "2023-05-04"),
        ("2023年12月", "2023-12-01", "2024-01-01"),
        ("2022年去过哪里", "2022-01-01", "2023-01-01"),
        ("today", "2024-05-15", "2024-05-16"),
        ("昨天", "2024-05-14", "2024-05-15"),
        ("前天", "2024-05-13", "2024-05-14"),
        ("last week", "2024-05-06", "2024-05-13"),
        ("上个星期", "2024-05-06", "2024-05-13"),
        ("这周", "2024-05-13", "2024-05-20"),
        ("last month", "2024-04-01", "2024-05-01"),
        ("上个月", "2024-04-01", "2024-05-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("去年", "2023-01-01", "2024-01-01"),
        ("前年", "2022-01-01", "2023-01-01"),
        ("three days ago", "2024-05-12", "2024-05-13"),
        ("2 weeks ago", "2024-04-29", "2024-05-06"),
        ("三个月前", "2024-02-01", "2024-03-01"),
        ("两年前", "2022-01-01", "2023-01-01"),
        ("last Monday", "2024-05-13", "2024-05-14"),
        ("on Wednesday", "2024-05-08", "2024-05-09"),
        ("the day before yesterday", "2024-05-13", "2024-05-14"),
        ("the week before last", "2024-04-29", "2024-05-06"),
        ("last weekend", "2024-05-11", "2024-05-13"),
        ("last May", "2023-05-01", "2023-06-01"),
        ("last April", "2024-04-01", "2024-05-01"),
        ("last summer", "2023-06-01", "2023-09-01"),
        ("in the summer of 2022", "2022-06-01", "2022-09-01"),
        ("last night", "2024-05-14", "2024-05-15"),
        ("ten days ago", "2024-05-05", "2024-05-06"),
        ("half a year ago", "2023-11-01", "2023-12-01"),
        ("in the last 3 days", "2024-05-12", "2024-05-16"),
        ("over the past two weeks", "2024-05-01", "2024-05-16"),
        ("between May and July 2023", "2023-05-01", "2023-08-01"),
        ("since March", "2024-03-01", "2024-05-16"),
        ("in Q1 2023", "2023-01-01", "2023-04-01"),
        ("recently", "2024-05-01", "2024-05-16"),
        ("25/12/2023", "2023-12-25", "2023-12-26"),
        ("上上周", "2024-04-29", "2024-05-06"),
        ("上周三", "2024-05-08", "2024-05-09"),
        ("这周五", "2024-05-17", "2024-05-18"),
        ("星期一", "2024-05-13", "2024-05-14"),
        ("上个周末", "2024-05-11", "2024-05-13"),
        ("上上个月", "2024-03-01", "2024-04-01"),
        ("二〇二三年五月", "2023-05-01", "2023-06-01"),
        ("23年5月3号", "2023-05-03", "2023-05-04"),
        ("去年五月", "2023-05-01", "2023-06-01"),
        ("去年夏天", "2023-06-01", "2023-09-01"),
        ("今年三月份", "2024-03-01", "2024-04-01"),
        ("大前天", "2024-05-12", "2024-05-13"),
        ("大前年", "2021-01-01", "2022-01-01"),
        ("十五天前", "2024-04-30", "2024-05-01"),
        ("半年前", "2023-11-01", "2023-12-01"),
        ("最近三天", "2024-05-12", "2024-05-16"),
        ("2023年5月到7月", "2023-05-01", "2023-08-01"),
        ("上个季度", "2024-01-01", "2024-04-01"),
        ("2023年上半年", "2023-01-01", "2023-07-01"),
        ("去年年底", "2023-11-01", "2024-01-01"),
        ("3号", "2024-05-03", "2024-05-04"),
        ("最近", "2024-05-01", "2024-05-16"),
    ],
)
def test_a_time_that_is_named_is_found(text: str, start: str, end: str) -> None:
    assert periods(text, NOW) == [span(start, end)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "You may go",
        "march on",
        "版本 3.2",
        "at 5 o'clock",
        "30 minutes",
        "31 February",
        "the 1990s",
        "以上年龄",
        "晚上周围",
        "3号线",
        "next week",
        "下周",
        "\ud800",
    ],
)
def test_what_names_no_time_has_none(text: str) -> None:
    assert periods(text, NOW) == []


def test_a_month_without_a_year_is_that_of_each_year() -> None:
    found = periods("in June", NOW)
    assert found[:2] == [span("2024-06-01", "2024-07-01"), span("2023-06-01", "2023-07-01")]
    assert len(found) == MAX_YEARS
    assert periods("6月3日", NOW)[1] == span("2023-06-03", "2023-06-04")


def test_a_date_with_slashes_is_either() -> None:
    assert periods("5/3/2023", NOW) == [span("2023-05-03", "2023-05-04"), span("2023-03-05", "2023-03-06")]


def test_a_month_in_chinese_numerals_is_that_of_each_year() -> None:
    assert periods("五月三日", NOW) == periods("5月3日", NOW) == periods("on 3 May", NOW)
    assert len(periods("五月", NOW)) == MAX_YEARS


def test_two_times_are_both_found() -> None:
    assert periods("between May 2023 and yesterday", NOW) == [
        span("2024-05-14", "2024-05-15"),
        span("2023-05-01", "2023-06-01"),
    ]


PARTS = [
    "12",
    "月",
    "May ",
    "2023",
    "-",
    "999 years ago",
    "上",
    "上个",
    "周",
    "三",
    "十",
    "年",
    "号",
    "last ",
    "two ",
    "weeks ",
    "ago",
    "since ",
    "/",
    "到",
    "前",
    "去年",
    "夏天",
    "Q1",
    "第",
    "季度",
    "in the ",
    "summer",
]


@given(
    st.text(st.characters(exclude_categories=())) | st.lists(st.sampled_from(PARTS)).map("".join),
    st.integers(-9_000, 30_000).map(lambda days: NOW + timedelta(days)),
)
def test_any_text_names_a_bounded_number_of_spans_at_any_time(text: str, now: datetime) -> None:
    found = periods(text, now)
    assert len(found) <= MAX_PERIODS
    assert all(start < end for start, end in found)
