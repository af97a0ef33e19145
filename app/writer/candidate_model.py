"""Candidates: what was inferred of who a user is or of what they like, and waits for the user to decide."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.moments import Snapshot
from app.core.versions import Precondition, expected
from app.core.writing import Became, Inferred, Waits

# Waiting ones of one user, of each kind; beyond it more is inferred than anybody reads.
MAX_CANDIDATES: Final = 200
# The newest pieces that one candidate shows.
MAX_EVIDENCE: Final = 20


class State(StrEnum):
    """What became of a candidate."""

    WAITING = "waiting"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    # The user has said the same since.
    APPLIED = "applied"
    # The user has taken it back, or what it rested on is deleted.
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Candidate:
    """What was inferred and waits. `value` is None when it was decided.

    `base_version` is the version of what an acceptance would change, 0 where it makes something new.
    """

    id: UUID
    waits: Waits
    key: str | None
    value: object
    state: State
    confidence: float
    evidence: Sequence[Evidence]
    proposed_through: str | None
    created_at: datetime
    updated_at: datetime
    revision: int
    base_version: int = 0

    @property
    def version(self) -> int:
        """The version for clients. It rises with each change of the candidate and of what it would change: an
        acceptance never overwrites what the user hasn't seen.
        """
        return self.revision + self.base_version

    @property
    def inferred(self) -> Inferred:
        """What an acceptance writes."""
        return Inferred(self.key, self.value, self.confidence, self.evidence[-1] if self.evidence else None)

    def require_waiting(self, precondition: Precondition) -> None:
        """Raise `stale_version` where the precondition fails, `conflict` where it was decided."""
        expected(precondition, self.version)
        if self.state is not State.WAITING:
            raise AppError("conflict", f"it was {self.state.value} already")


@dataclass(frozen=True, slots=True)
class Decided:
    """A candidate after the user's decision, and what it became."""

    candidate: Candidate
    became: Became | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A page of what waits for the user, newest first, and user memory as it was then."""

    items: Sequence[Candidate]
    snapshot: Snapshot
    more: bool


def statement(waits: Waits, key: str | None, value: object) -> str:
    """Return the one text of a statement: what says the same has the same."""
    return json.dumps([waits, key, value], ensure_ascii=False, allow_nan=False, sort_keys=True)
