"""Bodies: text that no store can keep, shapes without bounds, times without a zone."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from app.web.wire import MAX_BODY_DEPTH, MAX_JSON_BYTES, MAX_JSON_DEPTH, show_moment
from tests.web.application import LIMIT_BYTES, Site, Thing

JSON = {"Content-Type": "application/json"}


async def _refusal(site: Site, body: str | bytes | dict[str, Any]) -> list[tuple[str, str]]:
    """Send a body; return what its refusal names. A 2xx is an empty list."""
    content = json.dumps(body) if isinstance(body, dict) else body
    answer = await site.client.post("/v1/things", content=content, headers=JSON)
    if answer.is_success:
        return []
    assert answer.status_code == 422
    return [(error["field"], error["message"]) for error in answer.json()["errors"]]


def _nested(depth: int) -> dict[str, Any]:
    return {"a": _nested(depth - 1)} if depth > 1 else {}


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"text": "a\x00b"}, "text", "holds a NUL character"),
        ({"text": "a\ud800b"}, "text", "holds a lone surrogate"),
        ({"text": "\udfff"}, "text", "holds a lone surrogate"),
        ({"text": "x", "parts": [{"name": "y"}, {"name": "\x00"}]}, "parts[1].name", "holds a NUL character"),
        ({"text": "x", "data": {"a": [{"b": "\x00"}]}}, "data.a[0].b", "holds a NUL character"),
        ({"text": "x", "data": {"a\x00": 1}}, "data", "holds a NUL character"),
        ({"text": "x", "data": {"a b": "\x00"}}, "body", "holds a NUL character"),
        ({"text": "x", "value": ["\ud800"]}, "value[0]", "holds a lone surrogate"),
        ({"text": "x", "\x00": 1}, "body", "holds a NUL character"),
        ({"text": "x", "value": _nested(MAX_BODY_DEPTH + 1)}, "value" + ".a" * MAX_BODY_DEPTH, "is nested too deeply"),
        ({"text": "x", "value": _nested(200)}, "value" + ".a" * MAX_BODY_DEPTH, "is nested too deeply"),
        ({"text": "x", "count": 10**4_000}, "count", "must be at most 9"),
        ({"text": "x", "data": _nested(MAX_JSON_DEPTH + 1)}, "data", "must not be nested deeper than 8"),
        ({"text": "x", "value": [[[[[[[[[1]]]]]]]]]}, "value", "must not be nested deeper than 8"),
        ({"text": "x", "parts": [{}]}, "parts[0].name", "is required"),
        ({"text": "x", "parts": {"name": "y"}}, "parts", "must be a list"),
        ({"text": "x", "parts": ["y"]}, "parts[0]", "must be an object"),
        ({"text": "x", "parts": [{"name": "y", "extra": 1}]}, "parts[0].extra", "isn't known here"),
        ({"text": "x", "txet": "y"}, "txet", "isn't known here"),
        ({"text": "x", "count": 10}, "count", "must be at most 9"),
        ({"text": "x", "count": 1.5}, "count", "must be an integer"),
        ({"text": "x", "count": None}, "count", "must be an integer"),
        ({"text": "x", "kind": "other"}, "kind", "must be one of 'plain' or 'fancy'"),
        ({"text": ""}, "text", "must have at least 1 characters"),
        ({"text": "x" * 101}, "text", "must have at most 100 characters"),
        ({"text": None}, "text", "must be a string"),
        ({"text": "x", "data": []}, "data", "must be an object"),
        ({}, "text", "is required"),
    ],
)
async def test_a_field_that_is_not_valid_is_named(site: Site, body: dict[str, Any], field: str, message: str) -> None:
    assert await _refusal(site, body) == [(field, message)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"text": "x"',
        b'{"text": "x"}{}',
        b"\xff\xfe{}",
        b'{"text": "\xff"}',
        b'{"text": "a\nb"}',
        b'{"text": "\\ud8"}',
        b"[" * (LIMIT_BYTES - 1),
        b'{"a":' * (LIMIT_BYTES // 6),
        b"null",
        b"true",
        b'"text"',
        b"[]",
    ],
)
async def test_what_is_no_json_object_is_the_bodys_fault(site: Site, body: bytes) -> None:
    refusal = await _refusal(site, body)
    assert [field for field, _ in refusal] == ["body"]


async def test_a_surrogate_in_raw_bytes_is_seen_too(site: Site) -> None:
    assert await _refusal(site, b'{"text": "\xed\xa0\x80"}') == [("text", "holds a lone surrogate")]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", str(2**63), str(-(2**63) - 1)])
async def test_numbers_that_json_or_64_bits_do_not_know_are_refused(site: Site, value: str) -> None:
    message = "must hold only finite numbers, and integers of at most 64 bits"
    assert await _refusal(site, f'{{"text": "x", "value": {value}}}') == [("value", message)]
    assert await _refusal(site, f'{{"text": "x", "data": {{"a": [{value}]}}}}') == [("data", message)]


async def test_json_within_its_bounds_is_taken(site: Site) -> None:
    body = {"text": "é🐘中文", "value": [1, 2.5, None, True, "x", {"a": -(2**63)}], "data": _nested(MAX_JSON_DEPTH)}
    assert await _refusal(site, body) == []


def test_json_beyond_its_size_is_refused() -> None:
    """A whole body is bounded before; the size of one field is seen on the model."""
    with pytest.raises(ValidationError) as caught:
        Thing.model_validate({"text": "x", "data": {"a": "é" * (MAX_JSON_BYTES // 2)}})
    [error] = caught.value.errors()
    assert error["msg"] == f"must not be larger than {MAX_JSON_BYTES} bytes"


async def test_errors_beyond_twenty_are_not_told(site: Site) -> None:
    assert len(await _refusal(site, {"text": "x", "parts": [{} for _ in range(50)]})) == 20


@pytest.mark.parametrize(
    "moment",
    ["2026-01-02T03:04:05Z", "2026-01-02t03:04:05.123456789z", "2026-01-02 03:04:05+08:00", "0001-01-01T00:00:01Z"],
)
async def test_a_time_with_its_zone_is_taken(site: Site, moment: str) -> None:
    assert await _refusal(site, {"text": "x", "at": moment}) == []


@pytest.mark.parametrize(
    "moment",
    [
        "2026-01-02T03:04:05",
        "2026-01-02",
        "2026-02-30T00:00:00Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:04Z",
        "1767322445",
        1767322445,
        True,
        "",
        "now",
        "0001-01-01T00:00:00Z",
        "0001-01-01T08:00:00+08:00",
        "9999-12-31T23:59:59.999999Z",
        "0001-01-01T00:00:00+08:00",
        "9999-12-31T23:59:59-08:00",
        "２026-01-02T03:04:05Z",
    ],
)
async def test_what_is_no_time_with_a_zone_is_refused(site: Site, moment: object) -> None:
    assert [field for field, _ in await _refusal(site, {"text": "x", "at": moment})] == ["at"]


def test_times_are_shown_in_utc() -> None:
    east = timezone(timedelta(hours=8))
    assert show_moment(datetime(2026, 1, 2, 3, 4, 5, tzinfo=east)) == "2026-01-01T19:04:05Z"
    assert show_moment(datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=UTC)) == "2026-01-02T03:04:05.000060Z"
