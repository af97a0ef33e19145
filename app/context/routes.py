"""HTTP for context, what is said of it, and the memory log."""

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from app.context.log import MemoryLog
from app.context.model import Feedback, LogFilter
from app.context.schemas import (
    ContextRequest,
    FeedbackAnswer,
    FeedbackRequest,
    LogAnswer,
    LogPageAnswer,
    ReplayAnswer,
    feedback_answer,
    log_answer,
    opinion,
    replay_answer,
)
from app.context.service import Contexts
from app.core.idempotency import Answer
from app.core.ids import parse
from app.core.scope import Scope
from app.web.auth import allow, may_also
from app.web.context import ContextAnswer, asked, context_answer
from app.web.direct import direct
from app.web.idempotency import attempted, rendered, respond
from app.web.paging import Paging, Position, next_cursor, page_of
from app.web.problems import problems
from app.web.provide import provided
from app.web.wire import Moment

router = APIRouter(prefix="/v1", tags=["context"])

Reader = Annotated[Scope, Depends(allow("context:read"))]
Writer = Annotated[Scope, Depends(allow("context:write"))]
Service = Annotated[Contexts, Depends(provided(Contexts))]
Log = Annotated[MemoryLog, Depends(provided(MemoryLog))]
Page = Annotated[Paging, Depends(page_of)]


async def filter_of(
    session_id: Annotated[str | None, Query(description="Contexts of one session.")] = None,
    context_id: Annotated[str | None, Query(description="One context.")] = None,
    message_id: Annotated[str | None, Query(description="The context that a message was made with.")] = None,
    since: Annotated[Moment | None, Query(alias="from", description="Contexts of that time or later.")] = None,
    until: Annotated[Moment | None, Query(alias="to", description="Contexts from before that time.")] = None,
) -> LogFilter:
    """Return which lines of the log are asked for: the dependency of the route that lists them."""
    return LogFilter(
        session_id=parse("ses", session_id) if session_id else None,
        context_id=parse("ctx", context_id) if context_id else None,
        message_id=parse("msg", message_id) if message_id else None,
        since=since,
        until=until,
    )


@router.post("/context", response_model=ContextAnswer, responses=problems("not_found", "store_unavailable"))
@direct
async def assemble(request: Request, body: ContextRequest, caller: Reader, contexts: Service) -> Response:
    """Assemble what the agent should know for this turn, within a budget of tokens, with a reason for every memory.

    Kinds that the token may not read (`sessions:read`, `memories:read`, `profile:read`, `preferences:read`,
    `knowledge:read`) are left out as `no_scope`; where one of them is required, that is a 403.
    """
    session_id = parse("ses", body.session_id) if body.session_id else None
    assembled = await contexts.assemble(caller, asked(body, session_id, partial(may_also, request)))
    return respond(rendered(context_answer(assembled)))


@router.post("/context/{context_id}/feedback", response_model=FeedbackAnswer, responses=problems("not_found"))
async def give_feedback(
    request: Request,
    context_id: str,
    body: FeedbackRequest,
    caller: Writer,
    log: Log,
) -> Response:
    """Say whether a context was useful, which of its items were, and what would have been right.

    It takes the place of what was said of that context before: its version rises. The memory log shows it.
    """
    attempt = await attempted(request, _shown)
    return respond(_shown(await log.mark(caller, parse("ctx", context_id), opinion(body), attempt)))


@router.get("/memory-log", responses=problems("not_found"))
async def list_log(
    request: Request,
    caller: Reader,
    log: Log,
    paging: Page,
    wanted: Annotated[LogFilter, Depends(filter_of)],
) -> LogPageAnswer:
    """List what contexts were made of, newest first: of a session, a message, a time."""
    before = UUID(hex=str(paging.after["id"])) if paging.after else None
    lines = await log.page(caller, wanted, before, paging.limit)
    following: Position | None = {"id": lines[-1].entry.id.hex} if len(lines) == paging.limit else None
    with_summary = may_also(request, "sessions:read")
    items = [log_answer(line, with_summary=with_summary) for line in lines]
    return LogPageAnswer(items=items, next_cursor=next_cursor(following))


@router.get("/memory-log/{context_id}", responses=problems("not_found"))
async def read_log(request: Request, context_id: str, caller: Reader, log: Log) -> LogAnswer:
    """Read what one context was made of, and why."""
    line = await log.read(caller, parse("ctx", context_id))
    return log_answer(line, with_summary=may_also(request, "sessions:read"))


@router.get("/memory-log/{context_id}/replay", responses=problems("not_found", "conflict", "store_unavailable"))
async def replay(context_id: str, caller: Reader, contexts: Service) -> ReplayAnswer:
    """Say what the call that made a context would load now, and what differs. Nothing is noted of it.

    A call that named a snapshot is made at that again.
    """
    return replay_answer(await contexts.replay(caller, parse("ctx", context_id)))


def _shown(feedback: Feedback) -> Answer:
    return rendered(feedback_answer(feedback))
