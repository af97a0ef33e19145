"""Routes that are asked most are served directly: declared like any other, and called past the framework's machinery.

What FastAPI does for a request costs more than what these routes do. So a route that is marked `direct` is compiled
once: which dependencies are called, in which order, and what each is given. A request that is plainly right is served
by that. Whatever else comes (a large body, one that isn't valid, a parameter that isn't) goes to the framework as if it
had not been looked at, so that what is wrong with a request is told in one place only.
"""

import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar

from fastapi import FastAPI
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_params_to_args
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.convertors import StringConvertor
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.middleware import MAX_ADDRESS_BYTES, STRANGERS_BYTES

F = TypeVar("F", bound=Callable[..., Awaitable[Response]])

_JSON: Final = frozenset(
    {
        b"application/json",
        b"application/json;charset=utf-8",
        b"application/json; charset=utf-8",
        b"application/json; charset=UTF-8",
    }
)
_MARK: Final = "is_direct"

Values = dict[str, Any]  # Any: what dependencies give, each of a type of its own
Params = Mapping[str, str]


def direct(function: F) -> F:
    """Mark a route's function to be served directly. It returns a Response that isn't streamed."""
    setattr(function, _MARK, True)
    return function


class _NotPlainError(Exception):
    """The request isn't plainly right: the framework is to look at it."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A dependency, or the route's function: what it is called with, and the name under which its result is taken."""

    function: Callable[..., Awaitable[Any]]
    name: str | None
    inner: Sequence["_Call"]
    request: str | None
    path: Sequence[ModelField]
    query: Sequence[ModelField]
    # What the query's parameters are where there is no query; None where one is required.
    defaults: Values | None

    async def values(self, request: Request, params: Params) -> Values:
        """Return what it is to be called with, its dependencies having been called."""
        values: Values = {}
        for each in self.inner:
            found = await each.function(**await each.values(request, params))
            if each.name is not None:
                values[each.name] = found
        if self.path:
            values |= _fitting(*request_params_to_args(self.path, params))
        if self.query:
            if request.scope["query_string"]:
                values |= _fitting(*request_params_to_args(self.query, request.query_params))
            elif self.defaults is None:
                raise _NotPlainError
            else:
                values |= self.defaults
        if self.request is not None:
            values[self.request] = request
        return values


@dataclass(frozen=True, slots=True)
class _Direct:
    """A route, compiled."""

    route: APIRoute
    pattern: re.Pattern[str]
    # Routes that were declared before and match some of the same paths: those are theirs.
    before: Sequence[re.Pattern[str]]
    call: _Call
    body: ModelField | None

    async def respond(self, request: Request, params: Params, read: object) -> Response:
        """Return the route's answer. Raises _NotPlainError before anything has happened."""
        values = await self.call.values(request, params)
        if self.body is not None:
            value, errors = self.body.validate(read, {}, loc=("body",))
            if errors:
                raise _NotPlainError
            values[self.body.name] = value
        response: Response = await self.call.function(**values)
        return response


