"""What each kind of memory costs and earns: counted where contexts are made, kept where it is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol, TypeVar

from app.core.audit import AuditEntry

Tx_contra = TypeVar("Tx_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Use:
    """What one kind did in one context: `hits` memories with `tokens` went into the prompt. It was asked for `took_us`
    microseconds.

    `missed`: the kind was asked and didn't answer in time, or at all.
    """

    kind: str
    hits: int
    tokens: int
    took_us: int
    missed: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """How often what was injected was marked useful and how often not; below zero where a mark is taken back."""

    useful: int
    useless: int


class Meter(Protocol[Tx_contra]):
    """Counts in the transaction of what it counts, under that one's audit entry."""

    async def note(self, tx: Tx_contra, day: date, uses: Sequence[Use], entry: AuditEntry) -> None:
        """Count one context of the caller's."""
        ...

    async def mark(
        self, tx: Tx_contra, day: date, agent: str | None, marks: Mapping[str, Mark], entry: AuditEntry
    ) -> None:
        """Count what was said of a context of that day and agent, by kind."""
        ...
