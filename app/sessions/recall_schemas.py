"""Recall on the wire."""

from typing import Annotated, Literal

from pydantic import Field

from app.core.ids import parse, show
from app.sessions.model import Found, Hit, Recall, Role
from app.sessions.schemas import MessageAnswer, message_answer
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
    neighbours: bool = False


class HitAnswer(Answer):
    """A message that was found. `before` and `after` are its neighbours, where they were asked for."""

    message_id: str
    session_id: str
    role: str
    name: str | None
    text: str
    created_at: Moment
    score: float
    before: MessageAnswer | None
    after: MessageAnswer | None


class IndexAnswer(Answer):
    """How much of what was said is still found by its words alone."""

    pending: int


class RecallAnswer(Answer):
    """What was found, best first."""

    hits: list[HitAnswer]
    index: IndexAnswer


def recall(body: RecallRequest) -> Recall:
    """Return what a caller looks for."""
    return Recall(
        query=body.query,
        limit=body.top_k,
        session_id=parse("ses", body.session_id) if body.session_id else None,
        before=body.before,
        after=body.after,
        role=Role(body.role) if body.role else None,
        with_neighbours=body.neighbours,
    )


def recall_answer(found: Found) -> RecallAnswer:
    """Show what was found."""
    return RecallAnswer(hits=[_hit(hit) for hit in found.hits], index=IndexAnswer(pending=found.pending))


def _hit(hit: Hit) -> HitAnswer:
    message = hit.message
    return HitAnswer(
        message_id=show("msg", message.id),
        session_id=show("ses", message.session_id),
        role=message.role.value,
        name=message.body.name,
        text=message.text,
        created_at=message.created_at,
        score=hit.score,
        before=message_answer(hit.before) if hit.before else None,
        after=message_answer(hit.after) if hit.after else None,
    )
