"""The numbers that Word counts by itself: they stand nowhere in a document's text, and contracts are quoted by them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from app.infra.extraction.package import Attributes, Package

MAX_LEVELS: Final = 9
MAX_NUMBER: Final = 9_999
MAX_NUMBER_DIGITS: Final = 9
_DIGITS: Final = "〇一二三四五六七八九"
_LEGAL_DIGITS: Final = "零壹贰叁肆伍陆柒捌玖"
_ROMAN: Final = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")),
    *((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)
_CIRCLED: Final = 20


@dataclass(slots=True)
class Level:
    """How a level of a list is numbered: `%1.%2` is the number of the first level, a full stop, that of the second."""

    start: int = 1
    form: str = "decimal"
    text: str = ""


@dataclass(slots=True)
class Numbering:
    """The lists of a document, and how far each has been counted."""

    levels: dict[str, dict[int, Level]] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    _counted: dict[str, list[int | None]] = field(default_factory=dict)
    _begun: set[tuple[str, int]] = field(default_factory=set)

    def next(self, number_id: str, depth: int) -> str:
        """Return what stands before the next paragraph of a list at a level; nothing where that isn't known."""
        abstract = self.lists.get(number_id, "")
        levels = self.levels.get(abstract, {})
        if depth not in levels or not 0 <= depth < MAX_LEVELS:
            return ""
        counted = self._counted.setdefault(abstract, [None] * MAX_LEVELS)
        restarts = (number_id, depth) in self.starts and (number_id, depth) not in self._begun
        self._begun.add((number_id, depth))
        before = None if restarts else counted[depth]
        counted[depth] = self._start(number_id, depth, levels) if before is None else before + 1
        counted[depth + 1 :] = [None] * (MAX_LEVELS - depth - 1)
        for above in range(depth):
            if counted[above] is None:
                counted[above] = self._start(number_id, above, levels)
        return self._shown(levels, depth, counted)

    def _start(self, number_id: str, depth: int, levels: Mapping[int, Level]) -> int:
        return self.starts.get((number_id, depth), levels[depth].start if depth in levels else 1)

    def _shown(self, levels: Mapping[int, Level], depth: int, counted: list[int | None]) -> str:
        level = levels[depth]
        if level.form in {"bullet", "none"}:
            return "•" if level.form == "bullet" else ""
        text = level.text
        for each in range(depth + 1):
            number = counted[each]
            if f"%{each + 1}" in text and number is not None:
                text = text.replace(
                    f"%{each + 1}", _written(number, levels[each].form if each in levels else "decimal")
                )
        return text.strip()


class _Reader:
    def __init__(self) -> None:
        self.numbering = Numbering()
        self._abstract = self._number = ""
        self._level = Level()
        self._depth: int | None = None

    def start(self, tag: str, given: Attributes) -> None:
        value = given.get("val", "")
        if tag == "abstractNum":
            self._abstract = given.get("abstractNumId", "")
        elif tag == "num":
            self._number = given.get("numId", "")
        elif tag == "abstractNumId":
            self.numbering.lists[self._number] = value
        elif tag in {"lvl", "lvlOverride"}:
            self._depth = _number(given.get("ilvl", ""))
            if tag == "lvl" and not self._number and self._depth is not None:
                self._level = self.numbering.levels.setdefault(self._abstract, {}).setdefault(self._depth, Level())
        elif tag == "startOverride" and self._depth is not None:
            self.numbering.starts[self._number, self._depth] = _number(value) or 0
        else:
            self._describe(tag, value)

    def _describe(self, tag: str, value: str) -> None:
        if self._number:  # what one list has of its own, beside where it starts, is rare
            return
        if tag == "start":
            self._level.start = _number(value) or 0
        elif tag == "numFmt":
            self._level.form = value
        elif tag == "lvlText":
            self._level.text = value


def read_numbering(package: Package) -> Numbering:
    """Return the lists of a document, none of them counted yet."""
    reader = _Reader()
    for part in package.related("numbering"):
        package.parse(part, reader.start, lambda _: None, lambda _: None)
    return reader.numbering


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS else None


def _written(number: int, form: str) -> str:
    if not 0 < number <= MAX_NUMBER:
        return str(number)
    return _FORMS.get(form, str)(number)


def _letters(number: int) -> str:
    return chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, 9)


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


def _chinese(number: int, digits: str = _DIGITS, units: str = "千百十", *, short: bool = True) -> str:
    written, zero = "", False
    for power, unit in zip((1000, 100, 10), units, strict=True):
        digit, number = divmod(number, power)
        if digit:
            written += (digits[0].replace("〇", "零") if zero else "") + digits[digit] + unit
            zero = False
        else:
            zero = bool(written)
    if number:
        written += ("零" if zero else "") + digits[number]
    return written.removeprefix("一") if short and written.startswith("一十") else written


def _legal(number: int) -> str:
    return _chinese(number, _LEGAL_DIGITS, "仟佰拾", short=False)


def _by_digit(number: int) -> str:
    return "".join(_DIGITS[int(digit)] for digit in str(number))


def _circled(number: int) -> str:
    return chr(ord("①") + number - 1) if number <= _CIRCLED else f"({number})"


_FORMS: Final[Mapping[str, Callable[[int], str]]] = {
    "decimalZero": lambda number: f"{number:02}",
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "lowerRoman": lambda number: _roman(number).lower(),
    "upperRoman": _roman,
    **dict.fromkeys(
        ("chineseCounting", "chineseCountingThousand", "taiwaneseCounting", "taiwaneseCountingThousand"), _chinese
    ),
    **dict.fromkeys(("japaneseCounting", "koreanCounting"), _chinese),
    "chineseLegalSimplified": _legal,
    "ideographLegalTraditional": _legal,
    "ideographDigital": _by_digit,
    "taiwaneseDigital": _by_digit,
    "decimalEnclosedCircle": _circled,
    "decimalEnclosedCircleChinese": _circled,
}
