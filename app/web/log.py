"""The request log: one line for each request, and the one place that answers for what nobody expected."""

import re
import time
from typing import Any

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core import ids, timing
from app.core.errors import AppError
from app.core.withholding import withhold_also
from app.web.current import Current, begin
from app.web.problems import problem_response

# In the log alone: who hung up in the middle of a body gets no answer.
GONE = "client_gone"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class RequestLog:
    """The outermost middleware: gives a request its id, writes its line, and answers 500 to what nobody expected."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app
        self._logger = structlog.get_logger("cairn.request")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request and write its line."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        here = _current(scope)
        begin(here)
        withhold_also(None)  # until it is known whose request it is
        store_time = timing.begin()
        status = 0

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", here.request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, send_named)
        except ClientDisconnect:
            here.code = GONE
        except Exception:
            here.code = "internal"
            self._logger.exception("unexpected", request_id=here.request_id, route=here.template)
            if status:
                # Too late for an answer: the server breaks the connection off, so that nobody takes half for whole.
                raise
            await problem_response(AppError("internal"))(scope, receive, send_named)
        finally:
            self._logger.info("request", **_line(here, status, time.perf_counter() - started, store_time.spent_s))


def _current(scope: Scope) -> Current:
    request_id = traceparent = None
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            request_id = value.decode()
        elif name == b"traceparent" and _TRACEPARENT.fullmatch(value):
            traceparent = value.decode()
    return Current(request_id or ids.show("req", ids.uuid7()), traceparent, scope)


def _line(here: Current, status: int, duration_s: float, store_s: float) -> dict[str, Any]:
    """Return what is told of a request: where it was routed to, how it ended, for whom. Nothing that it said."""
    scope = here.state.get("scope")
    return {
        "request_id": here.request_id,
        "traceparent": here.traceparent,
        "method": here.asgi["method"],
        "route": here.template,
        "status": status or None,
        "code": here.code,
        "duration_ms": round(duration_s * 1000, 2),
        "store_ms": round(store_s * 1000, 2),
        "tenant": scope.tenant if scope else None,
        "usr": ids.show("usr", scope.usr) if scope else None,
        "agent": scope.agent if scope else None,
    }
