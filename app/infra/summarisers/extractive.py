"""The summariser that needs no model: constraints by rules, the gist by weight. Pure; Chinese and English."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from app.infra.summarisers.constraints import Bounds, constraints, fold, merge_constraints
from app.infra.summarisers.gist import fold_gist
from app.infra.summarisers.port import Summary, SummaryInput, Turn

__all__ = [
    "ExtractiveSummariser",
    "Limits",
    "Summary",
    "Turn",
    "constraints",
    "merge_constraints",
    "render",
    "summarise",
]

Language = Literal["en", "zh"]
_INLINE_CHARS: Final = 20_000  # more than this is read beside the event loop: it takes over 10 ms


@dataclass(frozen=True, slots=True)
class Limits:
    """The size of a summary, however long the session: constraints.Bounds, and the characters of the gist."""

    constraints: Bounds = field(default_factory=Bounds)
    gist_chars: int = 1_500


def summarise(previous: Summary | None, turns: Iterable[Turn], limits: Limits | None = None) -> Summary:
    """Return the summary after `turns` left the window, oldest first.

    A fold: summarise(summarise(s, a), b) == summarise(s, a + b). Constraints are taken from the user's messages alone.
    """
    limits = limits or Limits()
    summary, turns = previous or Summary(), tuple(turns)
    stated = [found for turn in turns if turn.role == "user" for found in constraints(turn.text)]
    folded = fold(summary.constraints, stated, limits.constraints)
    gist = fold_gist(summary.gist, turns, limits.gist_chars)
    return Summary(folded.kept, gist, summary.omitted + folded.omitted)


class ExtractiveSummariser:
    """`summarise` behind the port."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    async def summarise(self, given: SummaryInput) -> Summary:
        """Return the summary; it always gives one."""
        if sum(len(turn.text) for turn in given.turns) > _INLINE_CHARS:
            return await asyncio.to_thread(summarise, given.previous, given.turns, self._limits)
        return summarise(given.previous, given.turns, self._limits)

    async def close(self) -> None:
        """There is nothing to give back."""


_WORDS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "constraints": "What the user asked for, in their words; where two are at odds, the later one holds:",
        "omitted": "({count} older ones were left out for want of room.)",
        "gist": "Earlier in this conversation:",
        "user": "User: ",
        "assistant": "Assistant: ",
    },
    "zh": {
        "constraints": "用户的要求（原话；相互矛盾时以后一条为准）：",
        "omitted": "（另有 {count} 条更早的要求因篇幅所限未列出。）",
        "gist": "此前的对话：",
        "user": "用户：",
        "assistant": "助手：",
    },
}


def render(summary: Summary, language: Language = "en") -> str:
    """Return the summary as a prompt shows it: the constraints first, a line each, unchanged; "" for an empty one."""
    words = _WORDS[language]
    parts = []
    if summary.constraints:
        lines = [words["constraints"], *(f"- {constraint}" for constraint in summary.constraints)]
        if summary.omitted:
            lines.append(words["omitted"].format(count=summary.omitted))
        parts.append("\n".join(lines))
    if summary.gist:
        parts.append("\n".join([words["gist"], *(_spoken(line, words) for line in summary.gist.split("\n"))]))
    return "\n\n".join(parts)


def _spoken(line: str, words: dict[str, str]) -> str:
    speaker, colon, said = line.partition(": ")
    return words[speaker] + said if colon and speaker in {"user", "assistant"} else line
