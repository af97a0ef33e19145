"""Where the words of a question stand in a text: ranges of its own characters, whatever folding made them equal.

A character is a Unicode code point: not a byte, and not one of UTF-16's halves, of which an emoji has two.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from app.core.text.terms import placed, terms

MAX_HIGHLIGHTS: Final = 100
# Words that say nothing of what a question is about. They are highlighted where it has no others.
_COMMON_WORDS: Final = """\
a an and are as at be by can did do does for from had has have how i in is it its may must my of on or our shall she
should so that the their them there they this to was we were what when where which who why will with would you your"""
_COMMON: Final = frozenset(term for word in _COMMON_WORDS.split() for term in terms(word))


def highlights(question: str, text: str) -> list[tuple[int, int]]:
    """Return the ranges [start, end) of the text where terms of the question stand, in order, none over another.

    At most MAX_HIGHLIGHTS. A single character of an unspaced script is found wherever it stands.
    """
    asked = frozenset(terms(question))
    wanted = asked - _COMMON or asked
    if not wanted:
        return []
    folded, origins = _folded(text)
    found = [(start, end) for term, start, end in placed(folded) if term in wanted]
    alone = {term for term in wanted if len(term) == 1 and not term.isascii()}
    if alone:
        found += [(place, place + 1) for place, character in enumerate(folded) if character in alone]
    ranges = ((start, end) if origins is None else (origins[start][0], origins[end - 1][1]) for start, end in found)
    return list(_joined(sorted(ranges)))[:MAX_HIGHLIGHTS]


def _joined(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges, those that touch or overlap as one: pairs of characters share one with the next pair."""
    held: tuple[int, int] | None = None
    for start, end in ranges:
        if held is not None and start <= held[1]:
            held = held[0], max(held[1], end)
            continue
        if held is not None:
            yield held
        held = start, end
    if held is not None:
        yield held


def _folded(text: str) -> tuple[str, Sequence[tuple[int, int]] | None]:
    """Return the text in the form that terms are cut from, and for each of its characters the range it was made of.

    None where they are the same characters in the same places, as in most texts.
    """
    lowered = text.lower()
    if len(lowered) == len(text) and unicodedata.is_normalized("NFKC", lowered):
        return lowered, None
    pieces: list[str] = []
    origins: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        piece = unicodedata.normalize("NFKC", text[start:end]).lower()
        pieces.append(piece)
        origins += [(start, end)] * len(piece)
        start = end
    return "".join(pieces), origins
