"""What surrounds every request: a limit to its body, and the headers that keep browsers and caches off its answer."""

from collections.abc import Mapping

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import AppError
from app.web.auth import identify
from app.web.current import current
from app.web.guests import HEADER
from app.web.problems import problem_response
from app.web.refusals import BodyRefused, too_large

MAX_ADDRESS_BYTES = 8_192
# FastAPI reads a body before anything asks for the token: a stranger's may have so much.
STRANGERS_BYTES = 65_536
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NO_STORE = (b"cache-control", b"no-store")


class SecurityHeaders:
    """Adds the headers that an API of personal data answers with. A route may set its own `Cache-Control`."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append(_NO_STORE)
                message["headers"] = [*headers, *_SECURITY_HEADERS]
            await send(message)

        await self._app(scope, receive, send_secured if scope["type"] == "http" else send)


class BodyLimit:
    """Refuses bodies over a limit, whether they say their length or come in chunks, and addresses without end."""

    def __init__(self, app: ASGIApp, limit_bytes: int, larger: Mapping[str, int]) -> None:
        """Take the limit, and the larger ones by the beginning of the path."""
        self._app = app
        self._limit_bytes = limit_bytes
        self._larger = sorted(larger.items(), key=lambda item: -len(item[0]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit_bytes = self._limit_of(scope["path"])
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
            await _refuse(too_large(MAX_ADDRESS_BYTES, "an address"), scope, receive, send)
            return
        if _declared_bytes(scope) > limit_bytes:
            await _refuse(too_large(limit_bytes), scope, receive, send)
            return
        read_bytes = 0
        known = False

        async def receive_limited() -> Message:
            nonlocal read_bytes, known
            message = await receive()
            read_bytes += len(message.get("body", b""))
            if read_bytes > limit_bytes:
                raise BodyRefused(too_large(limit_bytes))
            if read_bytes > STRANGERS_BYTES and not known:
                known = await _known(scope)
            return message

        await self._app(scope, receive_limited, send)

    def _limit_of(self, path: str) -> int:
        return next((limit for prefix, limit in self._larger if path.startswith(prefix)), self._limit_bytes)


async def _known(scope: Scope) -> bool:
    """Say that the sender has a good token. Raises BodyRefused where not."""
    connection = HTTPConnection(scope)
    try:
        if HEADER in connection.headers and "authorization" not in connection.headers:
            raise too_large(STRANGERS_BYTES, "a body without a user's token")
        await identify(connection)
    except AppError as error:
        error.headers["Connection"] = "close"
        raise BodyRefused(error) from error
    return True


async def _refuse(error: AppError, scope: Scope, receive: Receive, send: Send) -> None:
    current().code = error.code
    await problem_response(error)(scope, receive, send)


def _declared_bytes(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
