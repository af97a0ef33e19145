"""Joins the lines of a printed page to paragraphs again: a word or a sentence goes on where a full line ends. Pure."""

import re
from typing import Final

from app.core.text.clauses import is_clause_number, numbered_heading, opens_item

# A line this near to the widest one of its page is full: the next one goes on with it.
FULL_SHARE: Final = 0.75
MIN_FULL_WIDTH: Final = 20
_ENDS: Final = re.compile(r"[.!?:;。！？：；…][\"'”’」』）)\]]*$")
_HYPHENATED: Final = re.compile(r"[a-z]-$")
_LOWER: Final = re.compile(r"[a-z]")
_WIDE: Final = re.compile(
    "[\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]"
)


def reflowed(text: str) -> str:
    """Return a page's text with the lines of a paragraph in one."""
    given = [line.rstrip() for line in text.split("\n")]
    full = max((_width(line) for line in given), default=0) * FULL_SHARE
    joined: list[str] = []
    last = ""
    for line in given:
        if joined and _goes_on(last, line, full):
            joined[-1] = _joined(joined[-1], line)
        else:
            joined.append(line)
        last = line
    return "\n".join(joined)


def _goes_on(before: str, line: str, full: float) -> bool:
    if not before.strip() or not line.strip() or _ENDS.search(before) or is_clause_number(before):
        return False
    if opens_item(line, 0) or numbered_heading(line) or numbered_heading(before):
        return False
    return _width(before) >= max(full, MIN_FULL_WIDTH)


def _joined(before: str, line: str) -> str:
    line = line.lstrip()
    if _HYPHENATED.search(before) and _LOWER.match(line):
        return before[:-1] + line
    return before + line if _WIDE.match(before[-1]) or _WIDE.match(line) else f"{before} {line}"


def _width(line: str) -> int:
    """Return how wide a line is printed, in Latin letters."""
    return len(line) + len(_WIDE.findall(line))
