"""Requests that say more than the route understands, or in another format."""

import pytest

from tests.web.application import MERGE_PATCH, Site
from tests.web.issuer import claims, signed

THING = "/v1/things/ses_" + "0" * 32
IF = {"If-Match": "*"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limt=5", "limt"),
        ("limit=5&limit=6", "limit"),
        ("limit=5&LIMIT=6", "LIMIT"),
        ("Limit=5", "Limit"),
        ("=5", "query"),
        ("&x", "x"),
        ("drop%20table=1", "query"),
        ("limit=5&tenant=other", "tenant"),
        ("kind=%00", "kind"),
        ("kind=%ff", "query"),
        ("kind=%ED%A0%80", "query"),
        ("&".join(f"kind={number}" for number in range(60)), "query"),
    ],
)
async def test_a_query_that_the_route_does_not_know_is_refused(site: Site, query: str, field: str) -> None:
    answer = await site.client.get(f"/v1/things?{query}")
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, [field])


@pytest.mark.parametrize("query", ["", "limit=5", "kind=a&kind=b", "limit=5&kind=%F0%9F%90%98"])
async def test_a_query_that_the_route_knows_is_taken(site: Site, query: str) -> None:
    assert (await site.client.get(f"/v1/things?{query}")).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", THING, "/v1/things/scope"])
async def test_a_route_without_parameters_takes_none(site: Site, path: str) -> None:
    assert (await site.client.get(path)).status_code in {200, 404}
    assert (await site.client.get(path, params={"verbose": "1"})).status_code == 422


WRONG = [
    ("GET", "/v1/things?limit=many", b"", ""),
    ("GET", "/v1/things?limt=5", b"", ""),
    ("GET", "/v1/things?cursor=x", b"", ""),
    ("POST", "/v1/things", b'{"text', "application/json"),
    ("POST", "/v1/things", b'{"txt": "x"}', "application/json"),
    ("POST", "/v1/things", b'{"text": "x"}', "text/plain"),
    ("POST", "/v1/things?x=1", b"", ""),
    ("PATCH", THING, b"[]", MERGE_PATCH),
]


@pytest.mark.parametrize(("method", "path", "content", "content_type"), WRONG)
@pytest.mark.parametrize(
    ("token", "refusal", "status"),
    [
        ({}, None, 401),
        ({"Authorization": "Bearer x"}, None, 401),
        ({"Authorization": f"Bearer {signed(claims(scope='audit'))}"}, None, 403),
        ({"Authorization": f"Bearer {signed(claims(scope='sessions'))}"}, "erasing", 410),
        ({"Authorization": f"Bearer {signed(claims(scope='sessions'))}"}, None, 422),
    ],
    ids=["no token", "a bad token", "no scope", "erasing", "let in"],
)
async def test_who_is_not_let_in_is_not_told_what_is_wrong(
    site: Site,
    method: str,
    path: str,
    content: bytes,
    content_type: str,
    token: dict[str, str],
    refusal: str | None,
    status: int,
) -> None:
    del site.client.headers["Authorization"]
    site.register.refusal = refusal
    headers = token | IF | ({"Content-Type": content_type} if content_type else {})
    answer = await site.client.request(method, path, content=content, headers=headers)
    expected = {415, 422} if status == 422 else {status}
    assert answer.status_code in expected
    assert ("errors" in answer.json()) == (answer.status_code == 422)


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 201),
        ("Application/JSON; charset=utf-8", 201),
        ('application/json;charset="UTF-8"', 201),
        ("application/json; charset=utf-16", 415),
        ("application/json; charset=latin-1", 415),
        (MERGE_PATCH, 415),
        ("application/vnd.api+json", 415),
        ("text/plain", 415),
        ("text/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("json", 415),
        ("", 415),
    ],
)
async def test_an_operation_takes_one_content_type(site: Site, content_type: str, status: int) -> None:
    answer = await site.client.post("/v1/things", content=b'{"text": "x"}', headers={"Content-Type": content_type})
    assert answer.status_code == status


async def test_without_a_content_type_a_body_is_refused(site: Site) -> None:
    answer = await site.client.post("/v1/things", content=b'{"text": "x"}')
    assert (answer.status_code, answer.headers["Accept-Post"]) == (415, "application/json")


async def test_without_a_body_it_is_the_body_that_is_missing(site: Site) -> None:
    answer = await site.client.post("/v1/things")
    assert (answer.status_code, answer.json()["errors"]) == (422, [{"field": "body", "message": "is required"}])


async def test_a_merge_patch_takes_its_own_type(site: Site) -> None:
    for content_type, status in ((MERGE_PATCH, 200), ("application/json", 415)):
        headers = IF | {"Content-Type": content_type}
        assert (await site.client.patch(THING, content=b'{"text": "x"}', headers=headers)).status_code == status
