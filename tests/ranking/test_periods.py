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
    ],
)
def test_a_time_that_is_named_is_found(text: str, start: str, end: str) -> None:
    assert periods(text, NOW) == [span(start, end)]


@pytest.mark.parametrize(
    "text", ["", "You may go", "march on", "版本 3.2", "at 5 o'clock", "30 minutes", "31 February", "\ud800"]
)
def test_what_names_no_time_has_none(text: str) -> None:
    assert periods(text, NOW) == []


def test_a_month_without_a_year_is_that_of_each_year() -> None:
    found = periods("in June", NOW)
    assert found[:2] == [span("2024-06-01", "2024-07-01"), span("2023-06-01", "2023-07-01")]
    assert len(found) == MAX_YEARS
    assert periods("6月3日", NOW)[1] == span("2023-06-03", "2023-06-04")


def test_two_times_are_both_found() -> None:
    assert periods("between May 2023 and yesterday", NOW) == [
        span("2023-05-01", "2023-06-01"),
        span("2024-05-14", "2024-05-15"),
    ]


@given(
    st.text(st.characters(exclude_categories=()))
    | st.lists(st.sampled_from(["12", "月", "May ", "2023", "-", "999 years ago"])).map("".join)
)
def test_any_text_names_a_bounded_number_of_spans(text: str) -> None:
    found = periods(text, NOW)
    assert len(found) <= MAX_PERIODS
    assert all(start < end <= start + timedelta(days=366) // timedelta(milliseconds=1) for start, end in found)
