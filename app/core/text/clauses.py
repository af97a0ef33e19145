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
# The shapes of numbers: two clauses of the same shape stand beside each other, a deeper one is under what it follows.
_SHAPES: Final = re.compile(
    rf"[>*_#+\-•\s]*(?:(?P<article>第[{_CHINESE}\d]{{1,7}}[条條款项項]|(?:article|section|clause|art\.|sec\.|§)\s?\d|§)"
    rf"|(?P<bracket>[(（][\da-z{_CHINESE}]{{1,6}}[)）])|(?P<circle>[①-⑳⑴-⒇])|(?P<chinese>[{_CHINESE}]{{1,4}}[、.．])"
    r"|(?P<number>\d{1,3}(?:\.\d{1,3}){0,5})[.．)）、\s]|(?P<letter>[a-z]{1,5}[.)]))",
    re.IGNORECASE,
)
# A line that ends like this says something; one that doesn't is the title of what follows.
_SAYS_SOMETHING: Final = re.compile(r"[.。;；:：!?！？,，、]\s*$")
MAX_TITLE_CHARS: Final = 80
_MARKS: Final = r"[>*_#+\-•\s]*"
_ALONE: Final = re.compile(rf"{_MARKS}(?:{_NUMBER}){_MARKS}")
# At the beginning of a line, or after the end of a sentence: elsewhere a number is a number.
_AT_THE_END: Final = re.compile(rf"(?:^|\n|[.。;；:：!?！？]\s*)[>*_#+\-•\s]*(?:{_NUMBER})[*_\s]*$")
_ITEM: Final = re.compile(rf"[^\S\n]*(?:[-*+•>]\s|\||(?:{_NUMBER})(?!\d))")

_CHINESE_ARTICLE: Final = re.compile(
    rf"\s*第[{_CHINESE}\d]{{1,7}}[条條][ \t\u3000]+[^\s。；：，、,.;:!?！？][^。；：，,.;:!?！？]{{0,40}}"
)
_ENGLISH_ARTICLE: Final = re.compile(
    r"\s*(?:(?:article|section|clause)\s+(?:\d{1,3}(?:\.\d{1,3}){0,3}|[ivxlc]{1,7})|§{1,2}\s?\d{1,3})"
    r"(?:[.:]?|[.:]?[ \t]+[–—-]?[ \t]?[^\s.;:!?][^.;:!?]{0,70})",
    re.IGNORECASE,
)
ARTICLE_LEVEL: Final = 4
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


def article_heading(line: str) -> bool:
    """Return whether a line is the heading of an article (第三条 租金, Article 3, § 3 Fees), and says nothing else."""
    return len(line) <= MAX_PART_CHARS and any(form.fullmatch(line) for form in (_CHINESE_ARTICLE, _ENGLISH_ARTICLE))


def is_title(line: str, following: str) -> bool:
    """Return whether a line is a clause's number and title and no more, with its text in the line that follows."""
    shape = _shape(line)
    if shape is None or not _is_bare(line):
        return False
    following = following.split("\n", 1)[0]
    # What names an article may be the text of this one: "Section 3 Fees" above "Section 7 applies to them."
    is_beside = _shape(following) == shape and (_is_bare(following) or not shape.startswith("article"))
    return not is_beside


def _is_bare(line: str) -> bool:
    """Return whether a line is short and says nothing: a title, or an item of one word."""
    line = line.strip()
    return len(line) <= MAX_TITLE_CHARS and not _SAYS_SOMETHING.search(line)


def _shape(line: str) -> str | None:
    found = _SHAPES.match(line)
    if found is None:
        return None
    depth = (found["number"] or "").count(".")
    return f"{found.lastgroup}{depth}"


def is_clause_number(text: str) -> bool:
    """Return whether a text is nothing but the number of a clause."""
    return len(text) <= _TAIL_CHARS and _ALONE.fullmatch(text) is not None


def ends_in_clause_number(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` ends in the number of a clause whose text would follow."""
    return _AT_THE_END.search(text[max(start, end - _TAIL_CHARS) : end]) is not None


def opens_item(text: str, position: int) -> bool:
    """Return whether a line that begins at a position is an item: a bullet, a numbered clause, a table's row."""
    return _ITEM.match(text, position) is not None
