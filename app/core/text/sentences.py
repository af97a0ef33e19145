"""Where sentences begin and end, in Chinese and English: for cutting documents into pieces and picking what to keep."""

import re
from typing import Final

# What closes a quotation or a bracket belongs to the sentence, and so does the space after it.
_CLOSING: Final = "\"'\u2019\u201d\u300d\u300f\u3011\uff09)\\]\u300b"
# Runs are taken whole or not at all (`++`, and nothing starts inside one): linear on any text.
_END: Final = re.compile(
    rf"[。！？；｡][。！？；｡!?]*+[{_CLOSING}]*+\s*+"
    rf"|\u2026{{2,}}+[{_CLOSING}]*+\s*+"
    rf"|(?<![!?])[!?]++[{_CLOSING}]*+(?=\s|$|[^\x00-\x7f])\s*+"
    rf"|(?<!\.)(?P<stop>\.++)[{_CLOSING}]*+(?=\s|$)\s*+"
    r"|\n\s*+",
)
_BEFORE: Final = re.compile(r"(?:^|[\s(\"'\u2018\u201c\[])(?P<word>[^\s(\"'\u2018\u201c\[]+)$")
_BEFORE_CHARS: Final = 24
_ABBREVIATIONS: Final = re.compile(
    r"mr|mrs|ms|dr|prof|st|vs|figs?|eq|no|nos|vol|pp|approx|dept|est|gen|col|sen|rep|gov|rev|hon|capt|sgt|lt|cf|e\.g"
    r"|i\.e|art|sec|para|ch|cl|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun",
    re.IGNORECASE,
)
# These end a sentence as often as not: what follows decides.
_MAY_END: Final = re.compile(r"etc|inc|ltd|co|corp|jr|sr|al|a\.m|p\.m|u\.s|u\.k|u\.n|ph\.d", re.IGNORECASE)
_INITIAL: Final = re.compile(r"[A-Za-z](?:\.[A-Za-z])*")
# "3.", "3.2.", "(iv)." or "a." at the head of a line numbers what follows.
_NUMBERING: Final = re.compile(r"\s*[(（]?(?:\d{1,3}(?:\.\d{1,3})*|[ivxIVX]{1,5}|[A-Za-z])[)）]?\.?\s*$")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return spans [start, end) that cover every character, in order: a sentence with the space that follows it.

    A sentence ends at 。！？； and newlines, at ! and ? before a space or another script, at a full stop that isn't of
    a decimal, a clause number (3.2), an abbreviation, an initial or the number at the head of a line.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    blank = len(text) - len(text.lstrip())
    for match in _END.finditer(text):
        if match.end() <= blank:
            continue
        if match.lastgroup == "stop" and "\n" not in match.group() and not _ends(text, start, match):
            continue
        spans.append((start, match.end()))
        start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return spans


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    if len(match.group("stop")) > 1:
        return True
    at = match.start()
    if at - start <= _BEFORE_CHARS and _NUMBERING.fullmatch(text, start, at):
        return False
    before = _BEFORE.search(text[max(start, at - _BEFORE_CHARS) : at])
    word = before.group("word") if before else ""
    follows = text[match.end() : match.end() + 1]
    if _MAY_END.fullmatch(word):
        return not follows or follows.isupper()
    if _ABBREVIATIONS.fullmatch(word):
        return not follows
    return not (_INITIAL.fullmatch(word) and word != "I" and follows)
