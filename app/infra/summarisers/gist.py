"""The gist: the sentences that say most of what happened, each with its speaker before it, within a bound.

A strict left fold over messages, so that it makes no difference which ones were folded in together. Each message brings
its best sentences; while there are too many characters, the line that weighs least goes. Weight is what a line says
(numbers, names, decisions, the user's own affairs) times how recent it is: a long session keeps a few old facts.
"""

import re
from typing import Final

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


def fold_gist(gist: str, turn: Turn, max_chars: int) -> str:
    """Return the gist after one more message; `max_chars` bounds it whatever it was before."""
    lines = gist.split("\n") if gist else []
    for line in _best(turn):
        said = _terms(line)
        lines = [old for old in lines if not _repeats(said, _terms(old))]
        lines.append(line)
    while lines and len("\n".join(lines)) > max_chars:
        if len(lines) == 1:
            return lines[0][: max(0, max_chars - 1)] + _CUT if max_chars else ""
        del lines[_lightest(lines)]
    return "\n".join(lines)


def _best(turn: Turn) -> list[str]:
    """Return the lines that the message brings, in its order. Constraints are kept elsewhere, and word for word."""
    text = turn.text
    if len(text) > _READ_CHARS:
        text = f"{text[: _READ_CHARS * 3 // 4]}\n{text[-_READ_CHARS // 4 :]}"
    most = _LINES[turn.role]
    lines = [
        f"{turn.role}: {_line(sentence)}" for sentence in own_sentences(text) if most and _tells(sentence, turn.role)
    ]
    heaviest = sorted(range(len(lines)), key=lambda place: (-_weight(lines[place]), place))[:most]
    return [lines[place] for place in sorted(heaviest) if _weight(lines[place]) > 0]


def _tells(sentence: Sentence, role: Role) -> bool:
    return sentence.plain.count(BLANK) * 2 < len(sentence.plain) and not (role == "user" and spans(sentence))


def _line(sentence: Sentence) -> str:
    line = " ".join(sentence.text.split())
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + _CUT


def _lightest(lines: list[str]) -> int:
    last = len(lines) - 1
    return min(
        range(len(lines)), key=lambda place: (_weight(lines[place]) / (1 + (last - place) / _FADING_LINES), place)
    )


def _weight(line: str) -> float:
    """Return how much a line says; zero for courtesies."""
    speaker = _SPEAKER.match(line)
    text = line[speaker.end() :] if speaker else line
    size = len(_terms(line))
    weight = min(1.5, size / 8)
    weight += 1.0 * bool(_NUMBER.search(text)) + 0.6 * bool(_NAME.search(text)) + 0.8 * bool(_DECISION.search(text))
    if speaker and speaker[1] == "user":
        weight = (weight + 0.7 * bool(_SELF.search(text))) * 1.5
    if text.rstrip().endswith(("?", "？")):
        weight *= 0.6 if speaker and speaker[1] == "user" else 0.2
    if _COURTESY.match(text):
        weight -= 1.0 if size <= 12 else 0.3  # noqa: PLR2004 - a short courtesy says nothing else
    return max(0.0, weight)


def _terms(line: str) -> frozenset[str]:
    speaker = _SPEAKER.match(line)
    return frozenset(terms(line[speaker.end() :] if speaker else line))


def _repeats(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether a newer line says nearly all that an older one did."""
    return bool(old) and len(new & old) >= _SAME * len(old | new)
