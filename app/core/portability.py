"""Taking a user's data out of an installation, and into another: what each kind of it answers for that."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol, Self, TypeVar, runtime_checkable

from app.core.scope import Actor, Scope

# The transaction of the caller: what one is, this layer doesn't know.
Tx_contra = TypeVar("Tx_contra", contravariant=True)

# So many rows are opened at a time: what is held in memory doesn't grow with the user.
BITE: Final = 200


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive. `parts` are its bytes; where it is JSON lines, each part is whole lines.

    `is_packed`: packing it again is of no use.
    """

    path: str
    parts: AsyncIterator[bytes]
    is_packed: bool = False


class Exported(Protocol[Tx_contra]):
    """A kind of a user's data that goes into an export.

    `tables` are the Postgres tables whose rows it gives, and `records` what a line of each of its files is, for the
    schema of the format.
    """

    tables: tuple[str, ...]
    records: Mapping[str, type]

    def files(self, tx: Tx_contra) -> AsyncIterator[ArchiveFile]:
        """Give its files, one after the other: the parts of one are taken before the next is asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Made:
    """By whom and when a version was written in the installation that it comes from, and when its item was made."""

    by: Actor
    through: str | None
    at: datetime
    created_at: datetime


class Verdict(StrEnum):
    """What became of a record of an archive."""

    TAKEN = "taken"
    # It is here already: it was imported before, or says what is here.
    UNCHANGED = "unchanged"
    # What is here says something else, and stays.
    CONFLICT = "conflict"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record, and why it wasn't taken: a word, and nothing of what it says."""

    verdict: Verdict
    reason: str = ""

    @classmethod
    def conflict(cls, reason: str) -> Self:
        """Return what became of one that what is here is at odds with."""
        return cls(Verdict.CONFLICT, reason)

    @classmethod
    def refused(cls, reason: str) -> Self:
        """Return what became of one that can't be kept."""
        return cls(Verdict.REFUSED, reason)


TAKEN: Final = Outcome(Verdict.TAKEN)
UNCHANGED: Final = Outcome(Verdict.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Taking:
    """Whose archive it is, and who takes it in.

    `keeps_trust`: it is the importing user's own, and they may state things themselves: what it has as their word stays
    that. Of anybody else's archive it is imported, and no more.
    """

    keeps_trust: bool
    agent: str | None


def follow(versions: Sequence[tuple[int, str]], base: int) -> bool:
    """Say whether versions, each with its number and state, go on from version `base`: one by one, and what was erased
    from one was erased by a deletion after it.
    """
    numbers = [number for number, _ in versions]
    states = [state for _, state in versions]
    ended = "deleted" in states and "erased" not in states[len(states) - states[::-1].index("deleted") :]
    return numbers == list(range(base + 1, base + 1 + len(numbers))) and (ended or "erased" not in states)


class Imported(Protocol[Tx_contra]):
    """A kind of a user's data that is taken from the lines of an archive.

    `file` is where they stand, `record` what one is, and `permission` what a token must hold for it.
    """

    file: str
    record: type
    permission: str

    def item(self, record: Any, /) -> str:  # noqa: ANN401 - of the kind's own model
        """Return the id, in the archive, of what a record is a version of. Its versions stand together."""
        ...

    async def take(
        self,
        tx: Tx_contra,
        taking: Taking,
        records: Sequence[Any],  # Any: of the kind's own model
        /,
    ) -> Sequence[Outcome]:
        """Take records in the caller's transaction, the versions of an item all at once, and say what became of each.

        May run twice. A whole item is taken, or none of it.
        """
        ...

    async def committed(self, scope: Scope) -> None:
        """Do what must follow in copies, once the transaction has ended."""
        ...


@runtime_checkable
class ImportedFile(Protocol):
    """A kind of a user's data that is a file of an archive for each of its lines."""

    file: str
    record: type
    permission: str

    def path(self, record: Any, /) -> str | None:  # noqa: ANN401 - of the kind's own model
        """Return which file of the archive belongs to a record; None where there is none to take."""
        ...

    async def receive(
        self,
        scope: Scope,
        taking: Taking,
        record: Any,  # noqa: ANN401 - of the kind's own model
        parts: AsyncIterator[bytes],
        /,
    ) -> Outcome:
        """Take the file, in transactions of its own, and say what became of it. May run twice."""
        ...
