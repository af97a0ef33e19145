"""Regular expressions that strangers may write: RE2 matches them in linear time, and each within bounds of its own.

They are looked for in the text as it is folded (`app.core.text.secrets`): in full width or not, in any script's digits.
Places are counted in bytes on the way, as RE2 does, and in characters in what is found.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import re2

from app.core.errors import invalid
from app.core.text.secrets import canonical, folded
from app.core.withholding import Found, merged
from app.verifications.patterns.model import MAX_EXPRESSION_CHARS, Check, Registration

# Of a compiled expression. It bounds how long a match can be, for nothing in it repeats without end.
MAX_STEPS: Final = 500
MAX_MEMORY_BYTES: Final = 1 << 20
# Less than this is a word, or a number of which there are many.
MIN_CHARS: Final = 6
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\^?[a-z]+:\]|[^\]])*\]")
_ENDLESS: Final = re.compile(r"[*+]|\{[0-9]*,\}")
# Quotes, and single bytes.
_REFUSED: Final = frozenset({r"\Q", r"\C"})
# The product's own ids, and those of others: they look like anything.
_ID: Final = re.compile(
    r"(?<![0-9A-Za-z])(?:[a-z]{2,4}_[0-9a-f]{32}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})(?![0-9A-Za-z])"
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_DIGIT: Final = re.compile("[0-9]")
_MOD: Final = 11
_TEN: Final = "X"


@dataclass(frozen=True, slots=True)
class Expression:
    """A registered pattern, ready to be looked for."""

    name: str
    check: Check
    compiled: Any = field(repr=False)  # Any: RE2 has no types

    def matches(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield where in UTF-8 the pattern fits and its check is right. What fits and isn't right hides nothing: the
        next try begins one character later.
        """
        at = 0
        while match := self.compiled.search(data, at):
            start, end = match.span()
            if self._is_right(data, start, end):
                yield start, end
                at = end
            else:
                at = _following(data, start)

    def _is_right(self, data: bytes, start: int, end: int) -> bool:
        if _runs_on(data, start, end):
            return False
        written = re.sub(r"[\W_]", "", canonical(data[start:end].decode("utf-8", "surrogatepass")))
        return len(written) >= MIN_CHARS and bool(_DIGIT.search(written)) and is_right(self.check, written)


class Expressions:
    """What a tenant has registered. A finder of `app.core.withholding`."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        """Take the expressions."""
        self._expressions = expressions

    def find(self, text: str) -> Sequence[Found]:
        """Return what of the text is registered, in order. A time, and an id of any kind, aren't looked into."""
        if not self._expressions or _TIME.fullmatch(text):
            return []
        plain = folded(text)
        if not _DIGIT.search(plain):
            return []
        data = plain.encode("utf-8", "surrogatepass")
        spans = [Found(*span, each.name) for each in self._expressions for span in each.matches(data)]
        if not spans:
            return []
        places = _Places(plain, data)
        ids = [match.span() for match in _ID.finditer(plain)]
        found = [Found(places.of(each.start), places.of(each.end), each.kind) for each in merged(spans)]
        return [each for each in found if not _is_inside(each, ids)]


def compiled(name: str, said: Registration) -> Expression:
    """Return a registered pattern, ready to be looked for. Raises `invalid` for what isn't one, and for what could take
    long: RE2 has no look-around and no references, and what repeats needs a bound.
    """
    _require_bounded(said.expression)
    options = re2.Options()
    options.max_mem, options.log_errors = MAX_MEMORY_BYTES, False
    try:
        made = re2.compile(said.expression.encode(), options)
    except (re2.error, UnicodeEncodeError):
        raise invalid("expression", "must be a regular expression in the syntax of RE2") from None
    if made.programsize > MAX_STEPS:
        raise invalid("expression", f"must come to at most {MAX_STEPS} steps")
    return Expression(name, said.check, made)


def require_examples(expression: Expression, examples: Sequence[str]) -> None:
    """Raise `invalid` for an example that wouldn't be masked as a whole. The examples are kept nowhere."""
    for place, example in enumerate(examples):
        found = Expressions([expression]).find(example)
        if [(each.start, each.end) for each in found] != [(0, len(example))]:
            said = f"must fit as a whole, meet its check, and have at least {MIN_CHARS} letters and digits"
            raise invalid(f"examples[{place}]", said)


def is_right(check: Check, written: str) -> bool:
    """Say whether the check digit is right, of the digits that there are."""
    digits = [int(char) for char in written if char.isdecimal()]
    match check:
        case Check.LUHN:
            doubled = [digit * 2 for digit in digits[-2::-2]]
            return (sum(digits[-1::-2]) + sum(two - 9 if two > 9 else two for two in doubled)) % 10 == 0  # noqa: PLR2004 - digits of a decimal number
        case Check.ISO7064_MOD11_2:
            numbers = [*digits, 10] if written.endswith(_TEN) else digits
            total = 0
            for number in numbers:
                total = (total * 2 + number) % _MOD
            return total == 1
        case Check.NONE:
            return True


def _require_bounded(expression: str) -> None:
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise invalid("expression", f"must have at most {MAX_EXPRESSION_CHARS} characters")
    plain = _CLASS.sub("", _ESCAPED.sub("x", expression))
    if _REFUSED.intersection(_ESCAPED.findall(expression)) or _ENDLESS.search(plain):
        raise invalid("expression", r"must say how often something may come at most: no `*`, `+`, `{n,}`, `\Q`, `\C`")


def _following(data: bytes, start: int) -> int:
    """Return where the next character begins."""
    after = start + 1
    while after < len(data) and data[after] & 0xC0 == 0x80:  # noqa: PLR2004 - the bytes of UTF-8 that go on
        after += 1
    return after


def _runs_on(data: bytes, start: int, end: int) -> bool:
    """Say whether a match is a part of a longer number, or begins or ends with a part of a word."""
    before, first = data[max(0, start - 1) : start], data[start : start + 1]
    last, after = data[end - 1 : end], data[end : end + 1]
    return any(
        (edge.isdigit() and beside.isdigit()) or (edge.isalpha() and beside.isalnum())
        for edge, beside in ((first, before), (last, after))
    )


def _is_inside(found: Found, spans: Sequence[tuple[int, int]]) -> bool:
    place = bisect_right(spans, found.start, key=lambda span: span[0]) - 1
    return place >= 0 and found.end <= spans[place][1]


class _Places:
    """Turns places in bytes into places in characters, asked for in their order."""

    def __init__(self, text: str, data: bytes) -> None:
        self._data, self._is_plain = data, len(text) == len(data)
        self._bytes = self._chars = 0

    def of(self, place: int) -> int:
        if self._is_plain:
            return place
        self._chars += len(self._data[self._bytes : place].decode("utf-8", "surrogatepass"))
        self._bytes = place
        return self._chars
