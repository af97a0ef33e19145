"""What is kept of an assembled context, and of what its readers said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app.core.assembly import Ask, Decision
from app.core.updates import Update


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked for beside question, session and budget: with it the same call is made again."""

    agent: str | None
    include: Sequence[str]
    no_scope: Sequence[str]
    tokenizer: str | None
    # Whether it named the snapshot that it saw.
    is_at_snapshot: bool

    @classmethod
    def of(cls, ask: Ask, agent: str | None) -> "Call":
        """Return what is kept of a call."""
        return cls(agent, sorted(ask.include), sorted(ask.no_scope), ask.tokenizer, ask.snapshot is not None)


@dataclass(frozen=True, slots=True)
class Shown:
    """What the log keeps of the words of a prompt: the summary's, and the hash of all."""

    summary: str | None
    prompt_sha256: str


@dataclass(frozen=True, slots=True)
class ItemMark:
    """Whether one memory that was in the prompt was useful."""

    kind: str
    id: str
    version: int
    useful: bool


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a caller says of a context: of all, of some of its items by their ids, and what would have been right."""

    useful: bool
    items: Mapping[str, bool]
    correction: str | None


@dataclass(frozen=True, slots=True)
class Feedback:
    """What was said of a context last."""

    context_id: UUID
    version: int
    useful: bool
    items: Sequence[ItemMark]
    correction: str | None
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the memory log: what a context was made of.

    Of its words it has the question and the summary as it was shown; where `is_cut`, a message that they held was
    deleted since and they went with it. `call`, `revisions` and `shown` are None in lines of before.
    """

    id: UUID
    session_id: UUID | None
    created_at: datetime
    query: str | None
    prompt_tag: bytes
    snapshot: int
    budget_tokens: int
    tokens: int
    missing: Sequence[str]
    decisions: Sequence[Decision] = field(default_factory=tuple)
    call: Call | None = None
    revisions: Mapping[str, str] = field(default_factory=dict)
    shown: Shown | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the memory log with what belongs to it elsewhere: the messages of the turn, what these have changed in
    user memory, and what was said of the context.
    """

    entry: LogEntry
    snapshot: str
    message_ids: Sequence[UUID]
    updates: Sequence[Update]
    feedback: Feedback | None


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines are asked for; None is no limit. Times are of [since, until)."""

    session_id: UUID | None = None
    context_id: UUID | None = None
    message_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
