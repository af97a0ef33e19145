"""Cuts a text into chunks: along headings, paragraphs and sentences, every character in some chunk. Pure and linear.

Sizes are bytes of UTF-8, which weighs a Chinese character as three Latin ones: about what it says. The bound is on a
chunk, never on the text. A cut never comes between the number of a clause and its text, nor after a heading.
"""

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from app.core.text.clauses import ends_in_clause_number, is_clause_number, is_title, opens_item
from app.core.text.sentences import sentences
from app.infra.extraction.model import NO_LAYOUT, Layout, MediaType
from app.knowledge.headings import Section, sections
from app.knowledge.model import Chunk, Location

MAX_BYTES: Final = 1_200
OVERLAP_BYTES: Final = 200
# What is looked at of the lines before and after a cut.
LOOKED_AT_CHARS: Final = 200
_BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n\s*")
_LINE: Final = re.compile(r"\n")
# Where a sentence that is too long is cut, the best places first.
_SEAMS: Final = (re.compile(r"\n"), re.compile(r"[;；。！？!?]"), re.compile(r"[,，、:：]"), re.compile(r"\s"))


@dataclass(frozen=True, slots=True)
class Unit:
    """What is never cut any further: a sentence, or a piece of one that is too long."""

    start: int
    end: int
    size: int
    opens_paragraph: bool


def chunk(text: str, media_type: MediaType, layout: Layout = NO_LAYOUT) -> list[Chunk]:
    """Return the chunks of a text in its order; none where there is nothing but white space.

    A page's end is no border: a sentence goes on over it, and its chunk says both pages.
    """
    if not text.strip():
        return []
    found = sections(text, media_type, layout)
    return [piece for section in found for piece in _chunks(text, section, layout.pages)]


def _chunks(text: str, section: Section, pages: Sequence[int]) -> Iterator[Chunk]:
    units = _units(text, section)
    begin = 0
    for end in _ends(units):
        start = _with_overlap(units, begin)
        span = units[start].start, units[end - 1].end
        on = _page(pages, span[0]), _page(pages, max(span[0], span[1] - 1))
        yield Chunk(text[slice(*span)], Location(*span, section.headings, *on))
        begin = end


def _page(pages: Sequence[int], place: int) -> int | None:
    return max(1, bisect_right(pages, place)) if pages else None


def _units(text: str, section: Section) -> list[Unit]:
    paragraphs = set(_paragraph_starts(text, section))
    cuts = sorted(paragraphs | set(_sentence_starts(text, section, sorted(paragraphs))))
    cuts = [section.start, *_without_orphans(text, section, cuts), section.end]
    units = []
    for start, end in pairwise(cuts):
        pieces = [start, *_seams(text, start, end), end]
        units += [
            Unit(one, other, _size(text[one:other]), one in paragraphs or one == section.start)
            for one, other in pairwise(pieces)
        ]
    return units


def _paragraph_starts(text: str, section: Section) -> Iterator[int]:
    """Yield where paragraphs and list items begin, the first one not included."""
    for blank in _BLANK_LINE.finditer(text, section.body, section.end):
        if blank.end() < section.end:
            yield blank.end()
    for line in _LINE.finditer(text, section.body, section.end):
        if line.end() < section.end and opens_item(text, line.end()):
            yield line.end()


def _sentence_starts(text: str, section: Section, paragraphs: Sequence[int]) -> Iterator[int]:
    for start, end in pairwise([section.body, *paragraphs, section.end]):
        for first, _ in sentences(text[start:end]):
            yield start + first


def _without_orphans(text: str, section: Section, cuts: Sequence[int]) -> Iterator[int]:
    """Yield the cuts that leave neither a heading nor a clause number without its text, nor white space by itself."""
    last = section.start
    for cut in cuts:
        before, last = text[last:cut], cut
        is_orphan = (
            not before.strip()
            or is_clause_number(before)
            or ends_in_clause_number(text, section.start, cut)
            or is_title(_line_before(text, section.start, cut), text[cut : cut + LOOKED_AT_CHARS])
        )
        if cut > section.body and not is_orphan:
            yield cut


def _line_before(text: str, start: int, end: int) -> str:
    """Return the line that ends before a place, as much of it as tells whether it is a title."""
    tail = text[max(start, end - LOOKED_AT_CHARS) : end].rstrip()
    return tail[tail.rfind("\n") + 1 :]


def _seams(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where a unit that is too long is cut."""
    left = _size(text[start:end])
    while left > MAX_BYTES:
        cut = _seam(text, start, min(end, start + _fitting(text[start : start + MAX_BYTES])))
        yield cut
        left -= _size(text[start:cut])
        start = cut


def _seam(text: str, start: int, limit: int) -> int:
    """Return the best cut in the second half of what fits, the limit itself where there is none."""
    middle = (start + limit + 1) // 2
    for seam in _SEAMS:
        for found in reversed(list(seam.finditer(text, middle, limit))):
            if not ends_in_clause_number(text, start, found.end()):
                return found.end()
    for cut in range(limit, middle, -1):
        if not (_joins(text[cut : cut + 1]) or text[cut - 1] == "\u200d" or ends_in_clause_number(text, start, cut)):
            return cut
    return limit


def _joins(character: str) -> bool:
    """Whether a character belongs to the one before it."""
    return (
        character in {"\u200d", "\n"}
        or unicodedata.combining(character or " ") > 0
        or "\ufe00" <= character <= "\ufe0f"
    )


def _ends(units: Sequence[Unit]) -> Iterator[int]:
    """Yield, for each chunk, the index after its last unit: about equal ones, between paragraphs where that does."""
    total = sum(unit.size for unit in units)
    target = total / math.ceil(total / MAX_BYTES)
    paragraphs = _paragraph_sizes(units)
    filled = 0
    for index, unit in enumerate(units):
        # Before a paragraph that would take the chunk further from its target than it is now.
        is_seam = unit.opens_paragraph and filled >= target / 2 and filled + paragraphs[index] / 2 > target
        if filled and (filled >= target or filled + unit.size > MAX_BYTES or is_seam):
            yield index
            filled = 0
        filled += unit.size
    yield len(units)


def _paragraph_sizes(units: Sequence[Unit]) -> dict[int, int]:
    """Return the size of each paragraph by the index of its first unit."""
    sizes: dict[int, int] = {}
    first = 0
    for index, unit in enumerate(units):
        if unit.opens_paragraph:
            first = index
        sizes[first] = sizes.get(first, 0) + unit.size
    return sizes


def _with_overlap(units: Sequence[Unit], begin: int) -> int:
    """Return the first unit of a chunk that repeats the last sentences of the one before it, as far as they fit."""
    start, added = begin, 0
    while start > 1 and added + units[start - 1].size <= OVERLAP_BYTES:
        start -= 1
        added += units[start].size
    return start


def _fitting(text: str) -> int:
    """Return how many characters fit into one chunk."""
    return max(1, len(text.encode("utf-8", "surrogatepass")[:MAX_BYTES].decode("utf-8", "ignore")))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
