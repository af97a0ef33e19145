"""What a tenant says of a kind of number that is never stored."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

# Deleted ones count: their stubs keep their version.
MAX_PATTERNS = 50
MAX_EXPRESSION_CHARS = 300
MAX_EXAMPLES = 10
# Without digits: a mask bears the name, and no pattern fits a mask.
NAME_PATTERN = r"^[a-z][a-z_]{0,63}$"


class Check(StrEnum):
    """How the last character follows from the others."""

    LUHN = "luhn"
    ISO7064_MOD11_2 = "iso7064_mod11_2"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Registration:
    """What a tenant says of a pattern."""

    expression: str
    check: Check
    description: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A pattern at its version. `registration` is None for the stub of one that was deleted."""

    id: UUID
    name: str
    version: int
    updated_at: datetime
    registration: Registration | None
