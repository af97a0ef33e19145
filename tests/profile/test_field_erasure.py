"""A field that is erased is gone from every version, and shows as erased wherever it stood."""

import httpx
import pytest

from app.profile import service
from tests.conftest import MakeClient

MERGE_PATCH = "application/merge-patch+json"
SECRET = "quetzal"


async def patch(caller: httpx.AsyncClient, version: int, **changes: object) -> dict[str, object]:
    headers = {"If-Match": f'"{version}"', "Content-Type": MERGE_PATCH}
    answer = await caller.patch("/v1/profile", json=changes, headers=headers)
    assert answer.status_code == 200, answer.text
    shown: dict[str, object] = answer.json()
    return shown


async def erase(caller: httpx.AsyncClient, field: str, version: int, **headers: str) -> httpx.Response:
    return await caller.delete(f"/v1/profile/fields/{field}", headers={"If-Match": f'"{version}"'} | headers)


async def erased(caller: httpx.AsyncClient) -> dict[int, list[str]]:
    """Return what is erased from each version, after a look that the secret stands in none."""
    page = await caller.get("/v1/profile/history")
    assert SECRET not in page.text
    return {each["version"]: each["erased"] for each in page.json()["items"]}


async def test_an_erased_field_shows_as_erased_everywhere(client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "REWRITE_PAGE", 2)  # so that there are several
    alice = await client()
    await patch(alice, 0, role="lead")
    pinned = [await patch(alice, version, name=f"{SECRET} {version}", reason=SECRET) for version in range(1, 5)]
    await patch(alice, 5, name=None, reason=f"{SECRET} was wrong")
    answer = await erase(alice, "name", 6)
    assert (answer.status_code, answer.headers["etag"], answer.content) == (204, '"7"', b"")
    assert await erased(alice) == {each: [] if each in {1, 6} else ["name"] for each in range(1, 8)}
    for then in pinned:
        for moment in ({"snapshot": str(then["snapshot"])}, {"as_of": str(then["updated_at"])}):
            # The client has read this version: that something in it is erased since is news all the same.
            known = {"If-None-Match": f'"{then["version"]}"'}
            shown = await alice.get("/v1/profile", params=moment, headers=known)
            assert SECRET not in shown.text
            told = [shown.json()[name] for name in ("version", "name", "role", "erased")]
            assert told == [then["version"], None, "lead", ["name"]]
    reasons = [each["reason"] for each in (await alice.get("/v1/profile/history")).json()["items"]]
    assert reasons == [None] * 7


async def test_a_rollback_does_not_bring_it_back(client: MakeClient) -> None:
    alice = await client()
    await patch(alice, 0, name=SECRET, role="lead")
    await patch(alice, 1, role="engineer")
    await erase(alice, "name", 2)
    back = await alice.post("/v1/profile/rollback", json={"to_version": 1}, headers={"If-Match": '"3"'})
    assert [back.json()[name] for name in ("version", "name", "role", "erased")] == [4, None, "lead", ["name"]]
    # What is said anew is there: it was never erased.
    again = await patch(alice, 4, name="Bo")
    assert (again["name"], again["erased"]) == ("Bo", [])


@pytest.mark.parametrize(
    ("field", "left"),
    [
        ("attributes/team/mail", {"team": {"floor": 3}, "a/b": {"~": ""}}),
        ("attributes/team", {"a/b": {"~": ""}}),
        ("attributes/a~1b/~0", {"team": {"mail": "m", "floor": 3}, "a/b": {}}),
        ("attributes", {}),
    ],
)
async def test_an_attribute_is_erased_alone_and_as_a_whole(client: MakeClient, field: str, left: object) -> None:
    alice = await client()
    attributes = {"team": {"mail": "m", "floor": 3}, "a/b": {"~": ""}}
    first = await patch(alice, 0, attributes=attributes)
    assert (await erase(alice, field, 1)).status_code == 204
    for moment in ({}, {"snapshot": str(first["snapshot"])}):
        shown = (await alice.get("/v1/profile", params=moment)).json()
        assert (shown["attributes"], shown["erased"]) == (left, [field])


async def test_every_field_can_be_erased(client: MakeClient) -> None:
    alice = await client()
    said = {"name": "n", "role": "r", "department": "d", "active": False, "last_login_at": "2026-01-01T00:00:00Z"}
    first = await patch(alice, 0, **said)
    for version, field in enumerate(said, 1):
        assert (await erase(alice, field, version)).status_code == 204
    shown = (await alice.get("/v1/profile", params={"snapshot": str(first["snapshot"])})).json()
    assert {name: shown[name] for name in said} == dict.fromkeys(said) | {"active": True}
    assert shown["erased"] == sorted(said)


async def test_an_answer_that_was_kept_for_a_retry_is_erased_too(client: MakeClient) -> None:
    alice = await client()
    headers = {"If-Match": '"0"', "Content-Type": MERGE_PATCH, "Idempotency-Key": "p"}
    await alice.patch("/v1/profile", json={"name": SECRET}, headers=headers)
    for _ in range(2):
        assert (await erase(alice, "name", 1, **{"Idempotency-Key": "e"})).status_code == 204
    late = await alice.patch("/v1/profile", json={"name": SECRET}, headers=headers)
    assert (late.status_code, SECRET in late.text) == (404, False)
    assert await erased(alice) == {1: ["name"], 2: ["name"]}


@pytest.mark.parametrize(
    "field", ["role", "attributes/none", "attributes/a/b", "email", "name/first", "attributes/", ""]
)
async def test_what_was_never_there_cannot_be_erased(client: MakeClient, field: str) -> None:
    alice = await client()
    assert (await erase(alice, "name", 0)).status_code == 404
    await patch(alice, 0, name="n", attributes={"a": [{"b": 1}]})
    assert (await erase(alice, field, 1)).status_code == 404
    assert (await alice.get("/v1/profile")).headers["etag"] == '"1"'


async def test_an_erasure_is_bound_to_a_version(client: MakeClient) -> None:
    alice, reader = await client(), await client(scope="profile:read")
    await patch(alice, 0, name="n")
    path = "/v1/profile/fields/name"
    answers = [
        await alice.delete(path),
        await erase(alice, "name", 7),
        await alice.delete(path, headers={"If-None-Match": "*"}),
        await alice.delete(path, headers={"If-Match": "*"}),
        await erase(reader, "name", 1),
    ]
    assert [answer.status_code for answer in answers] == [428, 412, 412, 422, 403]
    assert answers[1].json()["current_version"] == 1
    assert (await alice.get("/v1/profile")).json()["name"] == "n"


async def test_another_users_field_stays(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    for who in (alice, bob):
        await patch(who, 0, name="n")
    await erase(alice, "name", 1)
    assert (await bob.get("/v1/profile")).json()["name"] == "n"
