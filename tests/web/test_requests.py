"""What surrounds a request: its id, its line in the log, the limit to its body, the headers of its answer."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.core.ids import show, uuid7
from app.web.middleware import STRANGERS_BYTES
from tests.web.application import LIMIT_BYTES, UPLOAD_LIMIT_BYTES, Site

JSON = {"Content-Type": "application/json"}
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def _line(site: Site, event: str = "request") -> dict[str, Any]:
    lines = [json.loads(line) for line in site.written.getvalue().splitlines()]
    found: dict[str, Any] = next(line for line in lines if line["event"] == event)
    return found


@pytest.mark.parametrize("request_id", ["r-1", "0af7651916cd43dd8448eb211c80319c", "A.b_c-9", "x" * 64])
async def test_a_sane_request_id_is_taken_over(site: Site, request_id: str) -> None:
    answer = await site.client.get("/healthz", headers={"X-Request-ID": request_id})
    assert answer.headers["X-Request-ID"] == request_id
    assert _line(site)["request_id"] == request_id


@pytest.mark.parametrize("request_id", ["", "a b", "x" * 65, "a@b.example", "a\tb", "é"])
async def test_any_other_is_replaced(site: Site, request_id: str) -> None:
    answer = await site.client.get("/healthz", headers=[(b"X-Request-ID", request_id.encode())])
    assert re.fullmatch("req_[0-9a-f]{32}", answer.headers["X-Request-ID"])


async def test_requests_without_an_id_get_different_ones(site: Site) -> None:
    ids = {(await site.client.get("/healthz")).headers["X-Request-ID"] for _ in range(5)}
    assert len(ids) == 5


async def test_a_line_tells_where_it_went_how_it_ended_and_for_whom(site: Site) -> None:
    usr = (await site.client.get("/v1/things/scope")).json()["usr"]
    site.written.seek(0)
    site.written.truncate()
    thing = show("msg", uuid7())
    await site.client.get(f"/v1/things/{thing}", headers={"X-Request-ID": "r-1", "traceparent": TRACEPARENT})
    line = _line(site)
    assert list(line)[:3] == ["time", "level", "event"]
    assert line.pop("time").endswith("Z")
    assert line.pop("duration_ms") > 0
    assert line.pop("store_ms") == 0
    assert line == {
        "level": "info",
        "event": "request",
        "request_id": "r-1",
        "traceparent": TRACEPARENT,
        "method": "GET",
        "route": "/v1/things/{thing_id}",
        "status": 404,
        "code": "not_found",
        "tenant": "acme",
        "usr": usr,
        "agent": None,
    }
    assert thing not in site.written.getvalue().decode()


async def test_the_time_with_the_stores_is_told_apart(site: Site) -> None:
    await site.client.get("/v1/things/slow")
    line = _line(site)
    assert 15 <= line["store_ms"] <= line["duration_ms"]


async def test_a_request_has_one_line(site: Site) -> None:
    for path in ("/healthz", "/nowhere", "/v1/things/fails?told=x"):
        site.written.seek(0)
        site.written.truncate()
        await site.client.get(path)
        assert site.written.getvalue().count(b'"event":"request"') == 1


async def test_a_request_to_nowhere_has_no_route(site: Site) -> None:
    await site.client.get("/nowhere/at/all")
    line = _line(site)
    assert (line["route"], line["status"], line["code"]) == (None, 404, "not_found")
    assert "nowhere" not in site.written.getvalue().decode()


async def test_answers_keep_browsers_and_caches_off(site: Site) -> None:
    for path in ("/healthz", "/v1/things", "/nowhere", "/v1/things/fails?told=x"):
        headers = (await site.client.get(path)).headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "server" not in headers


def _body(size_bytes: int) -> bytes:
    start = b'{"text": "'
    return start + b"x" * (size_bytes - len(start) - 2) + b'"}'


async def _in_chunks(body: bytes, size_bytes: int = 100) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size_bytes):
        yield body[start : start + size_bytes]


@pytest.mark.parametrize(("size_bytes", "status"), [(LIMIT_BYTES, 422), (LIMIT_BYTES + 1, 413)])
async def test_a_body_has_a_limit(site: Site, size_bytes: int, status: int) -> None:
    whole = await site.client.post("/v1/things", content=_body(size_bytes), headers=JSON)
    chunked = await site.client.post("/v1/things", content=_in_chunks(_body(size_bytes)), headers=JSON)
    assert "Content-Length" not in chunked.request.headers
    assert (whole.status_code, chunked.status_code) == (status, status)


async def test_who_sends_too_much_is_told_the_limit_and_sent_away(site: Site) -> None:
    for content in (_body(LIMIT_BYTES * 2), _in_chunks(_body(LIMIT_BYTES * 2))):
        answer = await site.client.post("/v1/things", content=content, headers=JSON)
        assert answer.json()["code"] == "too_large"
        assert str(LIMIT_BYTES) in answer.json()["detail"]
        assert answer.headers["Connection"] == "close"


async def test_a_body_in_chunks_is_left_where_the_limit_is_passed(site: Site) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 100
            yield b"x" * 100

    answer = await site.client.post("/v1/things", content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert sent <= LIMIT_BYTES + 100


async def test_a_length_that_is_a_lie_does_not_help(site: Site) -> None:
    headers = JSON | {"Content-Length": "10"}
    answer = await site.client.post("/v1/things", content=_in_chunks(_body(LIMIT_BYTES * 2)), headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize(("size_bytes", "status"), [(UPLOAD_LIMIT_BYTES, 202), (UPLOAD_LIMIT_BYTES + 1, 413)])
async def test_an_upload_has_a_limit_of_its_own(site: Site, size_bytes: int, status: int) -> None:
    whole = await site.client.post("/v1/things/upload", content=b"x" * size_bytes)
    chunked = await site.client.post("/v1/things/upload", content=_in_chunks(b"x" * size_bytes, 10_000))
    assert (whole.status_code, chunked.status_code) == (status, status)
    assert status != 202 or whole.json() == chunked.json() == {"bytes": size_bytes}


@pytest.mark.parametrize("authorization", [None, "Bearer a.b.c"])
async def test_a_stranger_is_not_listened_to_for_long(site: Site, authorization: str | None) -> None:
    """A body is read before a route asks who sends it; a large one isn't, without a good token."""
    sent = 0

    async def long() -> AsyncIterator[bytes]:
        nonlocal sent
        async for chunk in _in_chunks(_body(UPLOAD_LIMIT_BYTES), 1_000):
            sent += len(chunk)
            yield chunk

    known = await site.client.post("/v1/things/large", content=long(), headers=JSON)
    assert (known.status_code, sent) == (200, UPLOAD_LIMIT_BYTES)
    sent = 0
    del site.client.headers["Authorization"]
    headers = JSON | ({"Authorization": authorization} if authorization else {})
    answer = await site.client.post("/v1/things/large", content=long(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert sent <= STRANGERS_BYTES + 1_000
