"""From exceptions to answers: each error told in one form, refusals audited, and never a word of the caller's."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.core import ids
from app.core.audit import AccessLog, AuditEntry
from app.core.errors import AppError, FieldError
from app.core.idempotency import Replayed
from app.core.scope import NOBODY, Actor, Operator, Scope
from app.web.auth import address_class
from app.web.current import current, request_id
from app.web.entrance import refused_entrance
from app.web.idempotency import respond
from app.web.problems import problem_response
from app.web.strict import content_type_error
from app.web.tokens import Claims
from app.web.validation import field_errors

# Who may not, what isn't theirs or isn't there, who is no more, who tries too often. A stale version (412) or a field
# that is wrong (422) is no attempt at what isn't the caller's.
_AUDITED_STATUSES = frozenset({403, 404, 410, 429})
# What is said of the request itself. Only who is let in is told it.
_OF_THE_REQUEST = frozenset({415, 422})
_NO_MORE = frozenset({"erased", "erasing"})
_CODES = {
    400: "invalid",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    503: "overloaded",
}
_NOT_JSON = FieldError("body", "isn't valid JSON in UTF-8")


class BodyRefused(HTTPException):
    """A body that isn't read on. An HTTPException: FastAPI takes any other error while it reads for a bad body."""

    def __init__(self, error: AppError) -> None:
        """Take what is answered."""
        super().__init__(error.problem.status)
        self.error = error


def too_large(limit_bytes: int, what: str = "a body") -> AppError:
    """Return the error for what is over its limit. The rest of the body isn't read: the connection ends."""
    return AppError("too_large", f"{what} may have {limit_bytes} bytes here", headers={"Connection": "close"})


def install(app: FastAPI) -> None:
    """Have every error of the application answered in the form of app.web.problems."""
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(Replayed, _replayed)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)


async def _app_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, AppError):
        raise TypeError("installed for AppError")
    return await _told(request, error)


async def _replayed(_request: Request, replayed: Exception) -> Response:
    if not isinstance(replayed, Replayed):
        raise TypeError("installed for Replayed")
    return respond(replayed.answer, replayed=True)


async def _validation_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise TypeError("installed for RequestValidationError")
    told = content_type_error(request) or AppError("invalid", errors=field_errors(error.errors()))
    return await _told(request, told)


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer what the framework raises. Its words are dropped: they may hold the caller's."""
    if isinstance(error, BodyRefused):
        return await _told(request, error.error)
    if not isinstance(error, HTTPException):
        raise TypeError("installed for HTTPException")
    if error.status_code == 400:  # noqa: PLR2004 - FastAPI's answer to a body that it can't read
        told = content_type_error(request) or AppError("invalid", errors=(_NOT_JSON,))
        return await _told(request, told)
    allow = {name: value for name, value in (error.headers or {}).items() if name == "Allow"}
    return await _told(request, AppError(_CODES.get(error.status_code, "internal"), headers=allow))


async def _told(request: Request, error: AppError) -> Response:
    here = current()
    if error.problem.status in _OF_THE_REQUEST and "scope" not in here.state:
        error = await refused_entrance(request) or error
    here.code = error.code
    scope: Scope | None = here.state.get("scope")
    if scope is not None and error.code in _NO_MORE:
        request.app.state.directory.forget(scope.usr)
    if error.problem.status in _AUDITED_STATUSES:
        whose = _operator(request) or scope or await _turned_away(request)
        if whose is not None:
            log: AccessLog = request.app.state.access_log
            log.put(whose, _refusal(request, error.code))
    return problem_response(error)


def _operator(request: Request) -> Scope | None:
    """Return who was refused by an operator's route, and upon whom they acted, be it a user of their tenant or not."""
    operator: Operator | None = current().state.get("operator")
    if operator is None:
        return None
    try:
        return operator.upon(ids.parse("usr", str(request.path_params.get("user_id"))))
    except AppError:
        return operator.upon(NOBODY)


async def _turned_away(request: Request) -> Scope | None:
    """Return who came with a good token and wasn't let in, None without one. Of a tenant's own: a user whom nobody
    knows yet isn't made by being refused, and a client's own token stands for no user.
    """
    claims: Claims | None = current().state.get("bearer")
    if claims is None:
        return None
    usr = None
    if claims.names_user:
        # With the key store away the refusal is answered, and told of nobody in particular.
        with suppress(AppError):
            usr = await request.app.state.directory.reference(claims.subject)
    return Scope(
        tenant=claims.subject.tenant,
        usr=usr or NOBODY,
        agent=claims.agent,
        actor=Actor.USER if claims.names_user else Actor.OPERATOR,
        request_id=request_id(),
        address=address_class(request),
    )


def _refusal(request: Request, code: str) -> AuditEntry:
    route: Any = request.scope.get("route")  # Any: a FastAPI route, or another kind without tags
    tags = getattr(route, "tags", None) or ["route"]
    return AuditEntry(
        action=f"{request.method} {current().template}",
        kind=str(tags[0]),
        item=_last_id(request.path_params),
        outcome=code,
    )


def _last_id(path_params: dict[str, Any]) -> UUID | None:
    """Return the last id in the path if it is one, so that it may well be someone else's; anything else isn't kept."""
    for value in reversed(path_params.values()):
        prefix, _, _ = str(value).partition("_")
        try:
            return ids.parse(prefix, str(value)) if prefix in ids.PREFIXES else None
        except AppError:
            return None
    return None
