"""The OpenAPI document: what every route of a kind answers and takes is said here once, not in each route."""

from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.types import ASGIApp

from app.web.acting import Act
from app.web.entrance import Entrance, dependants, entrance
from app.web.guests import AllowGuest, session_token
from app.web.operators import Operate
from app.web.preconditions import conditional, conditional_or_any
from app.web.problems import MEDIA_TYPE, SCHEMA_REF, Problem, problems

Contract = dict[str, Any]  # Any: an OpenAPI document is JSON of many shapes

SECURITY_SCHEME = "token"
GUEST_SCHEME = "session_token"
_ALWAYS = ("invalid", "overloaded", "store_unavailable")
_WITH_A_TOKEN = ("unauthorized", "missing_scope", "no_user", "erasing", "erased", "processing_stopped")
_OF_AN_OPERATOR = ("unauthorized", "missing_scope")
_WITH_A_BODY = ("too_large", "unsupported_media_type")
_CONDITIONAL = ("stale_version", "exists", "precondition_required")
_REPEATABLE = ("in_progress", "idempotency_mismatch")
_CHANGES = (":write", ":explicit")

_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "examples": ['"3"']},
    "description": "The ETag of the version to change.",
}
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "const": "*"},
    "description": "`*` to create what doesn't exist yet. This or `If-Match` is required.",
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "Any unique text: the same key and request get the first answer again, for 24 hours.",
}


def operation_id(route: APIRoute) -> str:
    """Return the stable id of an operation: its first tag and the name of its function."""
    return f"{route.tags[0]}_{route.name}" if route.tags else route.name


class Api(FastAPI):
    """FastAPI with the document that this module makes, and without what our own middlewares do."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        """Take FastAPI's options. What it tells of requests to OpenTelemetry costs as much as a request does."""
        super().__init__(telemetry={"tracing": False, "metrics": False, "logs": False}, **options)

    def build_middleware_stack(self) -> ASGIApp:
        """Return the application: our middlewares around FastAPI's own exceptions and routes.

        `RequestLog` answers what nobody expected, and `BodyLimit` bounds bodies.
        """
        handlers: Any = self.exception_handlers  # Any: a mapping of handlers, whatever error they are for
        app: ASGIApp = ExceptionMiddleware(AsyncExitStackMiddleware(self.router), handlers)
        for cls, args, options in reversed(self.user_middleware):
            app = cls(app, *args, **options)
        return app

    def openapi(self) -> Contract:
        """Return the OpenAPI document, made once."""
        if self.openapi_schema is None:
            self.openapi_schema = describe(self)
        return self.openapi_schema


def describe(app: FastAPI) -> Contract:
    """Return the OpenAPI document of an application. Raises ValueError where two operations have one id."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
        servers=app.servers,
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for framework in ("HTTPValidationError", "ValidationError"):
        schemas.pop(framework, None)
    schemas |= _problem_schemas()
    document["components"]["securitySchemes"] = {
        SECURITY_SCHEME: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        GUEST_SCHEME: {
            "type": "apiKey",
            "in": "header",
            "name": "Cairn-Session-Token",
            "description": "The token of an anonymous session, where these are allowed.",
        },
    }
    for route in iter_route_contexts(app.routes):
        for method in route.methods or ():
            operation = document["paths"].get(route.path_format, {}).get(method.lower())
            if operation is not None and isinstance(route.original_route, APIRoute):
                _complete(operation, route)
    _require_unique(operation["operationId"] for path in document["paths"].values() for operation in path.values())
    return document


def _complete(operation: Contract, route: RouteContext) -> None:
    """Add to an operation what follows from the dependencies of its route."""
    calls = [dependant.call for dependant in dependants(route.dependant)]
    codes = list(_ALWAYS)
    parameters = operation.setdefault("parameters", [])
    asking = entrance(route.dependant)
    permission = asking.permission if asking else None
    if asking is not None:
        operation["security"] = _security(asking, calls)
        codes += _OF_AN_OPERATOR if isinstance(asking, Operate | Act) else _WITH_A_TOKEN
    if "requestBody" in operation:
        codes += _WITH_A_BODY
    if conditional in calls or conditional_or_any in calls:
        parameters += [_IF_MATCH, _IF_NONE_MATCH]
        codes += _CONDITIONAL
    if permission is not None and permission.endswith(_CHANGES):
        parameters.append(_IDEMPOTENCY_KEY)
        codes += _REPEATABLE
    if not parameters:
        del operation["parameters"]
    responses = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422")):
        del responses["422"]
    for status, told in problems(*codes).items():
        responses[str(status)] = _merged(responses.get(str(status)), told)
    responses["default"] = {
        "description": "Any other problem.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": SCHEMA_REF}}},
    }


def _security(asking: Entrance, calls: Sequence[object]) -> list[dict[str, list[str]]]:
    """Return the ways into an operation: by a user's token, and by what opens an anonymous session."""
    of_user: dict[str, list[str]] = {SECURITY_SCHEME: [asking.permission]}
    if session_token in calls:
        return [of_user | {GUEST_SCHEME: []}]
    if isinstance(asking, AllowGuest):
        return [of_user, {} if asking.begins else {GUEST_SCHEME: []}]
    return [of_user]


def _merged(declared: Contract | None, told: Contract) -> Contract:
    """Return one response that tells what a route has declared and what is told of all."""
    if declared is None or MEDIA_TYPE not in declared.get("content", {}):
        return declared or told
    lines = [*declared["description"].split("; "), *told["description"].split("; ")]
    return declared | {"description": "; ".join(dict.fromkeys(lines))}


def _problem_schemas() -> Contract:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    parts: Contract = schema.pop("$defs")
    return parts | {"Problem": schema}


def _require_unique(operation_ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for each in operation_ids:
        if each in seen:
            raise ValueError(f"two operations are named {each}")
        seen.add(each)
