"""Repeated writes: what a client sent under `Idempotency-Key`, and answers that can be kept and given again."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from app.core.errors import AppError, invalid
from app.core.idempotency import Answer, Attempt
from app.core.versions import etag
from app.web.current import current
from app.web.problems import problem_answer

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
# What the effect or the answer depends on beside the address and the body.
_DECIDING_HEADERS = ("if-match", "if-none-match", "content-type")


async def attempted(
    request: Request,
    render: Callable[[Any], Answer],  # Any: each service returns a type of its own
    content: bytes | None = None,
) -> Attempt | None:
    """Return what the client sent under `Idempotency-Key`, None without the header.

    `content` stands for the body where the route has streamed it: a digest of it, say.
    """
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    if len(keys) > 1 or not _KEY.fullmatch(keys[0]):
        raise invalid("Idempotency-Key", "must be one key of 1 to 255 visible ASCII characters")
    body = await request.body() if content is None else content
    return Attempt(
        route=f"{request.method} {current().template}",
        key=keys[0],
        request=_digest(request, body),
        render=render,
        refuse=_refuse,
    )


def rendered(
    model: BaseModel | None,
    status: int = 200,
    version: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Return the answer that shows `model` (None: no body), with the ETag of its version where it has one."""
    shown = dict(headers or {})
    if version is not None:
        shown["ETag"] = etag(version)
    if model is None:
        return Answer(status, shown, b"")
    return Answer(status, shown | {"Content-Type": "application/json"}, model.model_dump_json().encode())


def respond(answer: Answer, *, replayed: bool = False) -> Response:
    """Return the response that sends an answer, marked where it was given before."""
    headers = answer.headers | {"Idempotent-Replayed": "true"} if replayed else answer.headers
    return Response(answer.body, answer.status, headers)


def _refuse(error: AppError) -> Answer:
    return problem_answer(error)


def _digest(request: Request, body: bytes) -> bytes:
    digest = hashlib.sha256()
    address = (request.method.encode(), request.scope["path"].encode(), request.scope["query_string"])
    headers = ("\n".join(request.headers.getlist(name)).encode() for name in _DECIDING_HEADERS)
    for part in (*address, *headers, body):
        # Length first: no two requests run together into the same bytes.
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.digest()
