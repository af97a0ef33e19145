"""What context assembly decides on, and what it decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.core.memory import Candidate

# The order of the blocks in a prompt; what binds the answer stands first.
KINDS = ("preferences", "profile", "constraints", "summary", "messages", "recall", "knowledge")


class Reason(StrEnum):
    """Why a memory was loaded or left out. The list is closed."""

    LOADED = "loaded"
    OVER_BUDGET = "over_budget"
    BELOW_THRESHOLD = "below_threshold"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    WRONG_AGENT = "wrong_agent"
    NO_SCOPE = "no_scope"
    SOURCE_LATE = "source_late"
    SOURCE_FAILED = "source_failed"


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one memory, or of a whole kind (then `id` is empty). Ids and numbers only: it is kept in the
    log.
    """

    kind: str
    id: str
    version: int
    loaded: bool
    reason: Reason
    tokens: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """The loaded memories of one kind and the text they make in the prompt."""

    kind: str
    text: str
    items: Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class Packed:
    """A prompt within its budget, the blocks it is made of, and a decision for every candidate."""

    prompt: str
    tokens: int
    blocks: Sequence[Block]
    decisions: Sequence[Decision]

    def usage(self) -> Mapping[str, int]:
        """Return the tokens of each kind that was loaded."""
        spent: dict[str, int] = {}
        for decision in self.decisions:
            if decision.loaded:
                spent[decision.kind] = spent.get(decision.kind, 0) + decision.tokens
        return spent


@dataclass(frozen=True, slots=True)
class Assembled:
    """The answer to one question: the prompt, what stands behind it, and what was missing."""

    id: UUID
    snapshot: str
    packed: Packed
    missing: Sequence[str]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a caller asks for. Empty `include` isn't possible: the schema fills it."""

    query: str
    session_id: UUID | None
    budget_tokens: int
    include: frozenset[str]
    require: frozenset[str]
    snapshot: str | None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the memory log: what a context was made of. The prompt itself isn't kept, only its hash."""

    id: UUID
    session_id: UUID | None
    created_at: datetime
    query: str
    prompt_tag: bytes
    snapshot: int
    budget_tokens: int
    tokens: int
    missing: Sequence[str]
    decisions: Sequence[Decision] = field(default_factory=tuple)
