"""Where a value stands in a text as a whole word: an e-mail address not inside a longer one, next to Chinese text too.

And which values are worth looking for: those that point at something ("new@x.example", "12 High Street"), not common
words. A short name is one, and a part of many others ("Li", "张伟"): it is found where the text says that it is a name.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

MAX_CHARS: Final = 200
_MIN_WORDS_CHARS: Final = 8
_MIN_CODE_CHARS: Final = 6
_MIN_CODE_DIGITS: Final = 3
_MIN_NAME_CHARS: Final = 5
_MIN_HAN: Final = 5
_MIN_HAN_NAME: Final = 3
_MIN_PHONE_DIGITS: Final = 7
_SHORT_NAME: Final = re.compile(r"[^\W\d_]{2,4}")
# What a short name stands after, in folded text.
_IS_NAMED: Final = (
    r"(?:我叫|叫我|名叫|叫做|我是|(?:姓名|名字|称呼) ?(?:[:是叫为] ?)?"
    r"|(?<!\w)(?:name(?:['’]s| is|:)|call me|i am|i['’]m|named|dear) )"
)
# Scripts that are written without spaces: where one stands beside a word, that word ends.
_UNSPACED: Final = (range(0x2E80, 0xA000), range(0xAC00, 0xD7B0), range(0xF900, 0xFB00), range(0x20000, 0x40000))
_EMAIL: Final = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@.]{2,}")
_URL: Final = re.compile(r"\w+://\S+|www\.\S+")
_PHONE: Final = re.compile(r"\+?[\d\s()./-]+", re.ASCII)
_DATE: Final = re.compile(r"\d{4}[-/.年]\d{1,2}([-/.月]\d{1,2})?\b.*", re.ASCII)
_NOT_DIGIT: Final = re.compile(r"\D", re.ASCII)
# What phone numbers are grouped by.
_GROUPING: Final = r"[\s().\-/]{0,3}"
# What joins parts of an address or a code: "old@x.example.com" doesn't hold "old@x.example".
_JOINTS: Final = frozenset("._-+%@")


def folded(text: str) -> str:
    """Return the form that texts are compared in: without width, case and the kind of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def compared(value: str) -> str:
    """Return what equal values have in common: of phone numbers the digits, however they are grouped."""
    plain = folded(value)
    return _NOT_DIGIT.sub("", plain) if _is_phone(plain) else plain


def identifies(value: str, *, is_name: bool = False) -> bool:
    """Say whether a value points at something, so that a text which holds it says something of it."""
    plain = folded(value)
    if len(plain) > MAX_CHARS or _DATE.fullmatch(plain):
        return False
    if _is_phone(plain) or _EMAIL.fullmatch(plain) or _URL.fullmatch(plain):
        return True
    letters = sum(char.isalpha() for char in plain)
    digits = sum(char.isdigit() for char in plain)
    han = sum(_is_unspaced(char) for char in plain)
    if is_name and _SHORT_NAME.fullmatch(plain):
        return True
    if han:
        return han >= (_MIN_HAN_NAME if is_name or digits else _MIN_HAN)
    if " " in plain:
        return letters > 0 and len(plain) >= (_MIN_NAME_CHARS if is_name else _MIN_WORDS_CHARS)
    is_code = letters > 0 and digits >= _MIN_CODE_DIGITS and len(plain) >= _MIN_CODE_CHARS
    return is_code or (is_name and letters >= _MIN_NAME_CHARS)


def strings(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every string of a JSON value and the names that lead to it; what is in a list has the list's."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from strings(inner, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner, path)


def spans(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a value stands in a text as a whole. Both as `compared` and `folded` have made them."""
    if value.isdigit() and len(value) >= _MIN_PHONE_DIGITS:
        yield from _digit_spans(value, text)
        return
    if _is_short_name(value):
        yield from _named_spans(value, text)
        return
    start = text.find(value) if value else -1
    while start >= 0:
        end = start + len(value)
        if _is_whole(value, text, start, end):
            yield start, end
        start = text.find(value, start + 1)


def _digit_spans(digits: str, text: str) -> Iterator[tuple[int, int]]:
    if digits not in _NOT_DIGIT.sub("", text):
        return
    for found in re.finditer(_GROUPING.join(digits), text):
        start, end = found.span()
        if not _joins(text[max(0, start - 1) : start], digits[0]) and not _joins(text[end : end + 1], digits[-1]):
            yield start, end


def _is_short_name(plain: str) -> bool:
    shortest = _MIN_HAN_NAME if any(map(_is_unspaced, plain)) else _MIN_NAME_CHARS
    return _SHORT_NAME.fullmatch(plain) is not None and len(plain) < shortest


def _named_spans(name: str, text: str) -> Iterator[tuple[int, int]]:
    if name in text:
        # "我叫张伟明" doesn't hold "张伟", nor "I am Lily" "Li".
        beyond = r"\w" if _is_unspaced(name[-1]) else r"[^\W\u2e80-\U0003ffff]"
        for found in re.finditer(f"{_IS_NAMED}({re.escape(name)})(?!{beyond})", text):
            yield found.span(1)


def _is_whole(value: str, text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if _joins(before[-1:], value[0]) or _joins(after[:1], value[-1]):
        return False
    if "@" not in value and not any(char.isdigit() for char in value):
        return True
    is_after_part = before[-1:] in _JOINTS and _is_spaced(before[:-1])
    return not is_after_part and not (after[:1] in _JOINTS and _is_spaced(after[1:]))


def _joins(beside: str, edge: str) -> bool:
    """Say whether two characters belong to one word."""
    return _is_spaced(beside) and _is_spaced(edge)


def _is_spaced(char: str) -> bool:
    return char != "" and (char.isalnum() or char == "_") and not _is_unspaced(char)


def _is_unspaced(char: str) -> bool:
    return any(ord(char) in script for script in _UNSPACED)


def _is_phone(plain: str) -> bool:
    return (
        _PHONE.fullmatch(plain) is not None
        and _DATE.fullmatch(plain) is None
        and sum(char.isdigit() for char in plain) >= _MIN_PHONE_DIGITS
    )
