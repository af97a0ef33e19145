"""What the doors ask of others: keys, and the copies of what they change."""

from typing import Protocol
from uuid import UUID

from app.core.scope import Scope
from app.infra.crypto.box import Box


class Boxes(Protocol):
    """Gives the box that seals and opens a user's data."""

    async def box(self, usr: UUID) -> Box:
        """Return the user's box. Raises `erased` where the keys are destroyed."""
        ...


class MemoryCopies(Protocol):
    """Knows the copies of user memory that readers go by."""

    async def follow(self, scope: Scope, number: int | None) -> None:
        """Have no reader see what was before the change of that number; None: before now. Called after the commit.

        Raises `store_unavailable` where a reader could miss it.
        """
        ...
