"""What becomes too old: the question that every kind of memory answers of which a part is kept only for a time."""

from collections.abc import AsyncIterator
from typing import Protocol
from uuid import UUID


class Ageing(Protocol):
    """A kind of memory that is kept for a time: who has something past it. What is then owed to each is a job of
    theirs, which decides anew what goes.
    """

    # The job that removes what is too old. It may run twice, and finds nothing the second time.
    job: str

    def due(self) -> AsyncIterator[tuple[str, UUID]]:
        """Return tenant and reference of every user who has something too old, none of them twice."""
        ...
