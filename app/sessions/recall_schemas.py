"""Recall on the wire."""

from typing import Annotated, Literal

from pydantic import Field

from app.core.ids import parse, show
from app.core.recall import Fact
from app.sessions.model import Found, Hit, Recall, Role
from app.sessions.schemas import MessageAnswer, message_answer
from app.web.superseded import SupersededAnswer, superseded_answers
from app.web.wire import Answer, Moment, Request

MAX_QUERY_CHARS = 4_000
MAX_TOP_K = 100
DEFAULT_TOP_K = 10

SessionId = Annotated[str, Field(pattern=r"^ses_[0-9a-f]{32}$")]


class RecallRequest(Request):
    """What to look for in everything that was said. `before` and `after` bound when it was said."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K, strict=True)] = DEFAULT_TOP_K
    session_id: SessionId | None = None
    before: Moment | None = None
    after: Moment | None = None
    role: Literal["user", "assistant", "system", "tool"] | None = None
    neighbours: Annotated[bool, Field(strict=True)] = False


class MessageHitAnswer(Answer):
    """A message that was found. `before` and `after` are its neighbours, where they were asked for."""

    kind: Literal["message"] = "message"
    message_id: str
    session_id: str
    role: str
    name: str | None
    text: str
    created_at: Moment
    score: float
    before: MessageAnswer | None
    after: MessageAnswer | None
    superseded: list[SupersededAnswer]


class MemoryHitAnswer(Answer):
    """A fact that was found: what was added as a memory, and by whose word it is known."""

    kind: Literal["memory"] = "memory"
    memory_id: str
    version: int
    text: str
    source: str = Field(examples=["explicit", "inferred", "imported"])
    trust: str = Field(examples=["explicit", "operator", "imported", "inferred"])
    created_at: Moment
    expires_at: Moment | None
    score: float
    superseded: list[SupersededAnswer]


HitAnswer = Annotated[MessageHitAnswer | MemoryHitAnswer, Field(discriminator="kind")]


class IndexAnswer(Answer):
    """How much of what was said is still found by its words alone."""

    pending: int


class RecallAnswer(Answer):
    """What was found, best first. The scores fall along the list, and say nothing outside it."""

    hits: list[HitAnswer]
    index: IndexAnswer
    mode: str = Field(
        description="`hybrid`, or `lexical` where the embedder didn't answer and all was found by its words.",
        examples=["hybrid", "lexical"],
    )


def recall(body: RecallRequest, *, facts: bool) -> Recall:
    """Return what a caller looks for; facts too where their token lets them and neither session nor role is named."""
    return Recall(
        query=body.query,
        limit=body.top_k,
        session_id=parse("ses", body.session_id) if body.session_id else None,
        before=body.before,
        after=body.after,
        role=Role(body.role) if body.role else None,
        with_neighbours=body.neighbours,
        with_superseded=True,
        with_facts=facts and body.session_id is None and body.role is None,
    )


def recall_answer(found: Found) -> RecallAnswer:
    """Show what was found."""
    return RecallAnswer(
        hits=[_fact(hit) if isinstance(hit, Fact) else _hit(hit) for hit in found.merged],
        index=IndexAnswer(pending=found.pending),
        mode="lexical" if found.lacks else "hybrid",
    )


def _fact(fact: Fact) -> MemoryHitAnswer:
    return MemoryHitAnswer(
        memory_id=show("mem", fact.id),
        version=fact.version,
        text=fact.text,
        source=fact.source,
        trust=fact.trust,
        created_at=fact.written_at,
        expires_at=fact.expires_at,
        score=fact.score,
        superseded=superseded_answers(fact.superseded),
    )


def _hit(hit: Hit) -> MessageHitAnswer:
    message = hit.message
    return MessageHitAnswer(
        message_id=show("msg", message.id),
        session_id=show("ses", message.session_id),
        role=message.role.value,
        name=message.body.name,
        text=message.text,
        created_at=message.created_at,
        score=hit.score,
        before=message_answer(hit.before) if hit.before else None,
        after=message_answer(hit.after) if hit.after else None,
        superseded=superseded_answers(hit.superseded),
    )
