"""The profile over HTTP: it always exists, a patch is bound to a version, and every version is kept."""

import asyncio
from collections import Counter

import httpx
import pytest

from tests.conftest import MakeClient

MERGE_PATCH = "application/merge-patch+json"


async def patch(caller: httpx.AsyncClient, version: int, changes: object, **headers: str) -> httpx.Response:
    sent = {"If-Match": f'"{version}"', "Content-Type": MERGE_PATCH} | headers
    return await caller.patch("/v1/profile", json=changes, headers=sent)


async def test_a_profile_is_empty_at_version_zero(client: MakeClient) -> None:
    alice = await client()
    answer = await alice.get("/v1/profile")
    assert (answer.status_code, answer.headers["etag"]) == (200, '"0"')
    shown = answer.json()
    assert shown.pop("id").startswith("usr_")
    assert shown.pop("snapshot").startswith("snp_0_")
    assert shown == {
        "version": 0,
        "name": None,
        "role": None,
        "department": None,
        "active": True,
        "last_login_at": None,
        "attributes": {},
        "erased": [],
        "updated_at": None,
        "changes_since": 0,
    }
    assert (await alice.get("/v1/profile/history")).json()["items"] == []
    assert (await alice.get("/v1/profile", headers={"If-None-Match": '"0"'})).status_code == 304


async def test_a_patch_changes_what_it_names(client: MakeClient) -> None:
    alice = await client()
    first = {
        "name": "李伟",
        "role": "engineer",
        "active": False,
        "last_login_at": "2026-01-01T08:00:00+08:00",
        "attributes": {"team": {"name": "search", "floor": 3}, "pets": ["cat"]},
    }
    answer = await patch(alice, 0, first)
    assert (answer.status_code, answer.headers["etag"]) == (200, '"1"')
    second = {"role": None, "attributes": {"team": {"floor": None, "lead": True}, "pets": ["dog"]}}
    shown = (await patch(alice, 1, second)).json()
    assert shown == (await alice.get("/v1/profile")).json()
    assert (shown["name"], shown["role"], shown["active"]) == ("李伟", None, False)
    assert shown["last_login_at"] == "2026-01-01T00:00:00Z"
    assert shown["attributes"] == {"team": {"name": "search", "lead": True}, "pets": ["dog"]}


@pytest.mark.parametrize("version", [0, 1])
async def test_of_ten_patches_of_one_version_one_wins(client: MakeClient, version: int) -> None:
    alice = await client()
    for before in range(version):
        await patch(alice, before, {"name": "before"})
    answers = await asyncio.gather(*(patch(alice, version, {"name": str(number)}) for number in range(10)))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 9}
    refused = [answer for answer in answers if answer.status_code == 412]
    assert {(answer.json()["current_version"], answer.headers["etag"]) for answer in refused} == {
        (version + 1, f'"{version + 1}"'),
    }
    history = (await alice.get("/v1/profile/history")).json()["items"]
    assert [entry["version"] for entry in history] == list(range(version + 1, 0, -1))


async def test_a_patch_without_a_version_is_refused(client: MakeClient) -> None:
    alice = await client()
    answer = await alice.patch("/v1/profile", json={"name": "x"}, headers={"Content-Type": MERGE_PATCH})
    assert (answer.status_code, answer.json()["code"]) == (428, "precondition_required")
    exists = await alice.patch(
        "/v1/profile",
        json={"name": "x"},
        headers={"Content-Type": MERGE_PATCH, "If-None-Match": "*"},
    )
    assert (exists.status_code, exists.json()["current_version"]) == (412, 0)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/json-patch+json"])
async def test_only_a_merge_patch_is_taken(client: MakeClient, content_type: str) -> None:
    alice = await client()
    answer = await patch(alice, 0, {"name": "x"}, **{"Content-Type": content_type})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "changes",
    [
        {"nmae": "x"},
        {"email": "x"},
        {"version": 3},
        {"name": 1},
        {"name": "x" * 257},
        {"name": "\u0000"},
        {"active": "yes"},
        {"active": 1},
        {"last_login_at": "yesterday"},
        {"last_login_at": 1767225600},
        {"attributes": []},
        {"attributes": {"a": "x" * 17_000}},
        {"attributes": {"a": {"\u0000": 1}}},
        [],
        "name",
    ],
)
async def test_a_patch_that_is_not_valid_is_refused(client: MakeClient, changes: object) -> None:
    alice = await client()
    answer = await patch(alice, 0, changes)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert (await alice.get("/v1/profile")).headers["etag"] == '"0"'


async def test_a_repeated_patch_has_one_effect(client: MakeClient) -> None:
    alice = await client()
    first = await patch(alice, 0, {"name": "Li Wei"}, **{"Idempotency-Key": "p"})
    again = await patch(alice, 0, {"name": "Li Wei"}, **{"Idempotency-Key": "p"})
    assert (first.status_code, again.status_code, again.json()) == (200, 200, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert (await alice.get("/v1/profile")).headers["etag"] == '"1"'


async def test_a_refused_patch_is_refused_again_whatever_happened_since(client: MakeClient) -> None:
    alice = await client()
    refused = await patch(alice, 1, {"name": "Li Wei"}, **{"Idempotency-Key": "p"})
    assert refused.status_code == 412
    await patch(alice, 0, {"name": "Li Wei"})
    again = await patch(alice, 1, {"name": "Li Wei"}, **{"Idempotency-Key": "p"})
    assert (again.status_code, again.headers["idempotent-replayed"]) == (412, "true")


async def test_the_history_says_what_it_was_and_who_wrote_it(client: MakeClient) -> None:
    alice = await client(agent="writer")
    for version in range(3):
        await patch(alice, version, {"name": f"name {version}"})
    first = (await alice.get("/v1/profile/history", params={"limit": 2})).json()
    second = (await alice.get("/v1/profile/history", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    entries = first["items"] + second["items"]
    assert [(entry["version"], entry["name"]) for entry in entries] == [(3, "name 2"), (2, "name 1"), (1, "name 0")]
    assert {(entry["written_by"], entry["written_through"]) for entry in entries} == {("user", "writer")}
    assert second["next_cursor"] is None


async def test_another_user_has_a_profile_of_their_own(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    await patch(alice, 0, {"name": "Li Wei"})
    assert (await bob.get("/v1/profile")).json()["name"] is None
    assert (await bob.get("/v1/profile/history")).json()["items"] == []
    assert (await patch(bob, 1, {"name": "Bob"})).json()["current_version"] == 0
    await patch(bob, 0, {"name": "Bob"})
    assert (await alice.get("/v1/profile")).json()["name"] == "Li Wei"


async def test_a_scope_is_needed(client: MakeClient) -> None:
    reader = await client(scope="profile:read")
    assert (await reader.get("/v1/profile")).status_code == 200
    assert (await patch(reader, 0, {"name": "x"})).status_code == 403
