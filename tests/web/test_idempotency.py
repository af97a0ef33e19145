"""Repeated writes: what makes two requests the same, and how answers are kept."""

import pytest

from app.core.errors import AppError
from app.core.idempotency import Answer
from app.web.idempotency import rendered, respond
from app.web.problems import problem_answer
from tests.web.application import Shown, Site

KEY = {"Idempotency-Key": "k-1"}


async def _attempt(site: Site, **sent: object) -> str:
    request = {"json": {"text": "x"}, "headers": {}} | sent
    request["headers"] = KEY | dict(request["headers"])  # type: ignore[call-overload] # headers of a test, as given
    answer = await site.client.post("/v1/things", **request)  # type: ignore[arg-type] # the same
    assert answer.status_code == 201
    return answer.headers["X-Attempt"]


async def test_the_same_request_has_the_same_digest(site: Site) -> None:
    first = await _attempt(site)
    assert first == await _attempt(site)
    assert first.startswith("POST /v1/things ")


@pytest.mark.parametrize(
    "sent",
    [
        {"json": {"text": "y"}},
        {"content": b'{"text":  "x"}', "json": None, "headers": {"Content-Type": "application/json"}},
        {"headers": {"If-Match": '"1"'}},
        {"headers": {"If-None-Match": "*"}},
    ],
)
async def test_another_request_has_another_digest(site: Site, sent: dict[str, object]) -> None:
    assert await _attempt(site) != await _attempt(site, **sent)


async def test_the_same_text_in_another_place_is_another_request(site: Site) -> None:
    match = await _attempt(site, headers={"If-Match": "*"})
    assert match != await _attempt(site, headers={"If-None-Match": "*"})


async def test_the_digest_does_not_depend_on_who_asks_or_when(site: Site) -> None:
    assert await _attempt(site) == await _attempt(site, headers={"X-Request-ID": "r-9", "User-Agent": "other"})


async def test_without_a_key_there_is_no_attempt(site: Site) -> None:
    assert "X-Attempt" not in (await site.client.post("/v1/things", json={"text": "x"})).headers


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "é", "a\x00"])
async def test_a_key_is_visible_ascii(site: Site, key: str) -> None:
    headers = [(b"Idempotency-Key", key.encode())]
    answer = await site.client.post("/v1/things", json={"text": "x"}, headers=headers)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "Idempotency-Key")


async def test_two_keys_are_none(site: Site) -> None:
    answer = await site.client.post("/v1/things", json={"text": "x"}, headers=[*KEY.items(), *KEY.items()])
    assert answer.status_code == 422


async def test_an_answer_given_again_says_so(site: Site) -> None:
    answer = await site.client.post("/v1/things/again")
    assert (answer.status_code, answer.content) == (201, b"{}")
    assert (answer.headers["Idempotent-Replayed"], answer.headers["ETag"]) == ("true", '"1"')


def test_an_answer_holds_its_version_and_its_body() -> None:
    answer = rendered(Shown(version=3, text="é"), 201, version=3, headers={"Location": "/v1/things/1"})
    assert answer == Answer(
        201,
        {"Location": "/v1/things/1", "ETag": '"3"', "Content-Type": "application/json"},
        '{"version":3,"text":"é"}'.encode(),
    )
    response = respond(answer)
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Content-Length"] == str(len(answer.body))


def test_an_answer_without_a_body_has_no_type() -> None:
    response = respond(rendered(None, 204))
    assert (response.status_code, response.body) == (204, b"")
    assert "Content-Type" not in response.headers


def test_a_refusal_can_be_kept_as_an_answer() -> None:
    answer = problem_answer(AppError("conflict"))
    assert (answer.status, answer.headers) == (409, {"Content-Type": "application/problem+json"})
