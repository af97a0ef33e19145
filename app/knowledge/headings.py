"""The sections of a text: where headings stand, and under which headings each stretch of text is. Pure and linear."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.core.text.clauses import ARTICLE_LEVEL, article_heading, numbered_heading
from app.infra.extraction.model import NO_LAYOUT, Layout, MediaType

MAX_HEADING_CHARS: Final = 200
_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_ENDS: Final = re.compile(r"[.。;；:：!?！？…)）\]】\"”]\s*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of text under one path of headings; it begins with the heading lines, and `body` is where they end."""

    start: int
    body: int
    end: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    level: int
    title: str


def sections(text: str, media_type: MediaType, layout: Layout = NO_LAYOUT) -> Iterator[Section]:
    """Yield the sections of a text, one after the other without a gap.

    A heading with nothing but another heading under it has no section of its own: it opens that of the next one.
    """
    path: list[_Heading] = []
    start = body = 0
    for heading in _headings(text, media_type, layout):
        if text[body : heading.start].strip():
            yield Section(start, body, heading.start, _titles(path))
            start = heading.start
        path = [above for above in path if above.level < heading.level] + [heading]
        body = heading.end
    yield Section(start, body, len(text), _titles(path))


def _titles(path: Sequence[_Heading]) -> tuple[str, ...]:
    return tuple(heading.title for heading in path if heading.title)


def _headings(text: str, media_type: MediaType, layout: Layout) -> Iterator[_Heading]:
    """Yield what the file says is a heading, and between these what its form shows to be one."""
    if media_type is MediaType.CSV:
        return
    end = 0
    said = [_Heading(each.start, each.end, each.level, text[each.start : each.end].strip()) for each in layout.headings]
    written = iter(_written(text, media_type))
    here = next(written, None)
    for each in [*said, _Heading(len(text), len(text), 0, "")]:
        while here is not None and here.start < each.start:
            if here.start >= end:
                yield here
            here = next(written, None)
        if each.level:
            yield each
        end = each.end


def _written(text: str, media_type: MediaType) -> Iterator[_Heading]:
    fence = None
    before, before_start, before_last = "", 0, ""
    position = 0
    for raw in text.splitlines(keepends=True):
        line, start = raw.rstrip("\r\n"), position
        position += len(raw)
        if media_type is MediaType.MARKDOWN:
            mark = _FENCE.match(line)
            if mark and (fence is None or mark[1].startswith(fence)):
                fence = mark[1] if fence is None else None
            elif fence is None and _may_be_underlined(before, before_last) and (under := _UNDERLINE.fullmatch(line)):
                yield _Heading(before_start, position, 1 if "=" in under[1] else 2, before.strip())
                before, before_start, before_last = "", position, ""
                continue
        found = _heading_of(line, media_type)
        if found is None and article_heading(line) and _may_be_followed(before):
            found = ARTICLE_LEVEL, line.strip()
        if fence is None and found:
            level, title = found
            yield _Heading(start, position, level, title)
            before, before_start, before_last = "", position, ""
        else:
            before, before_start, before_last = line, start, before


def _may_be_underlined(line: str, line_before: str) -> bool:
    return 0 < len(line.strip()) <= MAX_HEADING_CHARS and not line_before.strip()


def _may_be_followed(line: str) -> bool:
    """Return whether a heading may come after a line: a sentence that goes on in the next line may name an article."""
    return not line.strip() or _ENDS.search(line) is not None


def _heading_of(line: str, media_type: MediaType) -> tuple[int, str] | None:
    """Return the level and the title of a line that is a heading by itself. A line longer than a heading is none."""
    if len(line) > MAX_HEADING_CHARS:
        return None
    if media_type is MediaType.MARKDOWN and (atx := _ATX.fullmatch(line)):
        return len(atx[1]), (atx[2] or "").strip()
    level = numbered_heading(line)
    return None if level is None else (level, line.strip())
