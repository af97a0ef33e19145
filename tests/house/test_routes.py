"""Every route needs a scope, and every change of a resource a precondition."""

from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.web.direct import compiled
from tests.house.routes import lacks_a_precondition, lacks_a_scope

# The hot path (docs/adr/0024): what is served past the framework. One that loses its mark is slow, and nothing else.
DIRECT = {
    "GET /v1/preferences",
    "GET /v1/preferences/{key}",
    "POST /v1/context",
    "POST /v1/sessions/{session_id}/messages",
    "PUT /v1/preferences/{key}",
}


def test_the_hot_routes_are_served_directly(app: FastAPI) -> None:
    found = compiled(app)
    assert {f"{method} {each.route.path}" for method, routes in found.items() for each in routes} == DIRECT


def test_every_route_needs_a_scope_or_is_public(app: FastAPI) -> None:
    assert list(lacks_a_scope(app)) == []


def test_every_change_takes_a_precondition_and_says_what_it_answers(app: FastAPI) -> None:
    assert list(lacks_a_precondition(app.openapi())) == []


def test_a_route_without_a_scope_is_found() -> None:
    router = APIRouter(prefix="/v1")
    router.add_api_route("/open", _nothing)
    router.add_api_route("/closed", _nothing, dependencies=[Depends(_Allow())])
    app = _application(router)
    assert [finding.split()[:2] for finding in lacks_a_scope(app)] == [["GET", "/v1/open"]]


def test_a_raw_endpoint_without_a_scope_is_found() -> None:
    app = _application()
    app.router.routes += [Route("/v1/open", _Raw(), methods=["GET"]), Route("/v1/closed", _AllowedRaw())]
    assert [finding.split()[:2] for finding in lacks_a_scope(app)] == [["GET", "/v1/open"]]


def test_a_change_without_a_precondition_is_found() -> None:
    router = APIRouter(prefix="/v1")
    router.add_api_route("/thing", _nothing, methods=["PUT"])
    router.add_api_route("/thing", _nothing, methods=["GET"])
    findings = list(lacks_a_precondition(_application(router).openapi()))
    assert findings == ["PUT /v1/thing changes a resource and takes no precondition"]


def test_a_precondition_that_does_not_declare_its_answers_is_found() -> None:
    router = APIRouter(prefix="/v1")
    router.add_api_route("/thing", _conditional, methods=["PUT"], responses={412: {}})
    router.add_api_route("/other", _conditional, methods=["POST"], responses={412: {}, 428: {}})
    findings = list(lacks_a_precondition(_application(router).openapi()))
    assert findings == ["PUT /v1/thing takes a precondition and doesn't declare 412 and 428"]


def _application(*routers: APIRouter) -> FastAPI:
    app = FastAPI(openapi_url=None)
    for router in routers:
        app.include_router(router)
    return app


class _Allow:
    permission = "things:read"

    async def __call__(self) -> None: ...


class _Raw:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class _AllowedRaw(_Raw):
    permission = "things:read"


async def _nothing() -> None: ...


async def _conditional(if_match: Annotated[str, Header()]) -> None: ...
