"""The times that a question names, in English and Chinese: "in May 2023", "last week", 上周三, 去年五月."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from app.core.text.spans import DAY, SEASONS, Span, back, calendar, later, rolling, season, today, weekday

MAX_CHARS: Final = 1_000
MAX_PERIODS: Final = 64
MAX_YEARS: Final = 10
MAX_BACK: Final = 999
RECENT_DAYS: Final = 14


class Period(NamedTuple):
    """A span of time in Unix milliseconds, the end not in it."""

    start_ms: int
    end_ms: int


Rule = tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Iterable[Span | None]]]

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_NUMBERS: Final = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
    )
} | {"a": 1, "an": 1, "a few": 3, "few": 3, "several": 3, "a couple of": 2, "couple of": 2, "couple": 2, "几": 3}
_UNITS: Final = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "季度": "quarter",
} | {"年": "year", "周末": "weekend"}

_YEAR: Final = r"(?P<year>(?:19|20)\d\d)(?![\ds])"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_UNTIL: Final = _MONTH.replace("<month>", "<until>")
_COUNT: Final = (
    r"(?P<count>\d{1,3}|an?|few|several|(?:a )?couple(?: of)?|a few|"
    + "|".join(
        word
        for word in _NUMBERS
        if word.isalpha() and word.isascii() and len(word) > 2  # noqa: PLR2004 - "a" and "an" are there
    )
    + r")"
)
_UNIT: Final = r"(?P<unit>day|week|weekend|month|quarter|year)s?"
_COUNTED: Final = r"(?P<count>\d{1,3}|[几幾])\s*个?\s*(?P<unit>天|日|周|星期|礼拜|月|季度|年)"
_WEEK: Final = "(?:周|星期|礼拜)"
# 去年, 前年 before a month or a season: the year itself, once numbers are digits.
_NAMED_YEARS: Final = (("大前年", 3), ("前年", 2), ("去年", 1), ("今年", 0))


def periods(text: str, now: datetime) -> list[Period]:
    """Return the periods that a question names, at most MAX_PERIODS; relative ones count back from `now`.

    A month or day without a year is that of each of the last MAX_YEARS: what is searched lies in one of them.
    """
    head = _plain(text[:MAX_CHARS].lower(), now)
    found: dict[Period, None] = {}
    for pattern, read in _RULES:
        left, rest = 0, ""
        for match in pattern.finditer(head):
            spans = [span for span in read(match, now) if span]
            found.update(dict.fromkeys(Period(_millis(start), _millis(end)) for start, end in spans))
            # What was read is taken out, so that "2023" in "May 3, 2023" isn't the whole of that year too.
            rest += head[left : match.start()] + ("|" if spans else match.group())
            left = match.end()
        head = rest + head[left:]
    return sorted(found, key=lambda period: -period.start_ms)[:MAX_PERIODS]


def _plain(text: str, now: datetime) -> str:
    """Return the text with Chinese numbers before a unit of time as digits, and with 去年 before a month as a year."""
    text = re.sub(r"[〇零一二三四五六七八九]{4}(?=\s*年)", lambda m: "".join(str(_DIGITS[c]) for c in m.group()), text)
    text = re.sub(
        r"(?<![周期拜])[一二两兩三四五六七八九十]{1,3}(?=\s*个?\s*(?:天|日|号|號|周|星期|礼拜|月|季度|年))",
        lambda m: str(_chinese(m.group())),
        text,
    )
    for name, years in _NAMED_YEARS:
        text = re.sub(rf"{name}的?(?=\s*(?:\d|[春夏秋冬]|第|上半|下半|年[初底]))", f"{now.year - years}年", text)
    return re.sub(r"(?<!\d)(\d\d)年(?=\s*\d{1,2}\s*月)", r"20\1年", text)


def _chinese(number: str) -> int:
    tens, ten, ones = number.rpartition("十")
    if not ten:
        return _DIGITS[number[-1]]
    return 10 * (_DIGITS.get(tens, 1) if tens else 1) + (_DIGITS[ones[-1]] if ones else 0)


def _count(match: re.Match[str]) -> int:
    said = match.group("count").strip()
    return int(said) if said.isdigit() else _NUMBERS.get(said.replace("幾", "几"), 2)


def _unit(match: re.Match[str]) -> str:
    unit = match.group("unit")
    return _UNITS.get(unit, unit)


def _month(named: str) -> int:
    return int(named) if named.isdigit() else _MONTHS.index(named[:3]) + 1


def _years(year: str | None, now: datetime) -> list[int]:
    return [int(year)] if year else [now.year - years for years in range(MAX_YEARS)]


def _date(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    named = match.groupdict()
    month, day = named.get("month"), int(named.get("day") or 0)
    for year in _years(named.get("year"), now):
        yield calendar(year, _month(month) if month else 0, day)


def _slashed(match: re.Match[str], now: datetime) -> Iterator[Span | None]:  # noqa: ARG001 - as all rules
    one, other, year = (int(match.group(name)) for name in ("one", "other", "year"))
    # Month first or day first: who writes it knows, the reader doesn't.
    yield calendar(year, one, other) if other else None
    yield calendar(year, other, one) if one else None


def _months(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    first, last = _month(match.group("month")), _month(match.group("until"))
    for year in _years(match.groupdict().get("year"), now):
        start, end = calendar(year - (last < first), first), calendar(year, last)
        yield (start[0], end[1]) if start and end else None


def _latest_month(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    month = _month(match.group("month"))
    past = match.group("which") == "last" and month >= now.month
    yield calendar(now.year - past, month)


def _since(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    named = match.groupdict()
    month = _month(named["month"]) if named.get("month") else 0
    year = int(named["year"]) if named.get("year") else now.year - (month > now.month)
    span = calendar(year, month)
    end = today(now) + DAY
    yield (span[0], end) if span and span[0] < end else None


def _season(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    named = match.groupdict()
    first = SEASONS[match.group("season")]
    if named.get("which"):
        spans = [season(now.year - years, first) for years in range(3)]
        begun = [span for span in spans if span[0] <= now]
        yield begun[0] if named["which"] != "last" or begun[0][1] <= now else begun[1]
        return
    for year in _years(named.get("year"), now):
        yield season(year, first)


def _quarter(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    number = match.group("quarter")
    place = "1234".find(number) if number in "1234" else ("first", "second", "third", "fourth").index(number)
    for year in _years(match.groupdict().get("year"), now):
        yield season(year, 3 * place + 1)


def _half(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    start = datetime(int(match.group("year") or now.year), 1 if match.group("half") == "上" else 7, 1, tzinfo=UTC)
    yield start, later(start, 6)


def _edge(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    """Read 年初 and 年底: the last one that has begun, where no year is named."""
    month = 1 if match.group("edge") == "初" else 11
    year = int(match.group("year") or now.year - (month > now.month))
    start = datetime(year, month, 1, tzinfo=UTC)
    yield start, later(start, 2)


def _named_weekday(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    yield weekday(now, _WEEKDAYS.index(match.group("weekday")[:3]))


def _chinese_weekday(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    day = "一二三四五六日".index(match.group("weekday").replace("天", "日"))
    which = match.group("which")
    yield weekday(now, day, which.count("上") if which else None)


def _counted_back(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    yield back(now, _unit(match), _count(match))


def _last_few(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    unit = _unit(match)
    yield rolling(now, "week" if unit == "weekend" else unit, _count(match))


def _chinese_back(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    yield back(now, _UNITS[match.group("unit")], match.group("which").count("上"))


def _day_of_month(match: re.Match[str], now: datetime) -> Iterator[Span | None]:
    day = int(match.group("day"))
    months = (later(today(now), -month) for month in range(13))
    dates = (calendar(first.year, first.month, day) for first in months)
    yield next((span for span in dates if span and span[0] <= now), None)


def _fixed(unit: str, count: int, *, over: bool = False) -> Callable[[re.Match[str], datetime], Iterable[Span]]:
    return lambda _, now: [rolling(now, unit, count) if over else back(now, unit, count)]


_ISO: Final = (
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?:[-/.]|\s*年\s*)(?P<month>\d{1,2})(?!\d)"
    r"(?:(?:[-/.]|\s*月\s*)(?P<day>\d{1,2})(?!\d)(?:\s*[日号號])?|\s*月份?)?"
)
# In their order: what is read by one is gone for those after it.
_RULES: Final[tuple[Rule, ...]] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"\bday before yesterday\b|(?<!大)前天|前日", _fixed("day", 2)),
        (r"大前天", _fixed("day", 3)),
        (r"\bweek before last\b", _fixed("week", 2)),
        (r"\bmonth before last\b", _fixed("month", 2)),
        (r"\byear before last\b|(?<!大)前年", _fixed("year", 2)),
        (r"大前年", _fixed("year", 3)),
        (rf"\b(?:between|from) {_MONTH} (?:and|to|until) {_UNTIL}(?:,?\s+(?:of\s+)?{_YEAR})?", _months),
        (
            rf"(?<!\d)(?:{_YEAR}\s*年\s*)?(?P<month>\d{{1,2}})\s*月?\s*(?:到|至|和|-|~)\s*(?P<until>\d{{1,2}})\s*月",
            _months,
        ),
        (rf"\bsince {_MONTH}(?:,?\s+(?:of\s+)?{_YEAR})?", _since),
        (rf"\bsince {_YEAR}", _since),
        (rf"(?<!\d){_YEAR}\s*年?\s*(?:的)?\s*第?\s*(?P<quarter>[1-4])\s*季度", _quarter),
        (rf"\bq(?P<quarter>[1-4])\b(?:,?\s+(?:of\s+)?{_YEAR})?", _quarter),
        (rf"\b(?P<quarter>first|second|third|fourth) quarter\b(?:,?\s+(?:of\s+)?{_YEAR})?", _quarter),
        (r"第\s*(?P<quarter>[1-4])\s*季度", _quarter),
        (rf"(?:{_YEAR}\s*年\s*)?(?P<half>[上下])半年", _half),
        (rf"(?:{_YEAR}\s*年?\s*)?年(?P<edge>[初底])", _edge),
        (r"\b(?P<which>last|this|past) (?P<season>spring|summer|autumn|fall|winter)\b", _season),
        (rf"\b(?P<season>spring|summer|autumn|fall|winter),?\s+(?:of\s+)?{_YEAR}", _season),
        (r"\b(?:in|during|since|over) (?:the )?(?P<season>spring|summer|autumn|fall|winter)\b", _season),
        (rf"(?:{_YEAR}\s*年\s*)?(?P<season>[春夏秋冬])[天季]", _season),
        (rf"(?:{_YEAR}\s*年\s*)(?P<season>[春夏秋冬])", _season),
        # Dates. A month alone needs a preposition: "may" and "march" are mostly verbs.
        (r"(?<!\d)(?P<one>\d{1,2})/(?P<other>\d{1,2})/(?P<year>(?:19|20)\d\d)(?!\d)", _slashed),
        (
            _ISO,
            _date,
        ),
        (rf"(?<!\d){_DAY}\s+(?:of\s+)?{_MONTH}(?:\.?,?\s+{_YEAR})?", _date),
        (rf"\b{_MONTH}\.?\s+{_DAY}\b(?:,?\s+{_YEAR})?", _date),
        (rf"\b{_MONTH}\.?,?\s+(?:of\s+)?{_YEAR}", _date),
        (rf"\b(?P<which>last|this) {_MONTH}", _latest_month),
        (rf"\b(?:in|of|during|since|by|early|late|mid|until|before|after)[\s-]+{_MONTH}", _date),
        (r"(?<![\d年])(?P<month>\d{1,2})\s*月(?!\s*前)(?:\s*(?P<day>\d{1,2})\s*[日号號])?", _date),
        (rf"(?<!\d){_YEAR}", _date),
        # What counts back from now.
        (r"\bhalf a year ago\b|半年(?:以|之)?前", _fixed("month", 6)),
        (rf"\b{_COUNT}\s+{_UNIT}\s+ago\b", _counted_back),
        (rf"{_COUNTED}\s*(?:以?前|之前)", _counted_back),
        (r"半个?月(?:以|之)?前", _fixed("week", 2)),
        (rf"\b(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}\b", _last_few),
        (rf"(?:最近|过去|過去|近|这|這)的?{_COUNTED}", _last_few),
        (r"(?:最近|过去|近)半年", _fixed("month", 6, over=True)),
        (rf"(?P<which>上{{0,3}}|[这這本])个?{_WEEK}(?P<weekday>[一二三四五六日天])(?!\d)", _chinese_weekday),
        (r"(?<![晚早以身])(?P<which>上{1,3})个?(?P<unit>周末|周|星期|礼拜|月|季度|年)", _chinese_back),
        (r"\b(?:last|past|previous|over the|on the|at the) weekend\b", _fixed("weekend", 1)),
        (r"\bthis weekend\b|[这這本]个?周末", _fixed("weekend", 0)),
        (r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|今天|今日|今早|今晚|今晨", _fixed("day", 0)),
        (r"\byesterday\b|\blast night\b|昨天|昨日|昨晚|昨夜", _fixed("day", 1)),
        (rf"\bthis week\b|[本这這]个?{_WEEK}", _fixed("week", 0)),
        (r"\b(?:last|past|previous) week\b", _fixed("week", 1)),
        (r"\bthis month\b|[本这這]个?月", _fixed("month", 0)),
        (r"\b(?:last|past|previous) month\b", _fixed("month", 1)),
        (r"\bthis quarter\b|[本这這]个?季度", _fixed("quarter", 0)),
        (r"\b(?:last|past|previous) quarter\b", _fixed("quarter", 1)),
        (r"\bthis year\b|今年|本年", _fixed("year", 0)),
        (r"\b(?:last|past|previous) year\b|去年", _fixed("year", 1)),
        (r"\b(?:last|this|on) (?P<weekday>mon|tues?|wednes|thurs?|fri|satur|sun)days?\b", _named_weekday),
        (r"(?<!\d)(?P<day>\d{1,2})[号號](?![线線楼樓院店])", _day_of_month),
        (r"\bon the (?P<day>\d{1,2})(?:st|nd|rd|th)\b", _day_of_month),
        (
            r"\brecently\b|\blately\b|\bthe other day\b|\bthese days\b|最近|近来|近來|[这這前]几天|[这這]段时间",
            _fixed("day", RECENT_DAYS, over=True),
        ),
    )
)


def _millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)
