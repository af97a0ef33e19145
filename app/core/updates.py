"""What messages have changed in user memory: each kind that keeps evidence tells which of its versions came of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

# The transaction of the caller: what one is, this layer doesn't know.
Tx_contra = TypeVar("Tx_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Update:
    """A version of a memory that a message is the evidence of. `id` is the prefixed id of the wire."""

    kind: str
    id: str
    version: int
    trust: str
    message_id: UUID


class Updating(Protocol[Tx_contra]):
    """A kind of memory whose versions have evidence."""

    async def updates(self, tx: Tx_contra, message_ids: Sequence[UUID]) -> Sequence[Update]:
        """Return the versions that came of these messages, as the caller's transaction sees them, oldest first."""
        ...
