"""HTTP for sessions, their messages, and recall."""

import asyncio
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from app.core.assembly import Ask
from app.core.idempotency import Answer
from app.core.ids import parse, show
from app.core.scope import Guest, Scope
from app.core.versions import Precondition, etag
from app.core.writing import Right
from app.sessions.claiming import Claims
from app.sessions.hosts import Caller, Hosts
from app.sessions.model import Appended, Exchanged, Opened, View
from app.sessions.recall import Recalls
from app.sessions.recall_schemas import RecallAnswer, RecallRequest, recall_answer
from app.sessions.recall_schemas import recall as recall_of
from app.sessions.schemas import (
    AppendAnswer,
    AppendRequest,
    MessagePageAnswer,
    OpenedAnswer,
    ReadMessageAnswer,
    ReadSessionAnswer,
    SessionAnswer,
    SessionPageAnswer,
    SessionPatch,
    SessionRequest,
    append_answer,
    changes,
    drafts,
    exchange_answer,
    opened_answer,
    opening,
    read_message_answer,
    read_session_answer,
    session_answer,
    session_item,
)
from app.sessions.service import Sessions
from app.web.auth import allow, may_also, require_also
from app.web.context import asked
from app.web.direct import direct
from app.web.guests import guest_or, session_token
from app.web.idempotency import attempted, rendered, respond
from app.web.paging import Paging, Position, next_cursor, page_of
from app.web.preconditions import conditional_or_any, not_modified
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(prefix="/v1", tags=["sessions"])

Reader = Annotated[Scope, Depends(allow("sessions:read"))]
Writer = Annotated[Scope, Depends(allow("sessions:write"))]
Service = Annotated[Sessions, Depends(provided(Sessions))]
Hosting = Annotated[Hosts, Depends(provided(Hosts))]
Claiming = Annotated[Claims, Depends(provided(Claims))]
SessionToken = Annotated[str, Depends(session_token)]
Beginner = Annotated[Caller, Depends(guest_or("sessions:write", begins=True))]
ReaderOrGuest = Annotated[Caller, Depends(guest_or("sessions:read"))]
WriterOrGuest = Annotated[Caller, Depends(guest_or("sessions:write"))]
Recalling = Annotated[Recalls, Depends(provided(Recalls))]
If = Annotated[Precondition, Depends(conditional_or_any)]
Page = Annotated[Paging, Depends(page_of)]

CONDITIONAL = problems("not_found", "stale_version", "exists", "precondition_required")


@router.post(
    "/sessions",
    status_code=201,
    response_model=OpenedAnswer,
    responses={200: {"model": OpenedAnswer, "description": "There was one with this `external_id`."}},
)
async def open_session(request: Request, body: SessionRequest, caller: Beginner, hosts: Hosting) -> Response:
    """Make a session. With an `external_id` the one that has it is answered, if there is one, as it is.

    Where anonymous sessions are allowed, a request without a token makes one; `session_token` is the only way into it.
    """
    attempt = await attempted(request, _shown_opened)
    return respond(_shown_opened(await hosts.open(caller, opening(body), attempt)))


@router.get("/sessions")
async def list_sessions(
    caller: Reader,
    sessions: Service,
    paging: Page,
    pinned: Annotated[bool | None, Query(description="Only those that are pinned, or only those that aren't.")] = None,
) -> SessionPageAnswer:
    """List the user's sessions, the newest first."""
    before = UUID(hex=str(paging.after["id"])) if paging.after else None
    page = await sessions.page(caller, before, paging.limit, pinned=pinned)
    following: Position | None = {"id": page.items[-1].id.hex} if page.more else None
    return SessionPageAnswer(items=[session_item(item) for item in page.items], next_cursor=next_cursor(following))


@router.get("/sessions/{session_id}", response_model=ReadSessionAnswer, responses=problems("not_found"))
async def read_session(request: Request, session_id: str, caller: ReaderOrGuest, hosts: Hosting) -> Response:
    """Read a session and its summary. One that has expired is read like any other.

    `superseded` tells what of its texts has something newer in the profile or the preferences.
    """
    view, outdated = await asyncio.gather(hosts.view(caller, parse("ses", session_id)), hosts.outdated(caller))
    # The version is the session's: what has been superseded since, the client must hear of.
    if not outdated and not_modified(request, view.session.version):
        return Response(status_code=304, headers={"ETag": etag(view.session.version)})
    return respond(rendered(read_session_answer(view, outdated), version=view.session.version))


@router.patch("/sessions/{session_id}", response_model=SessionAnswer, responses=CONDITIONAL)
async def change_session(
    request: Request,
    session_id: str,
    body: SessionPatch,
    caller: WriterOrGuest,
    hosts: Hosting,
    precondition: If,
) -> Response:
    """Change a session's title, metadata, window or life, or pin it. Its version rises with every message too."""
    attempt = await attempted(request, _shown)
    return respond(_shown(await hosts.change(caller, parse("ses", session_id), changes(body), precondition, attempt)))


