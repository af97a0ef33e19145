"""What a summariser takes, gives and promises."""

from dataclasses import dataclass
from typing import Literal, Protocol

Role = Literal["user", "assistant", "system", "tool"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as a summariser reads it."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What is kept.

    `constraints` are the user's sentences, in their words, the newest last; where two are at odds the newer one holds.
    `gist` has a line a sentence, each with its speaker before it. `omitted` counts the constraints that had to go
    because there were too many (constraints.Bounds).
    """

    constraints: tuple[str, ...] = ()
    gist: str = ""
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """The summary so far, and the messages that leave the window, oldest first."""

    previous: Summary | None
    turns: tuple[Turn, ...]


class Summariser(Protocol):
    """Folds messages into a summary. The size of what it gives is bounded, however long the session."""

    async def summarise(self, given: SummaryInput) -> Summary:
        """Return the summary of what came before and of these turns. Raises SummariserUnavailableError."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


class SummariserUnavailableError(Exception):
    """The model gave no summary in time, or none that can be used: the extractive summariser always gives one."""


class UnusableError(SummariserUnavailableError):
    """The model answered, and not with a summary."""
