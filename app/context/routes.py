"""HTTP for context and the memory log."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from app.context.schemas import ContextRequest, LogAnswer, LogPageAnswer, log_answer
from app.context.service import Contexts
from app.core.ids import parse
from app.core.scope import Scope
from app.web.auth import allow
from app.web.context import ContextAnswer, asked, context_answer
from app.web.paging import Paging, Position, next_cursor, page_of
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(prefix="/v1", tags=["context"])

Reader = Annotated[Scope, Depends(allow("context:read"))]
Service = Annotated[Contexts, Depends(provided(Contexts))]
Page = Annotated[Paging, Depends(page_of)]


@router.post("/context", responses=problems("not_found", "store_unavailable"))
async def assemble(body: ContextRequest, caller: Reader, contexts: Service) -> ContextAnswer:
    """Assemble what the agent should know for this turn, within a budget of tokens, with a reason for every memory."""
    ask = asked(body, parse("ses", body.session_id) if body.session_id else None)
    return context_answer(await contexts.assemble(caller, ask))


@router.get("/memory-log", responses=problems("not_found"))
async def list_log(
    caller: Reader,
    contexts: Service,
    paging: Page,
    session_id: Annotated[str | None, Query()] = None,
) -> LogPageAnswer:
    """List what contexts were made of, newest first, of one session where it is named."""
    session = parse("ses", session_id) if session_id else None
    before = UUID(hex=str(paging.after["id"])) if paging.after else None
    entries = await contexts.page_log(caller, session, before, paging.limit)
    following: Position | None = {"id": entries[-1].id.hex} if len(entries) == paging.limit else None
    return LogPageAnswer(items=[log_answer(entry) for entry in entries], next_cursor=next_cursor(following))


@router.get("/memory-log/{context_id}", responses=problems("not_found"))
async def read_log(context_id: str, caller: Reader, contexts: Service) -> LogAnswer:
    """Read what one context was made of, and why."""
    return log_answer(await contexts.read_log(caller, parse("ctx", context_id)))
