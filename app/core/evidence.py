"""Evidence: the message or document that something remembered comes from, and the check that there is one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from app.core.errors import AppError, FieldError

# The transaction of the caller: what one is, this layer doesn't know.
Tx = TypeVar("Tx")
Tx_contra = TypeVar("Tx_contra", contravariant=True)


class EvidenceKind(StrEnum):
    """What something remembered can come from."""

    MESSAGE = "message"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The message or document that something remembered comes from."""

    kind: EvidenceKind
    id: UUID


class Holder(Protocol[Tx_contra]):
    """A kind of memory whose items can be evidence."""

    kind: EvidenceKind

    async def holds(self, tx: Tx_contra, ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of the ids that are items of the user's, as the caller's transaction sees them."""
        ...


class EvidenceCheck(Generic[Tx]):
    """Asks the kinds of memory whether what is claimed as evidence exists and is the user's own."""

    def __init__(self, holders: Sequence[Holder[Tx]]) -> None:
        """Take what holds each kind of evidence."""
        self._holders = {holder.kind: holder for holder in holders}

    async def require(self, tx: Tx, claimed: Mapping[str, Evidence | None]) -> None:
        """Raise `invalid` for each field whose evidence isn't there. Somebody else's is the same as none."""
        found = await self.present(tx, [evidence for evidence in claimed.values() if evidence is not None])
        message = "must be a message or a document of the user's own"
        missing = [field for field, evidence in claimed.items() if evidence is not None and evidence not in found]
        if missing:
            raise AppError(
                "invalid",
                f"{missing[0]}: {message}",
                errors=tuple(FieldError(field, message) for field in missing),
            )

    async def present(self, tx: Tx, claimed: Collection[Evidence]) -> Collection[Evidence]:
        """Return what of the evidence is there."""
        found: set[Evidence] = set()
        for kind in {evidence.kind for evidence in claimed}:
            ids = {evidence.id for evidence in claimed if evidence.kind is kind}
            found |= {Evidence(kind, each) for each in await self._holders[kind].holds(tx, ids)}
        return found


class Resting(Protocol[Tx_contra]):
    """A kind of memory with what was inferred: what of it rests on messages goes with them."""

    async def lose(self, tx: Tx_contra, evidence: Collection[Evidence]) -> None:
        """Withdraw what was inferred from these alone, with the user's changes held. What rests on others too stays,
        and what the user has said or confirmed.
        """
        ...
