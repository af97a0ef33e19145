"""Routes that are served directly answer what the framework would have answered, whatever comes."""

import io
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import UUID

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Response
from starlette.types import Receive, Scope, Send

from app.web.auth import allow
from app.web.direct import compiled, direct
from tests.web.application import LIMIT_BYTES, make_app
from tests.web.conftest import ALL_SCOPES
from tests.web.issuer import claims, signed

USR = UUID("0198c0de-0000-7000-8000-000000000001")
THING = {"text": "a thing"}
ID = "ses_" + "0" * 32
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    scopes: str = ALL_SCOPES


def _made(body: object, path: str = "/v1/things", **headers: str) -> Asked:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Asked("POST", path, json.dumps(body).encode(), JSON | named)


def _raw(content: bytes, media_type: str = "application/json", **headers: str) -> Asked:
    return Asked("POST", "/v1/things", content, {"Content-Type": media_type} | headers)


ASKED = {
    "right": _made(THING),
    "with a key": _made(THING, Idempotency_Key="one"),
    "with a bad key": _made(THING, Idempotency_Key="not a key"),
    "a charset": _raw(b'{"text": "x"}', "application/json; charset=utf-8"),
    "another charset": _raw(b'{"text": "x"}', "application/json; charset=latin-1"),
    "another format": _raw(b"text=x", "text/plain"),
    "JSON of a kind": _raw(b'{"text": "x"}', "application/problem+json"),
    "no format": Asked("POST", "/v1/things", b'{"text": "x"}'),
    "no body": Asked("POST", "/v1/things", b"", JSON),
    "null": _raw(b"null"),
    "no JSON": _raw(b'{"text": '),
    "not UTF-8": _raw(b'{"text": "\xff"}'),
    "UTF-16": _raw('{"text": "x"}'.encode("utf-16")),
    "a lone surrogate": _raw(b'{"text": "\\ud800"}'),
    "too deep": _raw(b'{"value": ' + b"[" * 3_000 + b"]" * 3_000 + b"}"),
    "a number without end": _raw(b'{"text": "x", "value": NaN}'),
    "a large number": _raw(b'{"text": "x", "value": 1' + b"0" * 30 + b"}"),
    "an unknown field": _made(THING | {"unknown": 1}),
    "a wrong field": _made({"text": "x" * 101, "count": 10}),
    "several wrong fields": _made({"parts": [{"name": 1}, {}], "kind": "other"}),
    "a list": _made([THING]),
    "a secret": _made({"text": "my card is 4111 1111 1111 1111"}),
    "too large": _made({"text": "x" * LIMIT_BYTES}),
    "an unknown parameter": _made(THING, path="/v1/things?unknown=1"),
    "without a scope": Asked("POST", "/v1/things", json.dumps(THING).encode(), JSON, scopes="audit"),
    "wrong, without a scope": Asked("POST", "/v1/things", b"{}", JSON, scopes="audit"),
    "unexpected": _made(THING, path="/v1/things/fails"),
    "refused": _made(THING | {"count": 2}, path="/v1/things/fails"),
    "another method": Asked("PUT", "/v1/things/page"),
    "a page": Asked("GET", "/v1/things/page"),
    "a page of ten": Asked("GET", "/v1/things/page?limit=10&before=2026-01-01T00:00:00Z"),
    "no page": Asked("GET", "/v1/things/page?limit=0&before=now"),
    "a page twice": Asked("GET", "/v1/things/page?limit=1&limit=2"),
    "a cursor of nobody's": Asked("GET", "/v1/things/page?cursor=AAAA"),
    "one": Asked("GET", f"/v1/things/{ID}", headers={"X-Request-ID": "mine", "If-None-Match": '"2"'}),
    "one that is known": Asked("GET", f"/v1/things/{ID}", headers={"If-None-Match": '"3"'}),
    "one by another name": Asked("GET", "/v1/things/ses_%30" + "0" * 31),
    "none": Asked("GET", "/v1/things/nothing"),
    "a longer path": Asked("GET", f"/v1/things/{ID}/more"),
    "declared before it": Asked("GET", "/v1/things/scope"),
    "a reading with a body": Asked("GET", f"/v1/things/{ID}", b"{}", JSON),
    "replaced": Asked("PUT", f"/v1/things/{ID}", json.dumps(THING).encode(), JSON | {"If-Match": '"3"'}),
    "replaced, stale": Asked("PUT", f"/v1/things/{ID}", json.dumps(THING).encode(), JSON | {"If-Match": '"2"'}),
    "replaced without a version": Asked("PUT", f"/v1/things/{ID}", json.dumps(THING).encode(), JSON),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
async def test_an_answer_is_the_frameworks(written: io.BytesIO, asked: Asked) -> None:
    told = [await _told(written, asked, past_the_framework=each) for each in (True, False)]
    assert told[0] == told[1]


async def test_a_body_in_pieces_is_read_on_by_the_framework(written: io.BytesIO) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b'{"text":', b' "x"}'):
            yield piece

    for told in (True, False):
        answer = await _client(make_app(past_the_framework=told)).post("/v1/things", content=pieces(), headers=JSON)
        assert (answer.status_code, answer.json()["text"]) == (201, "x")
    assert written.getvalue()


