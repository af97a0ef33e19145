"""What there is of a user as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.account import Amount
from app.core.processing import Processing


@dataclass(frozen=True, slots=True)
class Account:
    """How much there is of each kind that the caller may read; the first amount of a kind counts its items. And what
    they let be done.
    """

    amounts: Mapping[str, Sequence[Amount]]
    processing: Processing
