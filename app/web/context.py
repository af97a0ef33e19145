"""A context on the wire. It stands here because two features show it: context assembly, and an append with `context`.

Features never import each other; what their routes share is of this layer.
"""

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from app.core.assembly import KINDS, Ask, Assembled, Decision
from app.core.ids import show
from app.web.moments import SnapshotAnswer, snapshot_fields
from app.web.wire import Answer, Request, wrong

DEFAULT_BUDGET_TOKENS = 1_000
MIN_BUDGET_TOKENS = 64
MAX_BUDGET_TOKENS = 32_000
MAX_QUERY_CHARS = 4_000

Kind = Literal["summary", "messages", "profile", "preferences", "recall", "knowledge"]
ALL_KINDS: list[Kind] = ["summary", "messages", "profile", "preferences", "recall", "knowledge"]
# Without these a prompt would lack what the user asked for: no prompt is better.
REQUIRED = frozenset({"profile", "preferences"})


class ContextWish(Request):
    """What to assemble, and within how many tokens."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    budget_tokens: Annotated[int, Field(ge=MIN_BUDGET_TOKENS, le=MAX_BUDGET_TOKENS)] = DEFAULT_BUDGET_TOKENS
    snapshot: Annotated[str, Field(max_length=64)] | None = None
    include: Annotated[list[Kind], Field(min_length=1, max_length=len(KINDS))] = ALL_KINDS
    require: Annotated[list[Kind], Field(max_length=len(KINDS))] | None = None

    @model_validator(mode="after")
    def _required_is_asked_for(self) -> Self:
        if not set(self.require or ()) <= set(self.include):
            raise wrong("require must be among what include asks for")
        return self


class ItemAnswer(Answer):
    """One memory that is in the prompt."""

    id: str
    version: int


class BlockAnswer(Answer):
    """The memories of one kind, as they stand in the prompt."""

    kind: str
    text: str
    items: list[ItemAnswer]


class NewerAnswer(Answer):
    """An item of user memory that has something newer than the text."""

    kind: str
    id: str
    version: int


class DecisionAnswer(Answer):
    """What became of one memory that was considered, and why."""

    kind: str
    id: str
    version: int
    loaded: bool
    reason: str
    tokens: int
    score: float | None = None
    superseded: list[NewerAnswer] = Field(default_factory=list)


class ContextAnswer(SnapshotAnswer):
    """A prompt within its budget, and everything that explains it."""

    context_id: str
    complete: bool
    missing: list[str]
    prompt: str
    blocks: list[BlockAnswer]
    usage: dict[str, int]
    decisions: list[DecisionAnswer]


def asked(wish: ContextWish, session_id: UUID | None) -> Ask:
    """Return what a caller asks for."""
    include = frozenset[str](wish.include)
    return Ask(
        query=wish.query,
        session_id=session_id,
        budget_tokens=wish.budget_tokens,
        include=include,
        require=frozenset(REQUIRED & include if wish.require is None else wish.require),
        snapshot=wish.snapshot,
    )


def context_answer(assembled: Assembled) -> ContextAnswer:
    """Show an assembled context."""
    packed = assembled.packed
    return ContextAnswer(
        context_id=show("ctx", assembled.id),
        **snapshot_fields(assembled.snapshot),
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
        decisions=[decision_answer(decision) for decision in packed.decisions],
    )


def decision_answer(decision: Decision) -> DecisionAnswer:
    """Show what became of one memory."""
    return DecisionAnswer(
        kind=decision.kind,
        id=decision.id,
        version=decision.version,
        loaded=decision.loaded,
        reason=decision.reason.value,
        tokens=decision.tokens,
        score=decision.score,
        superseded=[NewerAnswer(kind=each.kind, id=each.id, version=each.version) for each in decision.superseded],
    )