def test_a_right_request_is_served_past_the_framework() -> None:
    found = {method: [each.route.path for each in routes] for method, routes in compiled(make_app()).items()}
    assert found == {
        "GET": ["/v1/things/page", "/v1/things/{thing_id}"],
        "POST": ["/v1/things/fails", "/v1/things"],
        "PUT": ["/v1/things/{thing_id}"],
    }


async def test_the_framework_has_no_hand_in_it(written: io.BytesIO) -> None:
    app = make_app()
    app.router.middleware_stack = _unused
    client = _client(app)
    assert (await client.get(f"/v1/things/{ID}")).status_code == 200
    assert (await client.post("/v1/things", json=THING)).status_code == 201
    assert (await client.get("/v1/things/scope")).status_code == 500
    assert written.getvalue()


def test_what_needs_the_framework_is_refused() -> None:
    router = APIRouter(tags=["things"])

    @router.get("/headed")
    @direct
    async def headed(
        caller: Annotated[object, Depends(allow("audit:read"))], named: Annotated[str, Header()]
    ) -> Response:
        del caller, named
        return Response()

    app = FastAPI()
    app.include_router(router)
    with pytest.raises(TypeError, match="headed"):
        compiled(app)


async def _unused(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the framework was asked", scope, receive, send)


def _client(app: FastAPI, scopes: str = ALL_SCOPES) -> httpx.AsyncClient:
    app.state.directory.known = _Everybody()
    token = signed(claims(scope=scopes, tenant="acme"))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=transport, base_url="http://cairn.test", headers=headers)


class _Everybody(dict[object, UUID]):
    """Knows everybody as the same user."""

    def setdefault(self, _subject: object, _made: object = None) -> UUID:
        return USR


async def _told(written: io.BytesIO, asked: Asked, *, past_the_framework: bool) -> Any:  # noqa: ANN401 - compared as a whole
    """Return everything that is told of a request: the answer, the line in the log, the audit."""
    written.seek(0)
    written.truncate()
    app = make_app(past_the_framework=past_the_framework)
    async with _client(app, asked.scopes) as client:
        answer = await client.request(asked.method, asked.path, content=asked.content, headers=dict(asked.headers))
    passing = {"x-request-id", "retry-after", "content-length"}
    headers = sorted((name, value) for name, value in answer.headers.multi_items() if name not in passing)
    body = answer.json() if answer.content else None
    if isinstance(body, dict):
        body.pop("request_id", None)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    line = {name: value for each in lines if each["event"] == "request" for name, value in each.items()}
    for name in ("time", "duration_ms", "store_ms"):
        del line[name]
    if "X-Request-ID" not in asked.headers:
        del line["request_id"]
    trail = [(scope.usr, scope.agent, entry) for scope, entry in app.state.access_log.entries]
    return answer.status_code, headers, body, line, trail, [each["event"] for each in lines]
