"""Requests that say more than the route understands, or in another format, are refused: never guessed at."""

from collections import Counter
from collections.abc import Iterator
from typing import get_args, get_origin
from urllib.parse import parse_qsl

from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request

from app.core.errors import AppError, FieldError, invalid
from app.core.withholding import holds_secret
from app.web.validation import MESSAGES, shown_name

MAX_QUERY_PARAMETERS = 50
# What only reads or removes keeps no address.
KEEPS = frozenset({"POST", "PUT", "PATCH"})


async def strict(request: Request) -> None:
    """Refuse what the route of this request doesn't know: the dependency that every router is included with."""
    await strict_query(request)
    await strict_content_type(request)
    await strict_path(request)


async def strict_path(request: Request) -> None:
    """Refuse a registered secret in the address of a write: a preference's key would be kept, or the name of an agent.

    It is asked again when the tenant is known (`app.web.registered`). Raises `invalid`.
    """
    if request.method in KEEPS:
        for name, value in (*request.path_params.items(), *request.query_params.multi_items()):
            if holds_secret(str(value)):
                raise invalid(shown_name(name) or "query", MESSAGES["registered_secret"])


async def strict_query(request: Request) -> None:
    """Refuse query parameters that the route doesn't know, and those that come twice. Raises `invalid`."""
    if request.scope["query_string"]:
        single, many = _parameters(request.scope["route"])
        check_query(request, single, many)


async def strict_content_type(request: Request) -> None:
    """Refuse a body in another format than the operation's. Raises `unsupported_media_type`."""
    wrong = content_type_error(request)
    if wrong is not None:
        raise wrong


def check_query(request: Request, single: frozenset[str], many: frozenset[str] = frozenset()) -> None:
    """Refuse query parameters beside these; those in `many` may come more than once. Raises `invalid`."""
    try:
        pairs = parse_qsl(
            request.scope["query_string"].decode("latin-1"),
            keep_blank_values=True,
            max_num_fields=MAX_QUERY_PARAMETERS,
            errors="strict",
        )
    except ValueError:
        raise invalid("query", f"must be UTF-8 and hold at most {MAX_QUERY_PARAMETERS} parameters") from None
    counted = Counter(name for name, _ in pairs)
    errors = {name: "must come once" for name, count in counted.items() if name in single and count > 1} | {
        name: "holds a NUL character" for name, value in pairs if "\x00" in value and name in single | many
    }
    errors |= {shown_name(name) or "query": "isn't known here" for name in counted.keys() - single - many}
    if errors:
        raise AppError("invalid", errors=tuple(FieldError(name, message) for name, message in errors.items()))


def content_type_error(request: Request) -> AppError | None:
    """Return the error for a body in another format than the operation's, None where it is right or empty."""
    expected = body_media_type(request.scope.get("route"))
    if expected is None or not _has_body(request):
        return None
    return media_type_error(request, expected)


def media_type_error(request: Request, expected: str) -> AppError | None:
    """Return the error for a body that isn't `expected` in UTF-8."""
    given = request.headers.getlist("content-type")
    if len(given) == 1:
        media_type, *parameters = (part.strip().lower() for part in given[0].split(";"))
        charsets = [part.removeprefix("charset=").strip('"') for part in parameters if part.startswith("charset=")]
        if media_type == expected and all(charset in {"utf-8", "utf8", "us-ascii"} for charset in charsets):
            return None
    return AppError("unsupported_media_type", f"the body must be {expected}", headers={"Accept-Post": expected})


def body_media_type(route: object) -> str | None:
    """Return the content type that a route takes, None where it takes no body that FastAPI reads."""
    field = getattr(route, "body_field", None)
    return None if field is None else str(getattr(field.field_info, "media_type", "application/json"))


def _has_body(request: Request) -> bool:
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers


def _parameters(route: APIRoute) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the query parameters that a route takes: those that come once, and lists."""
    single: set[str] = set()
    many: set[str] = set()
    for field in _query_fields(route.dependant):
        annotation = field.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            single |= {inner.alias or name for name, inner in annotation.model_fields.items()}
        elif _is_list(annotation):
            many.add(field.alias)
        else:
            single.add(field.alias)
    return frozenset(single), frozenset(many)


def _query_fields(dependant: Dependant) -> Iterator[ModelField]:
    yield from dependant.query_params
    for inner in dependant.dependencies:
        yield from _query_fields(inner)


def _is_list(annotation: object) -> bool:
    return any(
        kind in {list, tuple, set, frozenset}
        for part in (annotation, *get_args(annotation))
        for kind in (get_origin(part), part)
    )
