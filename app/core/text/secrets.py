"""Finds identity-card, bank-card and passport numbers in text, by their form and check digit. Linear on any str.

No word borders are asked for: 我的身份证是110101199003070011谢谢 has none.
What is part of a longer run of digits isn't a number of these.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from enum import StrEnum
from typing import Final, NamedTuple


class Kind(StrEnum):
    """What a registered secret is the number of."""

    IDENTITY_CARD = "identity_card"
    BANK_CARD = "bank_card"
    PASSPORT = "passport"


class Secret(NamedTuple):
    """Where in a text a number stands: characters from `start` up to `end`."""

    start: int
    end: int
    kind: Kind


# Full-width and other digits, letters, dashes and spaces, one character for one, so that places stay the same. What has
# no width parts groups like a space.
_SPACES: Final = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_WIDTHLESS: Final = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
# The zeros of the scripts that have digits of their own, and of the styles of mathematics.
_ZEROS: Final = (
    *(0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040),
    *(0x17E0, 0x1810, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6),
)
_FOLDED: Final[dict[int, int]] = {
    **{0xFEE0 + code: code for code in range(0x21, 0x7F)},
    **{zero + digit: 0x30 + digit for zero in _ZEROS for digit in range(10)},
    **dict.fromkeys(map(ord, _SPACES + _WIDTHLESS), 0x20),
    **dict.fromkeys(map(ord, _DASHES), 0x2D),
}

# Nothing with fewer than six digits close together is one: most texts are done with here.
_MAYBE: Final = re.compile(r"\d(?:\D{0,3}\d){5}")
_BREAK: Final = r"(?: - |[ -])"

# A look-ahead, so that every place is tried: 2024 110101 19900307 0011 has 18 digits before the number ends.
# The year is asked for on the way: few places get further.
_IDENTITY: Final = re.compile(
    r"(?<![0-9])(?=(?P<number>[1-9](?:[ -]{0,3}[0-9]){5}[ -]{0,3}(?:1[ -]{0,3}9|2[ -]{0,3}0)(?:[ -]{0,3}[0-9]){9}"
    r"(?:[ -]{0,3}[0-9](?![0-9])|[ -]{0,3}[Xx](?![0-9A-Za-z]))))",
)
_IDENTITY_DIGITS: Final = 18
_IDENTITY_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_IDENTITY_CHECKS: Final = "10X98765432"
_PROVINCE: Final = re.compile("1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]|91")
_BORN_SINCE: Final = 1900
_BORN_UNTIL: Final = 2100

# A UUID may consist of digits alone; it is passed over. Groups of digits with one break between each two are a run.
_RUN: Final = re.compile(
    r"(?P<uuid>(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z]))"
    rf"|(?P<run>(?<![0-9])[0-9]++(?:{_BREAK}[0-9]++)*+)",
)
_GROUP: Final = re.compile(r"[0-9]+")
_CARD_DIGITS: Final = (13, 19)
_FIRST_GROUP: Final = (4, 6)
_INNER_GROUP: Final = (3, 6)
_PHONE_DIGITS: Final = 15
# A word before a number is one: "card4111...". Two or three letters are more likely of a parcel's or an order's number.
_WORD_LETTERS: Final = 4
_MAX_WORD_LETTERS: Final = 32
_ISSUERS: Final = re.compile(
    r"4[0-9]{12,18}|[56][0-9]{15,18}|3[47][0-9]{13}|3[0689][0-9]{12,17}|35[0-9]{14,17}|81[0-9]{14,17}|955[0-9]{13,16}"
    r"|2(?:2[2-9]|[3-6][0-9]|7[01])[0-9]{13}|2720[0-9]{12}|220[0-4][0-9]{12}",
)

_PASSPORT: Final = re.compile(
    r"(?<![0-9A-Za-z_/#.-])(?:[EG][0-9]{8}|E[A-HJ-NP-Z][0-9]{7}|[DSP]E?[0-9]{7})(?!-?[0-9A-Za-z])",
)
_PASSPORT_WORD: Final = re.compile(r"passport|护照|護照", re.IGNORECASE)
_NEAR: Final = 40
_JUST_BEFORE: Final = 24
_NUMBER_OF_SOME_STATE: Final = re.compile(r"(?<![0-9A-Za-z])(?=(?:[A-Z]{0,9}[0-9]){4})[0-9A-Z]{7,9}(?![0-9A-Za-z])")
_IS_THE: Final = re.compile(r"\s*(?:(?:is|was|是|为|為)\s*)?(?:(?:my|our|the|his|her|their|我的|他的|她的)\s*)?$")
_DAY: Final = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")


def find(text: str) -> list[Secret]:
    """Return the numbers in the text, in order; none overlaps another."""
    if not _MAYBE.search(text):
        return []
    plain = folded(text)
    found: list[Secret] = []
    for secret in sorted([*_identity_cards(plain), *_bank_cards(plain), *_passports(plain)], key=_precedence):
        if not found or secret.start >= found[-1].end:
            found.append(secret)
    return found


def folded(text: str) -> str:
    """Return the text with digits, letters, dashes and spaces in their plain forms, each at its place."""
    return text if text.isascii() else text.translate(_FOLDED)


def canonical(number: str) -> str:
    """Return a number without the ways to write it: full-width or not, grouped or not, an x or an X."""
    return re.sub("[ -]", "", number.translate(_FOLDED)).upper()


def is_identity_card(number: str) -> bool:
    """Say whether 18 characters are a resident identity card's number (GB 11643): province, birth date, MOD 11-2."""
    if len(number) != _IDENTITY_DIGITS or not _PROVINCE.match(number):
        return False
    try:
        born = date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_IDENTITY_WEIGHTS, number, strict=False))
    return _BORN_SINCE <= born.year < _BORN_UNTIL and number[-1].upper() == _IDENTITY_CHECKS[total % 11]


