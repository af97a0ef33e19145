"""The counts of a kind of memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums over contexts. `took_us` are microseconds, of all calls together."""

    calls: int
    hits: int
    tokens: int
    took_us: int
    missed: int
    useful: int
    useless: int


@dataclass(frozen=True, slots=True)
class DayCounts:
    """What a kind of memory did on a day (UTC) for an agent; None for calls of no agent."""

    day: date
    agent: str | None
    kind: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class KindCounts:
    """What a kind of memory did altogether; `users` is how many people's memory that was."""

    kind: str
    users: int
    counts: Counts


@dataclass(frozen=True, slots=True)
class Span:
    """The days that are asked for, both included; None is no limit."""

    first: date | None = None
    last: date | None = None
    agent: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class UsagePage:
    """A page of days, and the sums of the whole span."""

    items: Sequence[DayCounts]
    totals: Sequence[KindCounts]
