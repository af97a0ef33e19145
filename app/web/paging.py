"""Lists, page by page: a limit and an opaque cursor that only this service can make."""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from starlette.requests import Request

from app.core.errors import invalid
from app.web.current import current

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
MAX_CURSOR_CHARS = 1_024
_TAG_BYTES = 16

Position = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page a client asks for: at most `limit` items, those that follow `after`; None asks for the first page."""

    limit: int
    after: Position | None


async def page_of(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: Annotated[str | None, Query(max_length=MAX_CURSOR_CHARS)] = None,
) -> Paging:
    """Return which page a client asks for: the dependency of list routes.

    Raises `invalid` for a cursor that this list didn't give.
    """
    return Paging(limit, None if cursor is None else _opened(request, cursor))


def next_cursor(after: Position | None) -> str | None:
    """Return the cursor of the page that follows `after`, the position of the last item; None where nothing follows."""
    if after is None:
        return None
    here = current()
    payload = json.dumps(after, separators=(",", ":")).encode()
    tag = _tag(here.asgi["app"].state.cursor_key, here.template or "", payload)
    return base64.urlsafe_b64encode(tag + payload).decode().rstrip("=")


def _opened(request: Request, cursor: str) -> Position:
    try:
        sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise invalid("cursor", "isn't one that this list gave") from None
    tag, payload = sealed[:_TAG_BYTES], sealed[_TAG_BYTES:]
    expected = _tag(request.app.state.cursor_key, current().template or "", payload)
    # Made by this list and nobody else: what stands in it needs no further check.
    if not hmac.compare_digest(tag, expected):
        raise invalid("cursor", "isn't one that this list gave")
    position: Position = json.loads(payload)
    return position


def _tag(key: bytes, route: str, payload: bytes) -> bytes:
    named = len(route).to_bytes(2) + route.encode() + payload
    return hmac.new(key, named, hashlib.sha256).digest()[:_TAG_BYTES]
