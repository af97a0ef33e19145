"""What is asked of context assembly and what it answers: the shape that every feature which shows a context shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol
from uuid import UUID

from app.core.memory import Candidate, Tier
from app.core.moments import Snapshot
from app.core.scope import Scope

# The order of the blocks in a prompt; what binds the answer stands first.
KINDS = ("preferences", "profile", "constraints", "summary", "messages", "memories", "recall", "knowledge")


# Asked for with what was said before, by nobody's name: where a token may not read them, an answer lacks nothing.
IMPLIED = frozenset({"memories"})


class Reason(StrEnum):
    """Why a memory was loaded or left out. The list is closed.

    `below_threshold`: others of its kind match better, or nothing of it matches. `no_scope`: the token may not read it.
    """

    LOADED = "loaded"
    OVER_BUDGET = "over_budget"
    BELOW_THRESHOLD = "below_threshold"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    ERASED = "erased"
    WRONG_AGENT = "wrong_agent"
    NO_SCOPE = "no_scope"
    SOURCE_LATE = "source_late"
    SOURCE_FAILED = "source_failed"


# Why a kind, or a part of it, wasn't asked in the end.
MISSED: Final = frozenset({Reason.SOURCE_LATE, Reason.SOURCE_FAILED})
# The part of a kind that is found by its meaning.
DENSE: Final = "dense"


def without_dense(kind: str, reason: Reason) -> Candidate:
    """Return what tells that a kind was looked for by its words alone, and why."""
    return Candidate(kind, "", 0, "", Tier.FOUND, "", ignored=reason, part=DENSE)


@dataclass(frozen=True, slots=True)
class Newer:
    """An item of user memory that has something newer than a text: what it is, its id on the wire and its version."""

    kind: str
    id: str
    version: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one memory, or of a whole kind (then `id` is empty). Ids and numbers only: it is kept in the
    log.

    `superseded` are the items of user memory that its words are older than. With a `part`, that alone is missing of the
    kind: what was found without it may be loaded.
    """

    kind: str
    id: str
    version: int
    loaded: bool
    reason: Reason
    tokens: int
    score: float | None = None
    superseded: Sequence[Newer] = ()
    part: str | None = None


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
    snapshot: Snapshot
    packed: Packed
    missing: Sequence[str]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a caller asks for: kinds that their token lets them read (`include`), and those that it doesn't
    (`no_scope`).

    `tokenizer` names what counts the tokens; None is what the settings name.
    """

    query: str
    session_id: UUID | None
    budget_tokens: int
    include: frozenset[str]
    require: frozenset[str]
    snapshot: str | None
    no_scope: frozenset[str] = frozenset()
    tokenizer: str | None = None


class Assembler(Protocol):
    """Assembles contexts. Sessions ask it for the context of a turn whose messages they have just stored."""

    async def assemble(self, scope: Scope, ask: Ask) -> Assembled:
        """Return what enters the prompt and why. Raises `not_found` for a session that isn't the caller's, and
        `store_unavailable` where a required kind couldn't be asked.
        """
        ...