class Dispatcher:
    """A middleware that serves the routes of an application that are marked; all else is the framework's."""

    def __init__(self, app: ASGIApp, of: FastAPI, limit_bytes: int) -> None:
        """Wrap what else serves. The routes are compiled at the first request.

        Bodies over the limit, and larger ones of strangers, are the framework's to read, or to refuse.
        """
        self._app = app
        self._of = of
        self._limit_bytes = min(limit_bytes, STRANGERS_BYTES)
        self._by_method: dict[str, list[_Direct]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        found = self._find(scope) if scope["type"] == "http" else None
        if found is None or not _is_plain(scope, self._limit_bytes if found[0].body else 0):
            await self._app(scope, receive, send)
            return
        route, params = found
        read: object = None
        if route.body is not None:
            messages = await _received(receive)
            receive, read = _again(messages, receive), _read(messages)
            if read is None:
                await self._app(scope, receive, send)
                return
        scope["route"], scope["path_params"] = route.route, params
        request = Request(scope, receive)
        try:
            response = await route.respond(request, params, read)
        except _NotPlainError:
            await self._app(scope, receive, send)
            return
        except tuple(self._of.exception_handlers) as error:
            response = await self._told(request, error)
        await response(scope, receive, send)

    async def _told(self, request: Request, error: Exception) -> Response:
        """Return what the application answers to an error."""
        kind = next(each for each in type(error).__mro__ if each in self._of.exception_handlers)
        handler: Any = self._of.exception_handlers[kind]  # Any: typed for websockets too
        response: Response = await handler(request, error)
        return response

    def _find(self, scope: Scope) -> tuple[_Direct, Params] | None:
        path = scope["path"]
        if self._by_method is None:
            self._by_method = compiled(self._of)
        for each in self._by_method.get(scope["method"], ()):
            match = each.pattern.match(path)
            if match is not None:
                return None if any(earlier.match(path) for earlier in each.before) else (each, match.groupdict())
        return None


def _is_plain(scope: Scope, limit_bytes: int) -> bool:
    """Say whether the head of a request is as nearly all are: a JSON body of a told length up to the limit; or none,
    where that is 0.
    """
    if scope.get("root_path") or len(scope["raw_path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
        return False
    length, is_json = 0, False
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit() or length:
                return False
            length = int(value)
        elif name == b"content-type":
            if is_json or value not in _JSON:
                return False
            is_json = True
        elif name in {b"transfer-encoding", b"expect"}:
            return False
    return is_json and 0 < length <= limit_bytes if limit_bytes else length == 0


async def _received(receive: Receive) -> list[Message]:
    """Return the messages that a body comes in, or what of them came until the client was gone."""
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())
    return messages


def _read(messages: Sequence[Message]) -> object:
    """Return what the JSON of a body says; None where it didn't come as a whole, or isn't JSON (null is no body)."""
    if messages[-1]["type"] != "http.request":
        return None
    try:
        return json.loads(b"".join(message.get("body", b"") for message in messages))
    except (ValueError, RecursionError):
        return None


def _again(messages: Sequence[Message], receive: Receive) -> Receive:
    """Return a `receive` that gives the messages that were received already, and then what follows."""
    waiting = deque(messages)

    async def receive_again() -> Message:
        return waiting.popleft() if waiting else await receive()

    return receive_again


def _fitting(values: Values, errors: Sequence[object]) -> Values:
    if errors:
        raise _NotPlainError
    return values


def compiled(app: FastAPI) -> dict[str, list[_Direct]]:
    """Return the marked routes of an application by method. Raises TypeError for one that needs the framework."""
    found: dict[str, list[_Direct]] = {}
    earlier: list[tuple[str, RouteContext]] = []
    for route in iter_route_contexts(app.routes):
        for method in sorted(route.methods or ()):
            if getattr(route.endpoint, _MARK, False):
                before = [each for of, each in earlier if of == method]
                found.setdefault(method, []).append(_direct_of(route, before))
            earlier.append((method, route))
    return found


def _direct_of(route: RouteContext, earlier: Sequence[RouteContext]) -> _Direct:
    original, dependant = route.original_route, route.dependant
    if not isinstance(original, APIRoute) or len(dependant.body_params) > 1:
        raise TypeError(f"{route.path} can't be served directly")
    if any(not isinstance(each, StringConvertor) for each in route.param_convertors.values()):
        raise TypeError(f"{route.path} has a converted parameter, and can't be served directly")
    call = _call_of(dependant)
    functions = [each.function for each in _all(call)]
    if len(set(functions)) != len(functions):
        raise TypeError(f"{route.path} needs something twice, and can't be served directly")
    pattern = route.path_regex
    before = [
        each.path_regex
        for each in earlier
        if pattern.match(each.path_format or "") or each.path_regex.match(route.path_format)
    ]
    return _Direct(original, pattern, before, call, route.body_field)


def _call_of(dependant: Dependant) -> _Call:
    call = dependant.call
    is_async = iscoroutinefunction(call) or iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004 - asks what it is
    needs_more = (
        dependant.header_params,
        dependant.cookie_params,
        dependant.websocket_param_name,
        dependant.http_connection_param_name,
        dependant.response_param_name,
        dependant.background_tasks_param_name,
        dependant.security_scopes_param_name,
    )
    if call is None or not is_async or any(needs_more):
        raise TypeError(f"{call} needs the framework")
    query = dependant.query_params
    defaults, missing = request_params_to_args(query, QueryParams(""))
    return _Call(
        function=call,
        name=dependant.name,
        inner=[_call_of(inner) for inner in dependant.dependencies],
        request=dependant.request_param_name,
        path=dependant.path_params,
        query=query,
        defaults=None if missing else defaults,
    )


def _all(call: _Call) -> Iterator[_Call]:
    yield call
    for inner in call.inner:
        yield from _all(inner)
