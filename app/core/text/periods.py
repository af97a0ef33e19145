"""The times that a question names, in English and Chinese: "in May 2023", "last week", 上周, 2023年5月3日."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

MAX_CHARS: Final = 1_000
MAX_PERIODS: Final = 64
MAX_YEARS: Final = 10


class Period(NamedTuple):
    """A span of time in Unix milliseconds, the end not in it."""

    start_ms: int
    end_ms: int


_Span = tuple[datetime, datetime]
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CHINESE: Final = {c: n for n, c in enumerate("零一二三四五六七八九十")} | {"两": 2, "几": 3}

_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATES: Final = (
    re.compile(
        rf"(?<!\d){_YEAR}(?:[-/.]|\s*年\s*)(?P<month>\d{{1,2}})(?!\d)(?:(?:[-/.]|\s*月\s*)(?P<day>\d{{1,2}})(?!\d))?"
    ),
    re.compile(rf"(?<!\d){_DAY}\s+(?:of\s+)?{_MONTH}\b(?:\.?,?\s+{_YEAR}(?!\d))?"),
    re.compile(rf"\b{_MONTH}\.?\s+{_DAY}\b(?:,?\s+{_YEAR}(?!\d))?"),
    re.compile(rf"\b{_MONTH}\.?,?\s+(?:of\s+)?{_YEAR}(?!\d)"),
    # A month alone needs a preposition: "may" and "march" are mostly verbs.
    re.compile(rf"\b(?:in|of|during|since|last|by|this|early|late|mid|until)[\s-]+{_MONTH}\b"),
    re.compile(r"(?<![\d年])(?P<month>\d{1,2})\s*月(?:\s*(?P<day>\d{1,2})\s*[日号])?"),
    re.compile(rf"(?<!\d){_YEAR}(?!\d)"),
)
_AGO: Final = re.compile(
    r"\b(?P<count>\d{1,3}|an?|one|two|three|four|five|six|a few|a couple of)\s+(?P<unit>day|week|month|year)s?\s+ago\b"
    r"|(?P<number>\d{1,3}|[一二三四五六七八九十两几])\s*个?\s*(?P<einheit>天|日|周|星期|礼拜|月|年)\s*(?:以?前|之前)",
)
_COUNTS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "a few": 3}
_UNITS: Final = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
# Words, the unit they speak of, and how many units back.
_WORDS: Final = (
    (re.compile(r"\btoday\b|今天|今日"), "day", 0),
    (re.compile(r"\byesterday\b|昨天|昨日|昨晚"), "day", 1),
    (re.compile(r"\bday before yesterday\b|前天"), "day", 2),
    (re.compile(r"\bthis week\b|[本这]个?(?:周|星期|礼拜)"), "week", 0),
    (re.compile(r"\b(?:last|past|previous) week(?:end)?\b|上个?(?:周|星期|礼拜)"), "week", 1),
    (re.compile(r"\bthis month\b|[本这]个?月"), "month", 0),
    (re.compile(r"\b(?:last|past|previous) month\b|上个?月"), "month", 1),
    (re.compile(r"\bthis year\b|今年"), "year", 0),
    (re.compile(r"\b(?:last|past|previous) year\b|去年"), "year", 1),
    (re.compile(r"前年"), "year", 2),
)
_LAST_WEEKDAY: Final = re.compile(r"\b(?:last|on) (?P<weekday>mon|tues?|wednes|thurs?|fri|satur|sun)day\b")


def periods(text: str, now: datetime) -> list[Period]:
    """Return the periods that a question names, at most MAX_PERIODS; relative ones count back from `now`.

    A month or day without a year is that of each of the last MAX_YEARS: what is searched lies in one of them.
    """
    head = text[:MAX_CHARS].lower()
    found: dict[Period, None] = {}
    for start, end in (*_dates(head, now), *_relative(head, now)):
        found[Period(_millis(start), _millis(end))] = None
    return list(found)[:MAX_PERIODS]


def _dates(text: str, now: datetime) -> Iterator[_Span]:
    for pattern in _DATES:
        left = 0
        rest: list[str] = []
        for match in pattern.finditer(text):
            named = match.groupdict()
            year, month = named.get("year"), _month(named.get("month"))
            years = [int(year)] if year else [now.year - back for back in range(MAX_YEARS)]
            spans = [span for y in years if (span := _calendar(y, month, int(named.get("day") or 0)))]
            yield from spans
            rest += [text[left : match.start()], "|" * bool(spans)]
            left = match.end() if spans else match.start()
        # A date that was read is taken out, so that "2023" in "May 3, 2023" isn't the whole of that year too.
        text = "".join(rest) + text[left:]


def _relative(text: str, now: datetime) -> Iterator[_Span]:
    for pattern, unit, back in _WORDS:
        if pattern.search(text):
            yield _back(now, unit, back)
    for match in _AGO.finditer(text):
        count, number = match.group("count"), match.group("number")
        if count:
            yield _back(now, match.group("unit"), _COUNTS.get(count, 2) if not count.isdigit() else int(count))
        else:
            back = int(number) if number.isdigit() else _CHINESE[number]
            yield _back(now, _UNITS[match.group("einheit")], back)
    for match in _LAST_WEEKDAY.finditer(text):
        weekday = _WEEKDAYS.index(match.group("weekday")[:3])
        yield _back(now, "day", (now.weekday() - weekday - 1) % 7 + 1)


def _month(named: str | None) -> int:
    if named is None:
        return 0
    return int(named) if named.isdigit() else _MONTHS.index(named[:3]) + 1


def _calendar(year: int, month: int, day: int) -> _Span | None:
    """Return a year, a month of it or a day of that; None for what no calendar has."""
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
    except ValueError:
        return None
    if day:
        return start, start + timedelta(days=1)
    return start, _first_of_next(start, 1 if month else 12)


def _first_of_next(start: datetime, months: int) -> datetime:
    at = start.year * 12 + start.month - 1 + months
    return datetime(at // 12, at % 12 + 1, 1, tzinfo=UTC)


def _back(now: datetime, unit: str, count: int) -> _Span:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "day":
        start = today - timedelta(days=count)
        return start, start + timedelta(days=1)
    if unit == "week":
        start = today - timedelta(days=today.weekday() + 7 * count)
        return start, start + timedelta(days=7)
    months = 12 if unit == "year" else 1
    first = today.replace(day=1, month=1) if unit == "year" else today.replace(day=1)
    start = _first_of_next(first, -count * months)
    return start, _first_of_next(start, months)


def _millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)