@router.delete("/sessions/{session_id}", status_code=204, response_model=None, responses=CONDITIONAL)
async def delete_session(
    request: Request,
    session_id: str,
    caller: WriterOrGuest,
    hosts: Hosting,
    precondition: If,
) -> Response:
    """Delete a session: its record, what is indexed of it, and its window."""
    attempt = await attempted(request, _shown_gone)
    await hosts.delete(caller, parse("ses", session_id), precondition, attempt)
    return respond(_shown_gone(None))


@router.post("/sessions/{session_id}/claim", response_model=SessionAnswer, responses=problems("not_found"))
async def claim_session(
    request: Request,
    session_id: str,
    caller: Writer,
    token: SessionToken,
    claims: Claiming,
) -> Response:
    """Make an anonymous session the user's: its messages become theirs, in their order. That happens once; then its
    token opens nothing. It takes both tokens. What the messages state is written a moment later, as after an append.
    """
    attempt = await attempted(request, _shown)
    rights = [right for right in Right if may_also(request, right)]
    return respond(_shown(await claims.claim(caller, Guest(token), parse("ses", session_id), attempt, rights)))


@router.post(
    "/sessions/{session_id}/messages",
    status_code=201,
    response_model=AppendAnswer,
    responses=problems("not_found", "in_progress", "quota_exceeded"),
)
@direct
async def append(
    request: Request,
    session_id: str,
    body: AppendRequest,
    caller: WriterOrGuest,
    hosts: Hosting,
) -> Response:
    """Append messages: all of them, in this order and without a gap, or none. With `context` it answers that too.

    The context is assembled when the messages are stored; where that fails, this is a 201 with a `context_problem`. A
    retry under the same `Idempotency-Key` gets the first messages, and a context as it is at the time of the retry.
    """
    attempt, session = await attempted(request, _shown_appended), parse("ses", session_id)
    ask = _asked(request, body, session)
    rights = [right for right in Right if may_also(request, right)]
    return _exchanged(await hosts.append(caller, session, drafts(body), ask, attempt, rights))


@router.get("/sessions/{session_id}/messages", responses=problems("not_found"))
async def list_messages(session_id: str, caller: ReaderOrGuest, hosts: Hosting, paging: Page) -> MessagePageAnswer:
    """List the whole record of a session, the newest message first."""
    before = int(paging.after["seq"]) if paging.after else None
    page = await hosts.page_messages(caller, parse("ses", session_id), before, paging.limit)
    outdated = await hosts.outdated(caller)
    following: Position | None = {"seq": page.items[-1].seq} if page.more else None
    items = [read_message_answer(item, outdated) for item in page.items]
    return MessagePageAnswer(items=items, next_cursor=next_cursor(following))


@router.get("/sessions/{session_id}/messages/{message_id}", responses=problems("not_found"))
async def read_message(session_id: str, message_id: str, caller: ReaderOrGuest, hosts: Hosting) -> ReadMessageAnswer:
    """Read one message."""
    message = await hosts.read_message(caller, parse("ses", session_id), parse("msg", message_id))
    return read_message_answer(message, await hosts.outdated(caller))


@router.delete(
    "/sessions/{session_id}/messages/{message_id}",
    status_code=204,
    response_model=None,
    responses=problems("not_found"),
)
async def delete_message(
    request: Request,
    session_id: str,
    message_id: str,
    caller: WriterOrGuest,
    hosts: Hosting,
) -> Response:
    """Delete one message; the summary is made anew without it. Messages never change, so there is no precondition."""
    attempt = await attempted(request, _shown_gone)
    await hosts.delete_message(caller, parse("ses", session_id), parse("msg", message_id), attempt)
    return respond(_shown_gone(None))


@router.post("/recall", responses=problems("not_found"))
async def recall(request: Request, body: RecallRequest, caller: Reader, recalls: Recalling) -> RecallAnswer:
    """Find what was said, in one session or in all, by its words and by its meaning.

    Facts are found as well, among the messages: unless a session or a role is asked for, or the token lacks
    `memories:read`.
    """
    return recall_answer(await recalls.recall(caller, recall_of(body, facts=may_also(request, "memories:read"))))


def _shown(view: View) -> Answer:
    return rendered(session_answer(view), version=view.session.version)


def _shown_opened(opened: Opened) -> Answer:
    session_id = show("ses", opened.view.session.id)
    return rendered(
        opened_answer(opened),
        201 if opened.is_new else 200,
        version=opened.view.session.version,
        headers={"Location": f"/v1/sessions/{session_id}"} if opened.is_new else None,
    )


def _shown_appended(appended: Appended) -> Answer:
    return rendered(append_answer(appended), 201)


def _asked(request: Request, body: AppendRequest, session_id: UUID) -> Ask | None:
    """Return the context that an append asks for. Raises `missing_scope` before anything is stored."""
    if body.context is None:
        return None
    require_also(request, "context:read")
    return asked(body.context, session_id, partial(may_also, request))


def _exchanged(exchanged: Exchanged) -> Response:
    return respond(rendered(exchange_answer(exchanged), 201), replayed=isinstance(exchanged.stored, Answer))


def _shown_gone(_: None) -> Answer:
    return rendered(None, 204)
