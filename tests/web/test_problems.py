"""Errors: one form, one list, and never a word of the caller's in the answer or the log."""

import json
from typing import Any

import httpx
import pytest

from app.core.errors import PROBLEMS
from app.core.ids import show, uuid7
from app.core.scope import NOBODY, Subject
from app.web.problems import problem_list_markdown
from tests.web.application import LIMIT_BYTES, MERGE_PATCH, Site
from tests.web.test_auth import bearer

PHRASE = "the walrus sings at midnight"
ESCAPED = "the%20walrus%20sings%20at%20midnight"
THING = "/v1/things/ses_" + "0" * 32


async def test_an_error_is_a_problem_with_a_stable_code(site: Site) -> None:
    answer = await site.client.get("/v1/things/nothing", headers={"X-Request-ID": "r-1"})
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:cairn:problem:not_found",
        "title": PROBLEMS["not_found"].title,
        "status": 404,
        "detail": PROBLEMS["not_found"].remedy,
        "code": "not_found",
        "request_id": "r-1",
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nowhere", 404, "not_found"),
        ("GET", "/v1/things/", 404, "not_found"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("GET", "/v1/things/refuses/overloaded", 503, "overloaded"),
        ("GET", "/v1/things/refuses/rate_limited", 429, "rate_limited"),
    ],
)
async def test_every_kind_of_error_has_the_form(site: Site, method: str, path: str, status: int, code: str) -> None:
    answer = await site.client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"


async def test_a_method_that_is_not_allowed_names_those_that_are(site: Site) -> None:
    assert (await site.client.post("/healthz")).headers["Allow"] == "GET"


async def test_the_waits_of_those_who_were_turned_away_together_differ(site: Site) -> None:
    waits = {(await site.client.get("/v1/things/refuses/store_unavailable")).headers["Retry-After"] for _ in range(40)}
    assert waits == {"1", "2", "3"}


async def test_what_nobody_expected_is_a_500_that_says_nothing(site: Site) -> None:
    answer = await site.client.get("/v1/things/fails", params={"told": PHRASE})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    line = next(line for line in _lines(site) if line["event"] == "unexpected")
    assert line["error"] == "ValueError"
    assert any(frame.startswith("tests.web.application:") for frame in line["trace"])
    _assert_silent(site, answer.text)


ECHOES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/things", {"json": {"text": 5, "kind": PHRASE}}),
    ("POST", "/v1/things", {"json": {"text": PHRASE * 9}}),
    ("POST", "/v1/things", {"json": {"text": "x", PHRASE: 1}}),
    ("POST", "/v1/things", {"json": {"text": "x", "parts": [{"name": {PHRASE: PHRASE}}]}}),
    ("POST", "/v1/things", {"json": {"text": "x", "data": {PHRASE: PHRASE + "\x00"}}}),
    ("POST", "/v1/things", {"json": {"text": "x", "at": PHRASE}}),
    ("POST", "/v1/things", {"json": {"text": "x", "count": PHRASE}}),
    ("POST", "/v1/things", {"json": {"text": "x", "odd": PHRASE}}),
    ("POST", "/v1/things", {"json": [PHRASE]}),
    ("POST", "/v1/things", {"json": PHRASE}),
    ("POST", "/v1/things", {"content": f'{{"text": "{PHRASE}', "headers": {"Content-Type": "application/json"}}),
    ("POST", "/v1/things", {"content": PHRASE, "headers": {"Content-Type": "text/plain"}}),
    ("POST", "/v1/things", {"content": b"\xff" + PHRASE.encode(), "headers": {"Content-Type": "application/json"}}),
    ("POST", "/v1/things", {"json": {"text": PHRASE}, "headers": {"Idempotency-Key": PHRASE}}),
    ("POST", "/v1/things", {"content": PHRASE.encode() * LIMIT_BYTES, "headers": {"Content-Type": "application/json"}}),
    ("PATCH", THING, {"json": {"text": PHRASE}, "headers": {"If-Match": "*"}}),
    ("PUT", THING, {"json": {"text": "x"}, "headers": {"If-Match": PHRASE}}),
    ("PUT", THING, {"json": {"text": "x"}, "headers": {"If-None-Match": PHRASE}}),
    ("GET", "/v1/things", {"params": {"limit": PHRASE}}),
    ("GET", "/v1/things", {"params": {"cursor": PHRASE}}),
    ("GET", "/v1/things", {"params": {PHRASE: "1"}}),
    ("GET", "/v1/things", {"params": {"before": PHRASE}}),
    ("GET", f"/v1/things/{ESCAPED}", {}),
    ("GET", f"/{ESCAPED}", {}),
    ("GET", "/v1/things/scope", {"headers": {"Authorization": f"Bearer {PHRASE}"}}),
    ("GET", "/v1/things/scope", {"headers": {"Authorization": PHRASE}}),
    ("GET", "/v1/things/scope", {"headers": {"X-Request-ID": PHRASE, "traceparent": PHRASE}}),
    ("GET", "/v1/things/fails", {"params": {"told": PHRASE}}),
]


