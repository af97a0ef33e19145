"""HTTP for who follows a document: server-sent events of its status, and the same as one answer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

import structlog
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from app.core.errors import AppError
from app.core.ids import parse
from app.core.scope import Scope
from app.knowledge.model import Document
from app.knowledge.schemas import DocumentAnswer, shown_document, status_answer
from app.knowledge.watching import MAX_WAIT_S, Watching
from app.web.auth import allow
from app.web.health import Readiness, State
from app.web.idempotency import respond
from app.web.problems import problems
from app.web.provide import provided

EVENT_STREAM: Final = "text/event-stream"
# A client whose stream ended comes back after so long.
RETRY_MS: Final = 2_000
# What says nothing for longer is cut off by proxies.
HEARTBEAT_S: Final = 15.0
# How a stream ends that doesn't end with a settled document.
_ENDS: Final = {"not_found": "deleted", "erasing": "erased", "erased": "erased"}

log = structlog.get_logger("cairn.knowledge")

router = APIRouter(prefix="/v1/knowledge", tags=["knowledge"])

Reader = Annotated[Scope, Depends(allow("knowledge:read"))]
WaitS = Annotated[float | None, Query(ge=0, le=MAX_WAIT_S, description="Answer once, as JSON, after at most so long.")]
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", description="The last event that was seen.")]


@router.get(
    "/documents/{document_id}/events",
    response_model=DocumentAnswer,
    responses={
        200: {
            "description": "One event for each change of the status, without what the document says; or the document.",
            "content": {EVENT_STREAM: {"schema": {"type": "string"}}},
        },
        204: {"description": "Nothing will follow the last event that was seen."},
        **problems("not_found", "rate_limited", "overloaded"),
    },
)
async def events(
    request: Request,
    document_id: str,
    caller: Reader,
    watching: Annotated[Watching, Depends(provided(Watching))],
    wait_s: WaitS = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Follow a document until it is ready or has failed: as server-sent events, or with `wait_s` as one answer.

    A stream ends with the last status, or with `deleted` or `erased`. It may end before, when the server does: who
    comes back with `Last-Event-ID` is told what is new.
    """
    found, readiness = parse("doc", document_id), request.app.state.readiness
    if wait_s is not None:
        settled = await watching.settled(caller, found, wait_s, lambda: _is_ending(readiness))
        return respond(shown_document(settled))
    document = await watching.seen(caller, found)
    if document.is_settled and last_event_id == _event_id(document):
        return Response(status_code=204)
    told = _events(caller, document, watching, readiness, last_event_id)
    return _Followed(watching, caller, told)


class _Followed(StreamingResponse):
    """A stream that takes a follower's place while it is sent, however it ends: a client that hangs up included."""

    def __init__(self, watching: Watching, caller: Scope, told: AsyncIterator[str]) -> None:
        super().__init__(told, media_type=EVENT_STREAM)
        self._watching = watching
        self._caller = caller

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        with self._watching.place(self._caller):
            await super().__call__(scope, receive, send)


async def _events(
    caller: Scope,
    document: Document,
    watching: Watching,
    readiness: Readiness,
    last_event_id: str | None,
) -> AsyncIterator[str]:
    clock = asyncio.get_running_loop()
    yield f"retry: {RETRY_MS}\n\n"
    told = last_event_id
    said_at_s = clock.time()
    if told != _event_id(document):
        yield _event(document)
        told = _event_id(document)
    try:
        async for later in watching.follow(caller, document):
            if _event_id(later) != told:
                yield _event(later)
                told, said_at_s = _event_id(later), clock.time()
            elif clock.time() - said_at_s >= HEARTBEAT_S:
                yield ": still there\n\n"
                said_at_s = clock.time()
            if _is_ending(readiness):
                return
    except AppError as error:
        # A store that is away ends the stream, and the client comes back: it has seen what it has seen.
        log.info("following_ended", code=error.code)
        if error.code in _ENDS:
            yield f"event: {_ENDS[error.code]}\ndata: {{}}\n\n"


def _is_ending(readiness: Readiness) -> bool:
    return readiness.state is State.DRAINING


def _event(document: Document) -> str:
    return f"event: status\nid: {_event_id(document)}\ndata: {status_answer(document).model_dump_json()}\n\n"


def _event_id(document: Document) -> str:
    return f"{document.version}-{document.status.value}-{document.progress:.3f}"
