"""The numbers of parts, clauses and items: what they look like, alone, at the head and at the end of a text. Pure."""

import re
from typing import Final

# No number of a clause is longer; what is further back isn't looked at.
_TAIL_CHARS: Final = 48
_CHINESE: Final = "零〇一二三四五六七八九十百千"
_NUMBER: Final = (
    rf"第[{_CHINESE}\d]{{1,7}}[条條款项項](?:之[{_CHINESE}\d]{{1,3}})?"
    rf"|[(（](?:\d{{1,3}}|[a-zA-Z]|[ivxlc]{{1,6}}|[{_CHINESE}]{{1,4}})[)）]"
    rf"|(?:\d{{1,3}}(?:\.\d{{1,3}}){{0,5}}|[a-zA-Z]|[ivx]{{1,5}}|[{_CHINESE}]{{1,4}})[.．)）、]"
    r"|\d{1,3}(?:\.\d{1,3}){1,5}"
    r"|(?:[Aa]rticle|ARTICLE|[Ss]ection|SECTION|[Cc]lause|CLAUSE|[Aa]rt\.|[Ss]ec\.|§{1,2})\s?\d{1,4}(?:\.\d{1,3}){0,5}[.:]?"
    r"|[①-⑳⑴-⒇]"
)
_MARKS: Final = r"[>*_#+\-•\s]*"
_ALONE: Final = re.compile(rf"{_MARKS}(?:{_NUMBER}){_MARKS}")
# At the beginning of a line, or after the end of a sentence: elsewhere a number is a number.
_AT_THE_END: Final = re.compile(rf"(?:^|\n|[.。;；:：!?！？]\s*)[>*_#+\-•\s]*(?:{_NUMBER})[*_\s]*$")
_ITEM: Final = re.compile(rf"[^\S\n]*(?:[-*+•>]\s|\||(?:{_NUMBER})(?!\d))")

_CHINESE_PART: Final = re.compile(rf"\s*第[{_CHINESE}\d]{{1,7}}([编編篇部章节節])(?:\s*\S.{{0,60}})?")
_ENGLISH_PART: Final = re.compile(r"\s*(part|chapter)\s+(?:\d{1,4}|[ivxlc]{1,7})\b[^.!?]{0,80}", re.IGNORECASE)
_LEVELS: Final = {"编": 1, "編": 1, "篇": 1, "部": 1, "part": 1, "章": 2, "chapter": 2, "节": 3, "節": 3}
MAX_PART_CHARS: Final = 200


def numbered_heading(line: str) -> int | None:
    """Return the level of a line that is the heading of a part (第二章 租金, Chapter 2), None for any other line."""
    if len(line) > MAX_PART_CHARS:
        return None
    for form in (_CHINESE_PART, _ENGLISH_PART):
        if found := form.fullmatch(line):
            return _LEVELS[found[1].lower()]
    return None


def is_clause_number(text: str) -> bool:
    """Return whether a text is nothing but the number of a clause."""
    return len(text) <= _TAIL_CHARS and _ALONE.fullmatch(text) is not None


def ends_in_clause_number(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` ends in the number of a clause whose text would follow."""
    return _AT_THE_END.search(text[max(start, end - _TAIL_CHARS) : end]) is not None


def opens_item(text: str, position: int) -> bool:
    """Return whether a line that begins at a position is an item: a bullet, a numbered clause, a table's row."""
    return _ITEM.match(text, position) is not None