@pytest.mark.parametrize(("method", "path", "sent"), ECHOES)
async def test_nothing_that_a_caller_sends_is_said_again(
    site: Site, method: str, path: str, sent: dict[str, Any]
) -> None:
    answer = await site.client.request(method, path, **sent)
    assert answer.status_code >= 400 or "X-Request-ID" in str(sent)
    _assert_silent(site, answer.text, str(answer.headers))


async def test_half_an_answer_ends_the_connection_and_stays_silent(site: Site) -> None:
    # The transport shows the test what a server ends the connection for.
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site.app), base_url="http://cairn.test") as client:
        with pytest.raises(ValueError, match=PHRASE):
            await client.get("/v1/things/stops", params={"told": PHRASE}, headers=site.client.headers)
    line = next(line for line in _lines(site) if line["event"] == "request")
    assert (line["status"], line["code"]) == (200, "internal")
    _assert_silent(site)


@pytest.mark.parametrize("code", ["not_found", "quota_exceeded", "erased"])
async def test_a_refusal_is_audited_without_what_was_asked_for(site: Site, code: str) -> None:
    await site.client.get(f"/v1/things/refuses/{code}")
    [(scope, entry)] = site.trail.entries
    assert scope.tenant == "acme"
    assert (entry.action, entry.kind) == ("GET /v1/things/refuses/{code}", "things")
    assert (entry.item, entry.outcome) == (None, code)


@pytest.mark.parametrize(
    ("claims", "code", "is_known"),
    [
        ({"scope": "profile"}, "missing_scope", True),
        ({"sub": "carol", "scope": "profile"}, "missing_scope", False),
        ({"sub": "robot", "client_id": "robot", "scope": "sessions"}, "no_user", False),
    ],
)
async def test_who_is_turned_away_at_the_door_is_audited_and_nobody_is_made_for_it(
    site: Site, claims: dict[str, str], code: str, *, is_known: bool
) -> None:
    await site.client.get("/v1/things/scope")
    known = dict(site.register.known)
    answer = await site.client.get("/v1/things/scope", headers=bearer(tenant="acme", **claims))
    assert (answer.status_code, answer.json()["code"]) == (403, code)
    [(scope, entry)] = site.trail.entries
    assert (scope.tenant, entry.action, entry.outcome) == ("acme", "GET /v1/things/scope", code)
    assert scope.usr == (known[Subject("", "acme", "alice")] if is_known else NOBODY)
    assert site.register.known == known


async def test_who_was_erased_is_audited_as_nobody(site: Site) -> None:
    await site.client.get("/v1/things/scope")
    subject = Subject("", "acme", "alice")
    site.register.erased[subject] = site.register.known.pop(subject)
    assert (await site.client.get("/v1/things/scope")).status_code == 410
    [(scope, entry)] = site.trail.entries
    assert (scope.tenant, scope.usr, entry.outcome) == ("acme", NOBODY, "erased")


async def test_a_refusal_keeps_the_id_that_was_asked_for(site: Site) -> None:
    thing = uuid7()
    answer = await site.client.get("/v1/things/" + show("msg", thing))
    assert answer.status_code == 404
    assert [entry.item for _, entry in site.trail.entries] == [thing]


async def test_an_error_of_another_kind_is_not_audited(site: Site) -> None:
    await site.client.get("/v1/things/refuses/conflict")
    await site.client.get("/v1/things/scope", headers={"Authorization": "Bearer x"})
    assert site.trail.entries == []


@pytest.mark.parametrize("code", ["erased", "erasing"])
async def test_a_reference_that_is_no_more_is_forgotten(site: Site, code: str) -> None:
    usr = (await site.client.get("/v1/things/scope")).json()["usr"]
    await site.client.get(f"/v1/things/refuses/{code}")
    assert [show("usr", gone) for gone in site.register.forgotten] == [usr]


async def test_a_stale_write_is_told_the_current_version(site: Site) -> None:
    answer = await site.client.put(THING, json={"text": "x"}, headers={"If-Match": '"2"'})
    assert (answer.status_code, answer.json()["current_version"], answer.headers["ETag"]) == (412, 3, '"3"')


async def test_the_wrong_content_type_names_the_right_one(site: Site) -> None:
    answer = await site.client.patch(THING, json={"text": "x"}, headers={"If-Match": "*"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert MERGE_PATCH in answer.json()["detail"]


def test_the_list_of_problems_holds_every_code() -> None:
    text = problem_list_markdown()
    assert all(f"| `{code}` | {problem.status} |" in text for code, problem in PROBLEMS.items())


def _lines(site: Site) -> list[dict[str, Any]]:
    return [json.loads(line) for line in site.written.getvalue().splitlines()]


def _assert_silent(site: Site, *answered: str) -> None:
    for text in (*answered, site.written.getvalue().decode()):
        assert PHRASE not in text
        assert ESCAPED not in text
        assert "walrus" not in text
