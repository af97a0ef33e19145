"""What a change of user memory has marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.assembly import Newer


@dataclass(frozen=True, slots=True)
class Mark:
    """That a change of user memory took something out of force which an item still holds: the item's id on the wire,
    and what is newer. `noted_at` is None until it is kept.
    """

    change_number: int
    item: str
    newer: Newer
    noted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MarkPage:
    """Marks, those of the last change first, each with the snapshot of its change."""

    items: Sequence[tuple[Mark, str]]
    more: bool
