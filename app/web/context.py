"""A context on the wire. It stands here because two features show it: context assembly, and an append with `context`.

Features never import each other; what their routes share is of this layer.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from app.core.assembly import IMPLIED, KINDS, Ask, Assembled, Decision, Packed, Reason
from app.core.ids import show
from app.core.tokens import Tokenizer
from app.web.auth import missing_scope
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
# Facts are asked for with what was said before, and stand in a block of their own.
WITH: Final[Mapping[str, tuple[str, ...]]] = {"recall": ("recall", "memories")}
# What a token needs to be shown each kind.
NEEDED: Final[Mapping[str, str]] = {
    "summary": "sessions:read",
    "messages": "sessions:read",
    "profile": "profile:read",
    "preferences": "preferences:read",
    "recall": "sessions:read",
    "memories": "memories:read",
    "knowledge": "knowledge:read",
}


class ContextWish(Request):
    """What to assemble, and within how many tokens."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    budget_tokens: Annotated[int, Field(ge=MIN_BUDGET_TOKENS, le=MAX_BUDGET_TOKENS)] = DEFAULT_BUDGET_TOKENS
    snapshot: Annotated[str, Field(max_length=64)] | None = None
    include: Annotated[list[Kind], Field(min_length=1, max_length=len(KINDS))] = ALL_KINDS
    require: Annotated[list[Kind], Field(max_length=len(KINDS))] | None = None
    tokenizer: Annotated[
        Tokenizer | None,
        Field(description="What counts the budget: the embedder's, a high estimate for any model, or bytes of UTF-8."),
    ] = None

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
    reason: Reason
    tokens: int
    score: float | None = None
    superseded: list[NewerAnswer] = Field(default_factory=list)
    part: str | None = Field(
        default=None,
        description="With `dense`: of this kind nothing was looked for by its meaning; what its words find is there.",
    )


class ContextAnswer(SnapshotAnswer):
    """A prompt within its budget, and everything that explains it."""

    context_id: str
    complete: bool
    missing: list[str]
    prompt: str
    blocks: list[BlockAnswer]
    usage: dict[str, int]
    decisions: list[DecisionAnswer]


def asked(wish: ContextWish, session_id: UUID | None, may: Callable[[str], bool]) -> Ask:
    """Return what a caller asks for. `may` says whether their token allows something.

    Kinds that it doesn't let them read are left out, and told. Raises `missing_scope` where one of them is required.
    """
    wanted = _with(frozenset[str](wish.include))
    require = _with(frozenset[str](REQUIRED & wanted if wish.require is None else wish.require))
    no_scope = frozenset(kind for kind in wanted if not may(NEEDED[kind]))
    for kind in sorted(require & no_scope - IMPLIED):
        raise missing_scope(NEEDED[kind])
    return Ask(
        query=wish.query,
        session_id=session_id,
        budget_tokens=wish.budget_tokens,
        include=wanted - no_scope,
        require=require - no_scope,
        snapshot=wish.snapshot,
        no_scope=no_scope,
        tokenizer=wish.tokenizer,
    )


def _with(kinds: frozenset[str]) -> frozenset[str]:
    return frozenset(kind for named in kinds for kind in WITH.get(named, (named,)))


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
        usage=usage_of(packed),
        decisions=[decision_answer(decision) for decision in packed.decisions],
    )


def usage_of(packed: Packed) -> dict[str, int]:
    """Show the tokens of a prompt: all of them, and those of each kind."""
    return {"total": packed.tokens, **packed.usage()}


def decision_answer(decision: Decision) -> DecisionAnswer:
    """Show what became of one memory."""
    return DecisionAnswer(
        kind=decision.kind,
        id=decision.id,
        version=decision.version,
        loaded=decision.loaded,
        reason=decision.reason,
        tokens=decision.tokens,
        score=decision.score,
        superseded=[NewerAnswer(kind=each.kind, id=each.id, version=each.version) for each in decision.superseded],
        part=decision.part,
    )
