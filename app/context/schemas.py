"""Context on the wire."""

from typing import Annotated, Literal

from pydantic import Field

from app.context.model import KINDS, Assembled, Decision, LogEntry
from app.core.ids import show
from app.web.wire import Answer, Moment, Request

DEFAULT_BUDGET_TOKENS = 1_000
MIN_BUDGET_TOKENS = 64
MAX_BUDGET_TOKENS = 32_000
MAX_QUERY_CHARS = 4_000

Kind = Literal["summary", "messages", "profile", "preferences", "recall", "knowledge"]
ALL_KINDS: list[Kind] = ["summary", "messages", "profile", "preferences", "recall", "knowledge"]


class ContextRequest(Request):
    """What to assemble, and within how many tokens."""

    session_id: str | None = None
    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    budget_tokens: Annotated[int, Field(ge=MIN_BUDGET_TOKENS, le=MAX_BUDGET_TOKENS)] = DEFAULT_BUDGET_TOKENS
    snapshot: Annotated[str, Field(max_length=64)] | None = None
    include: Annotated[list[Kind], Field(min_length=1, max_length=len(KINDS))] = ALL_KINDS
    require: Annotated[list[Kind], Field(max_length=len(KINDS))] | None = None


class ItemAnswer(Answer):
    """One memory that is in the prompt."""

    id: str
    version: int


class BlockAnswer(Answer):
    """The memories of one kind, as they stand in the prompt."""

    kind: str
    text: str
    items: list[ItemAnswer]


class DecisionAnswer(Answer):
    """What became of one memory that was considered, and why."""

    kind: str
    id: str
    version: int
    loaded: bool
    reason: str
    tokens: int
    score: float | None = None


class ContextAnswer(Answer):
    """A prompt within its budget, and everything that explains it."""

    context_id: str
    snapshot: str
    complete: bool
    missing: list[str]
    prompt: str
    blocks: list[BlockAnswer]
    usage: dict[str, int]
    decisions: list[DecisionAnswer]


class LogAnswer(Answer):
    """A line of the memory log."""

    context_id: str
    session_id: str | None
    created_at: Moment
    query: str
    budget_tokens: int
    tokens: int
    missing: list[str]
    decisions: list[DecisionAnswer]


class LogPageAnswer(Answer):
    """Lines of the memory log, newest first."""

    items: list[LogAnswer]
    next_cursor: str | None


def context_answer(assembled: Assembled) -> ContextAnswer:
    """Show an assembled context."""
    packed = assembled.packed
    return ContextAnswer(
        context_id=show("ctx", assembled.id),
        snapshot=assembled.snapshot,
        complete=not assembled.missing,
        missing=list(assembled.missing),
        prompt=packed.prompt,
        blocks=[
            BlockAnswer(
                kind=block.kind,
                text=block.text,
                items=[ItemAnswer(id=item.id, version=item.version) for item in block.items],
            )
            for block in packed.blocks
        ],
        usage={"total": packed.tokens, **packed.usage()},
        decisions=[_decision_answer(decision) for decision in packed.decisions],
    )


def log_answer(entry: LogEntry) -> LogAnswer:
    """Show a line of the memory log."""
    return LogAnswer(
        context_id=show("ctx", entry.id),
        session_id=show("ses", entry.session_id) if entry.session_id else None,
        created_at=entry.created_at,
        query=entry.query,
        budget_tokens=entry.budget_tokens,
        tokens=entry.tokens,
        missing=list(entry.missing),
        decisions=[_decision_answer(decision) for decision in entry.decisions],
    )


def _decision_answer(decision: Decision) -> DecisionAnswer:
    return DecisionAnswer(
        kind=decision.kind,
        id=decision.id,
        version=decision.version,
        loaded=decision.loaded,
        reason=decision.reason.value,
        tokens=decision.tokens,
        score=decision.score,
    )
