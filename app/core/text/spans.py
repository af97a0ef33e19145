"""Spans of the calendar, in UTC, each [start, end): days, weeks from Monday, months, quarters, years, seasons."""

from datetime import UTC, datetime, timedelta
from typing import Final

Span = tuple[datetime, datetime]

DAY: Final = timedelta(days=1)
# The months that seasons begin with, in the north.
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
QUARTER_MONTHS: Final = 3
HALF_MONTHS: Final = 6
YEAR_MONTHS: Final = 12
_MONTHS_OF: Final = {"month": 1, "quarter": QUARTER_MONTHS, "half": HALF_MONTHS, "year": YEAR_MONTHS}


def today(now: datetime) -> datetime:
    """Return the beginning of the day."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def calendar(year: int, month: int = 0, day: int = 0) -> Span | None:
    """Return a year, a month of it or a day of that; None for what no calendar has."""
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
    except ValueError:
        return None
    return (start, start + DAY) if day else (start, later(start, 1 if month else YEAR_MONTHS))


def later(first: datetime, months: int) -> datetime:
    """Return the first of the month so many months after that of a date."""
    at = first.year * YEAR_MONTHS + first.month - 1 + months
    return datetime(at // YEAR_MONTHS, at % YEAR_MONTHS + 1, 1, tzinfo=UTC)


def back(now: datetime, unit: str, count: int) -> Span:
    """Return the day, week, weekend, month, quarter, half or year so many before the one of now."""
    begun = today(now)
    if unit == "day":
        return begun - count * DAY, begun - count * DAY + DAY
    monday = begun - (begun.weekday() + 7 * count) * DAY
    if unit == "week":
        return monday, monday + 7 * DAY
    if unit == "weekend":
        return monday + 5 * DAY, monday + 7 * DAY
    months = _MONTHS_OF[unit]
    start = later(begun, -((begun.month - 1) % months) - count * months)
    return start, later(start, months)


def rolling(now: datetime, unit: str, count: int) -> Span:
    """Return the time from so many units ago until the end of today."""
    begun = today(now)
    if unit in {"day", "week"}:
        return begun - count * (DAY if unit == "day" else 7 * DAY), begun + DAY
    first = later(begun, -count * _MONTHS_OF[unit])
    return first + (min(begun.day, 28) - 1) * DAY, begun + DAY


def season(year: int, first_month: int) -> Span:
    """Return three months; a winter is the one that begins in the year."""
    start = datetime(year, first_month, 1, tzinfo=UTC)
    return start, later(start, QUARTER_MONTHS)


def weekday(now: datetime, day: int, weeks: int | None = None) -> Span:
    """Return a day of the week (Monday is 0) so many weeks ago; without a number the last that is over."""
    begun = today(now)
    if weeks is None:
        start = begun - ((begun.weekday() - day - 1) % 7 + 1) * DAY
    else:
        start = begun - (begun.weekday() + 7 * weeks - day) * DAY
    return start, start + DAY
