"""Work that is owed: a row written in the transaction of the change that caused it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from app.core.scope import Scope

ERASURE_PRIORITY = 100


@dataclass(frozen=True, slots=True)
class Job:
    """What must happen later: the name of its handler and ids, never content.

    Jobs of one user run one after the other, but an erasure has a lane of its own: it never waits for the user's
    others. Neither do others wait for what asks a model outside (`lane` "model").
    """

    name: str
    args: Mapping[str, str | int] = field(default_factory=dict)
    priority: int = 0
    lane: str = "user"
    delay_s: int = 0
    # At most one job with this key waits for a user at a time; a second one that is owed is the same work.
    once: str | None = None


class Handler(Protocol):
    """Does the jobs of one name. It may run twice for one job and must come to the same end."""

    name: str

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Do the work. An AppError `erasing` or `erased` ends the job quietly; anything else is tried again, then
        parked.
        """
        ...
