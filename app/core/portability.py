"""Taking a user's data out of an installation: what each kind of it answers for that."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

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
