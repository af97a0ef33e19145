"""What there is of a user, kind by kind, and how much there may be."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

# The transaction of the caller: what one is, this layer doesn't know.
Tx = TypeVar("Tx")
Tx_contra = TypeVar("Tx_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Amount:
    """How much there is of something; `limit` is the most that there may be, None where nothing limits it."""

    name: str
    used: int
    limit: int | None = None


class Counted(Protocol[Tx_contra]):
    """A kind of memory that counts itself."""

    @property
    def kind(self) -> str:
        """What an item of it is."""
        ...

    @property
    def permission(self) -> str:
        """What a token must hold to be told."""
        ...

    async def amounts(self, tx: Tx_contra) -> Sequence[Amount]:
        """Return how much there is; the first tells how many items of the kind there are."""
        ...


@dataclass(frozen=True, slots=True)
class CountedBy(Generic[Tx]):
    """A kind that is counted by one function, under one limit. `name` is what the limit is known by."""

    kind: str
    permission: str
    name: str
    count: Callable[[Tx], Awaitable[int]]
    limit: int | None = None

    async def amounts(self, tx: Tx) -> Sequence[Amount]:
        """Count it."""
        return [Amount(self.name, await self.count(tx), self.limit)]
