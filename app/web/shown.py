"""Reads whose answers may be kept: how each is made, and what is answered to who has it already."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from app.core.idempotency import Answer
from app.core.shown import Rendering, Shown
from app.core.versions import etag
from app.web.idempotency import respond
from app.web.preconditions import not_modified

T = TypeVar("T")


def rendering(model: type[BaseModel], render: Callable[[T], Answer]) -> Rendering[T]:
    """Return how an answer of this model is made. While a new version of the service is rolled out, both serve: what
    one has kept isn't given by the other where their models differ.
    """
    return Rendering(_shape(model), render)


def respond_unless_known(request: Request, shown: Shown) -> Response:
    """Return the response that sends an answer; 304 where the client has its version already."""
    if shown.version is not None and not_modified(request, shown.version):
        return Response(status_code=304, headers={"ETag": etag(shown.version)})
    return respond(shown.answer)


@cache
def _shape(model: type[BaseModel]) -> str:
    schema = json.dumps(model.model_json_schema(), sort_keys=True)
    return hashlib.sha256(schema.encode()).hexdigest()[:16]