def is_bank_card(digits: str) -> bool:
    """Say whether digits are a bank card's number: of an issuer's form, and with the check digit of Luhn's."""
    if not _ISSUERS.fullmatch(digits):
        return False
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(two - 9 if two > 9 else two for two in doubled)) % 10 == 0  # noqa: PLR2004 - digits of a decimal number


def _precedence(secret: Secret) -> tuple[int, int]:
    """Earlier goes first, and of two at one place the one with the stronger check."""
    return secret.start, list(Kind).index(secret.kind)


def _identity_cards(text: str) -> Iterator[Secret]:
    for match in _IDENTITY.finditer(text):
        if is_identity_card(re.sub("[ -]", "", match["number"])):
            yield Secret(*match.span("number"), Kind.IDENTITY_CARD)


def _bank_cards(text: str) -> Iterator[Secret]:
    for match in _RUN.finditer(text):
        if match.lastgroup == "uuid" or match.end() - match.start() < _CARD_DIGITS[0]:
            continue
        groups = [group.span() for group in _GROUP.finditer(text, *match.span())]
        taken = 0
        for first in range(len(groups)):
            if first < taken:
                continue
            for last in _ends(groups, first):
                start, end = groups[first][0], groups[last][1]
                if _stands_alone(text, start, end) and is_bank_card(re.sub("[ -]", "", text[start:end])):
                    yield Secret(start, end, Kind.BANK_CARD)
                    taken = last + 1
                    break


def _ends(groups: Sequence[tuple[int, int]], first: int) -> Sequence[int]:
    """Return which groups a card's number that begins with the group `first` may end with, the longest first."""
    sizes = [end - start for start, end in groups[first : first + _CARD_DIGITS[1]]]
    if _CARD_DIGITS[0] <= sizes[0]:
        return [first]
    if first == 0 and len(groups) <= _CARD_DIGITS[1] and set(sizes) == {1}:  # spelled out: 4 1 1 1 ...
        return [len(groups) - 1]
    if not _FIRST_GROUP[0] <= sizes[0] <= _FIRST_GROUP[1]:
        return []
    found: list[int] = []
    digits = sizes[0]
    for place, size in enumerate(sizes[1:], first + 1):
        digits += size
        if digits > _CARD_DIGITS[1]:
            break
        if digits >= _CARD_DIGITS[0]:
            found.append(place)
        if not _INNER_GROUP[0] <= size <= _INNER_GROUP[1]:
            break
    return found[::-1]


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether digits are no decimals, no telephone number with its country's, and no part of an id with letters."""
    before, two_before = text[start - 1 : start], text[max(0, start - 2) : start]
    if before == "+" and end - start <= _PHONE_DIGITS:
        return False
    if before == "." and two_before[0].isdigit():
        return False
    return _is_word(text[max(0, start - _MAX_WORD_LETTERS) : start][::-1]) and _is_word(
        text[end : end + _MAX_WORD_LETTERS]
    )


def _is_word(beside: str) -> bool:
    """Whether what stands beside a number is no letter or digit, or the letters of a word and nothing else."""
    letters = 0
    for char in beside:
        if not (char.isascii() and char.isalnum()):
            break
        if char.isdigit():
            return False
        letters += 1
    return letters == 0 or letters >= _WORD_LETTERS


def _passports(text: str) -> Iterator[Secret]:
    for match in _PASSPORT.finditer(text):
        yield Secret(*match.span(), Kind.PASSPORT)
    for word in _PASSPORT_WORD.finditer(text):
        for match in _NUMBER_OF_SOME_STATE.finditer(text, word.end(), word.end() + _NEAR):
            if _may_be_passport(text, match):
                yield Secret(*match.span(), Kind.PASSPORT)
                break
        for match in _NUMBER_OF_SOME_STATE.finditer(text, max(0, word.start() - _JUST_BEFORE), word.start()):
            if _IS_THE.fullmatch(text, match.end(), word.start()) and _may_be_passport(text, match):
                yield Secret(*match.span(), Kind.PASSPORT)


def _may_be_passport(text: str, match: re.Match[str]) -> bool:
    """Whether the match is whole, where the search began or ended inside a text, and isn't a day."""
    start, end = match.span()
    alone = not re.search("[0-9A-Za-z]", text[max(0, start - 1) : start] + text[end : end + 1])
    return alone and not _DAY.fullmatch(match.group())
