"""The gist: the sentences that say most of what happened, each with its speaker before it, within a bound.

A strict left fold over messages, so that it makes no difference which ones were folded in together. Each message brings
its best sentences; while there are too many characters, the line that weighs least goes. Weight is what a line says
(numbers, names, decisions, the user's own affairs) times how recent it is: a long session keeps a few old facts.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from app.core.text.terms import terms
from app.infra.summarisers.directives import spans
from app.infra.summarisers.port import Role, Turn
from app.infra.summarisers.reading import BLANK, Sentence, own_sentences

MAX_LINE_CHARS: Final = 200
_READ_CHARS: Final = 4_000  # of a message; its end is read as well as its beginning
_LINES: Final[dict[Role, int]] = {"user": 3, "assistant": 2, "system": 0, "tool": 0}
_FADING_LINES: Final = 12  # a line with this many after it weighs half
_SAME: Final = 0.7
_CUT: Final = "…"
_COURTESY_TERMS: Final = 12  # a longer sentence that begins with one says something else as well

_NUMBER: Final = re.compile(r"\d|[一二两三四五六七八九十百千万]+(?:点|号|月|日|年|天|周|块|元|个|人|次|岁|万)")
_NAME: Final = re.compile(r"(?<=[a-z,;] )[A-Z][a-zA-Z]+|《[^》]+》|\"[^\"]+\"|“[^”]+”")
_SELF: Final = re.compile(r"\b(?:i|i'm|i've|i'll|my|we|we're|our)\b|我|咱|本人", re.IGNORECASE)
_DECISION: Final = re.compile(
    r"\b(?:decided?|decide|will|plan(?:s|ned)?|agreed?|booked|chose|chosen|need(?:s|ed)?|deadline|because|prefer|"
    r"must|should|result|"
    r"fixed|found|works?|failed|moved|bought|signed|due|settled)\b|决定|计划|打算|需要|截止|确定|同意|选了|订了|"
    r"因为|所以|结果|改成|解决|失败|搬|买了|签了",
    re.IGNORECASE,
)
_COURTESY: Final = re.compile(
    r"(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|sure|great|good|nice|yes|no|bye|you're welcome|no problem|"
    r"of course|certainly|"
    r"glad|happy to|let me know|feel free|is there anything|anything else|how can i|i hope)\b|你好|您好|谢谢|好的|"
    r"不客气|再见|没问题|当然|嗯|还有什么|有什么可以|希望.{0,6}帮助|随时",
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(r"(user|assistant): ")


class _Line(NamedTuple):
    text: str
    weight: float
    terms: frozenset[str]


def fold_gist(gist: str, turns: Iterable[Turn], max_chars: int) -> str:
    """Return the gist after more messages; `max_chars` bounds it whatever it was before."""
    lines = [_read(text) for text in gist.split("\n")] if gist else []
    lines = _fitting(lines, max_chars)
    for turn in turns:
        for line in _best(turn):
            lines = [old for old in lines if not _repeats(line.terms, old.terms)]
            lines.append(line)
        lines = _fitting(lines, max_chars)
    return "\n".join(line.text for line in lines)


def _fitting(lines: list[_Line], max_chars: int) -> list[_Line]:
    """Return the lines that stay: while there is too much, the one that weighs least for its age goes."""
    chars = sum(len(line.text) + 1 for line in lines) - 1
    while len(lines) > 1 and chars > max_chars:
        last = len(lines) - 1
        lightest = min(range(len(lines)), key=lambda at: (lines[at].weight / (1 + (last - at) / _FADING_LINES), at))
        chars -= len(lines[lightest].text) + 1
        lines = lines[:lightest] + lines[lightest + 1 :]
    if chars > max_chars:
        return [_read(lines[0].text[: max_chars - 1] + _CUT)] if max_chars > 0 else []
    return lines


def _best(turn: Turn) -> list[_Line]:
    """Return the lines that the message brings, in its order. Constraints are kept elsewhere, and word for word."""
    most = _LINES[turn.role]
    if not most:
        return []
    text = turn.text
    if len(text) > _READ_CHARS:
        text = f"{text[: _READ_CHARS * 3 // 4]}\n{text[-_READ_CHARS // 4 :]}"
    lines = [_read(f"{turn.role}: {_line(said)}") for said in own_sentences(text) if _tells(said, turn.role)]
    heaviest = sorted(range(len(lines)), key=lambda place: (-lines[place].weight, place))[:most]
    return [lines[place] for place in sorted(heaviest) if lines[place].weight > 0]


def _read(text: str) -> _Line:
    speaker = _SPEAKER.match(text)
    said = text[speaker.end() :] if speaker else text
    about = frozenset(terms(said))
    return _Line(text, _weight(said, len(about), is_user=bool(speaker) and text.startswith("user")), about)


def _tells(sentence: Sentence, role: Role) -> bool:
    return sentence.plain.count(BLANK) * 2 < len(sentence.plain) and not (role == "user" and spans(sentence))


def _line(sentence: Sentence) -> str:
    line = " ".join(sentence.text.split())
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + _CUT


def _weight(said: str, size: int, *, is_user: bool) -> float:
    """Return how much a sentence of `size` different terms says; zero for courtesies."""
    weight = min(1.5, size / 8) + 1.0 * bool(_NUMBER.search(said))
    weight += 0.6 * bool(_NAME.search(said)) + 0.8 * bool(_DECISION.search(said))
    if is_user:
        weight = (weight + 0.7 * bool(_SELF.search(said))) * 1.5
    if said.rstrip().endswith(("?", "？")):
        weight *= 0.6 if is_user else 0.2
    if _COURTESY.match(said):
        weight -= 2.0 if size <= _COURTESY_TERMS else 0.3
    return max(0.0, weight)


def _repeats(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether a newer line says nearly all that an older one did."""
    return bool(old) and len(new & old) >= _SAME * len(old | new)
