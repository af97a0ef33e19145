"""HTTP for facts, and for the one list of everything remembered."""

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from app.core.idempotency import Answer
from app.core.ids import parse, show
from app.core.moments import Moment
from app.core.remembered import RememberedKind
from app.core.scope import Scope
from app.core.versions import Precondition, etag
from app.memories.model import Memory, State
from app.memories.overview import Overviews
from app.memories.schemas import (
    MemoryAnswer,
    MemoryHistoryAnswer,
    MemoryReadAnswer,
    MemoryRequest,
    OverviewAnswer,
    content,
    history_answer,
    memory_answer,
    overview_answer,
    read_answer,
)
from app.memories.service import Memories
from app.web.auth import allow, may_also
from app.web.idempotency import attempted, rendered, respond
from app.web.moments import moment_of
from app.web.paging import Paging, Position, next_cursor, page_of
from app.web.preconditions import conditional, not_modified
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(prefix="/v1/memories", tags=["memories"])

Reader = Annotated[Scope, Depends(allow("memories:read"))]
Writer = Annotated[Scope, Depends(allow("memories:write"))]
Service = Annotated[Memories, Depends(provided(Memories))]
Overviewing = Annotated[Overviews, Depends(provided(Overviews))]
Kind = Annotated[RememberedKind | None, Query(description="Lists this kind alone.")]
If = Annotated[Precondition, Depends(conditional)]
When = Annotated[Moment, Depends(moment_of)]
Page = Annotated[Paging, Depends(page_of)]


@router.get("")
async def list_everything(
    request: Request,
    caller: Reader,
    overviews: Overviewing,
    paging: Page,
    kind: Kind = None,
) -> OverviewAnswer:
    """List everything that is remembered about the user, of all kinds or of one.

    Of kinds whose own routes the token may not read nothing is shown.
    """
    before = UUID(hex=str(paging.after["place"])) if paging.after else None
    found = await overviews.page(caller, partial(may_also, request), kind, before, paging.limit)
    position: Position | None = {"place": found.items[-1].place.hex} if found.more else None
    return overview_answer(found, next_cursor(position))


@router.post(
    "", status_code=201, response_model=MemoryAnswer, responses=problems("quota_exceeded", "sensitive_category")
)
async def add(request: Request, body: MemoryRequest, caller: Writer, memories: Service) -> Response:
    """Remember a fact. It is found by its words at once, and by its meaning a moment later."""
    attempt = await attempted(request, _shown_added)
    return respond(_shown_added(await memories.add(caller, content(body), attempt)))


@router.get("/{memory_id}", response_model=MemoryReadAnswer, responses=problems("not_found"))
async def read(request: Request, memory_id: str, caller: Reader, memories: Service, moment: When) -> Response:
    """Read a fact, as it is now or at a moment that is past. One that was deleted isn't there, nor is one whose time is
    over.
    """
    found = await memories.read(caller, parse("mem", memory_id), moment)
    version = found.memory.version
    # The client may have read this version before it was erased, or superseded: it must hear of that.
    if version.content.state is State.KEPT and not found.outdated and not_modified(request, version.number):
        return Response(status_code=304, headers={"ETag": etag(version.number)})
    return respond(rendered(read_answer(found), version=version.number))


@router.put(
    "/{memory_id}", response_model=MemoryAnswer, responses=problems("not_found", "conflict", "sensitive_category")
)
async def replace(
    request: Request,
    memory_id: str,
    body: MemoryRequest,
    caller: Writer,
    memories: Service,
    precondition: If,
) -> Response:
    """Write the next version of a fact. What is less trusted than what is there doesn't replace it (409)."""
    attempt = await attempted(request, _shown)
    return respond(
        _shown(await memories.replace(caller, parse("mem", memory_id), content(body), precondition, attempt))
    )


@router.delete("/{memory_id}", status_code=204, response_model=None, responses=problems("not_found"))
async def delete(
    request: Request,
    memory_id: str,
    caller: Writer,
    memories: Service,
    precondition: If,
) -> Response:
    """Take the text out of every version. A stub is left, for which reading is a 404 that says so."""
    attempt = await attempted(request, _shown_deleted)
    return respond(_shown_deleted(await memories.delete(caller, parse("mem", memory_id), precondition, attempt)))


@router.get("/{memory_id}/history", responses=problems("not_found"))
async def history(memory_id: str, caller: Reader, memories: Service, paging: Page) -> MemoryHistoryAnswer:
    """List every version of a fact, newest first, with who wrote it and when."""
    before = int(paging.after["version"]) if paging.after else None
    found = await memories.history(caller, parse("mem", memory_id), before, paging.limit)
    following = next_cursor({"version": found.items[-1].number}) if found.more else None
    return history_answer(found, following)


def _shown(memory: Memory) -> Answer:
    return rendered(memory_answer(memory), version=memory.version.number)


def _shown_added(memory: Memory) -> Answer:
    location = {"Location": f"/v1/memories/{show('mem', memory.id)}"}
    return rendered(memory_answer(memory), 201, version=memory.version.number, headers=location)


def _shown_deleted(stub: Memory) -> Answer:
    return rendered(None, 204, version=stub.version.number)
