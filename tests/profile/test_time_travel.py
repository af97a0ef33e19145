"""The profile as it was: at a snapshot, as of a time, in its history; and back to it, as a new version."""

from uuid import UUID

import asyncpg
import httpx
import pytest

from app.infra.embedded.stack import Stack
from tests.conftest import MakeClient

MERGE_PATCH = "application/merge-patch+json"
READ = ("name", "role", "department", "active", "last_login_at", "attributes", "version", "erased", "updated_at")


async def patch(caller: httpx.AsyncClient, version: int, **changes: object) -> dict[str, object]:
    headers = {"If-Match": f'"{version}"', "Content-Type": MERGE_PATCH}
    answer = await caller.patch("/v1/profile", json=changes, headers=headers)
    assert answer.status_code == 200, answer.text
    shown: dict[str, object] = answer.json()
    return shown


async def read(caller: httpx.AsyncClient, **moment: object) -> dict[str, object]:
    answer = await caller.get("/v1/profile", params={name: str(value) for name, value in moment.items()})
    assert answer.status_code == 200, answer.text
    assert answer.headers["etag"] == f'"{answer.json()["version"]}"'
    shown: dict[str, object] = answer.json()
    return shown


async def test_a_profile_is_read_at_a_snapshot_and_as_of_a_time(client: MakeClient) -> None:
    alice = await client()
    versions = [await read(alice)]
    login = "2026-01-01T00:00:00Z"
    versions.append(await patch(alice, 0, name="one", active=False, attributes={"a": {"b": 1}}))
    versions.append(await patch(alice, 1, name="two", last_login_at=login, attributes={"a": {"c": 2}}))
    versions.append(await patch(alice, 2, name=None, active=None, role="lead"))
    for number, version in enumerate(versions):
        then = await read(alice, snapshot=version["snapshot"])
        assert then == version | {"changes_since": 3 - number}
        if number:
            assert await read(alice, as_of=version["updated_at"]) == then
    assert (versions[2]["last_login_at"], versions[2]["active"], versions[3]["active"]) == (login, False, True)
    assert (await read(alice, as_of="2001-01-01T00:00:00Z"))["version"] == 0


async def test_a_change_of_preferences_counts_as_one_that_a_snapshot_does_not_see(client: MakeClient) -> None:
    alice = await client()
    pinned = await patch(alice, 0, name="one")
    written = await alice.put("/v1/preferences/tone", json={"value": "calm"}, headers={"If-None-Match": "*"})
    assert (await read(alice, snapshot=pinned["snapshot"]))["changes_since"] == 1
    # The time of either kind of change means the same for both kinds.
    when = {"as_of": written.json()["updated_at"]}
    both = [(await alice.get(path, params=when)).json() for path in ("/v1/profile", "/v1/preferences")]
    assert both[0]["snapshot"] == both[1]["snapshot"] != pinned["snapshot"]


@pytest.mark.parametrize(
    ("moment", "field"),
    [
        ({"as_of": "yesterday"}, "as_of"),
        ({"as_of": "2026-01-01T00:00:00Z", "snapshot": "snp_1_0"}, "as_of"),
        ({"snapshot": "snp_0_0000000000000000"}, "snapshot"),
        ({"snapshot": "x" * 65}, "snapshot"),
    ],
)
async def test_a_moment_that_is_not_valid_is_refused(client: MakeClient, moment: dict[str, str], field: str) -> None:
    alice = await client()
    answer = await alice.get("/v1/profile", params=moment)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


async def test_the_history_says_why_and_from_which_evidence(client: MakeClient) -> None:
    alice = await client(agent="writer")
    session = (await alice.post("/v1/sessions", json={})).json()["id"]
    said = {"messages": [{"role": "user", "content": "Li Wei here."}]}
    message = (await alice.post(f"/v1/sessions/{session}/messages", json=said)).json()["messages"][0]["id"]
    evidence = {"kind": "message", "id": message}
    await patch(alice, 0, name="Li Wei", reason="she said so", evidence=evidence)
    await patch(alice, 1, role="lead")
    await alice.post("/v1/profile/rollback", json={"to_version": 1, "reason": "no"}, headers={"If-Match": '"2"'})
    page = (await alice.get("/v1/profile/history")).json()
    assert page["changes_since"] == 0
    assert page["snapshot"] == (await read(alice))["snapshot"]
    told = [(each["version"], each["source"], each["reason"], each["evidence"]) for each in page["items"]]
    assert told == [
        (3, "rollback", "no", None),
        (2, "statement", None, None),
        (1, "statement", "she said so", evidence),
    ]
    assert {(each["written_by"], each["written_through"]) for each in page["items"]} == {("user", "writer")}


async def test_evidence_that_is_not_there_is_refused(client: MakeClient) -> None:
    alice = await client()
    evidence = {"kind": "message", "id": "msg_" + "0" * 32}
    headers = {"If-Match": '"0"', "Content-Type": MERGE_PATCH}
    answer = await alice.patch("/v1/profile", json={"name": "x", "evidence": evidence}, headers=headers)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, ["evidence"])
    assert (await read(alice))["version"] == 0


async def test_a_version_of_before_its_last_fields_were_sealed_is_read_and_can_be_erased(
    client: MakeClient, stack: Stack
) -> None:
    alice = await client()
    usr = UUID(hex=str((await patch(alice, 0, name="one"))["id"]).removeprefix("usr_"))
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        await connection.execute(
            "UPDATE profile_versions SET source = NULL, active = false, last_login_at = '2026-01-01T00:00:00Z' "
            "WHERE usr = $1",
            usr,
        )
        shown = await read(alice)
        assert (shown["active"], shown["last_login_at"], shown["name"]) == (False, "2026-01-01T00:00:00Z", "one")
        await alice.delete("/v1/profile/fields/last_login_at", headers={"If-Match": '"1"'})
        rows = await connection.fetch("SELECT active, last_login_at FROM profile_versions WHERE usr = $1", usr)
        assert [tuple(row) for row in rows] == [(True, None)] * 2
        shown = await read(alice)
        assert (shown["active"], shown["last_login_at"], shown["erased"]) == (False, None, ["last_login_at"])
    finally:
        await connection.close()


async def test_a_rollback_is_a_new_version(client: MakeClient) -> None:
    alice = await client()
    first = await patch(alice, 0, name="one", active=False, attributes={"a": 1})
    await patch(alice, 1, name="two", active=True, attributes={"a": None, "b": 2})
    back = await alice.post("/v1/profile/rollback", json={"to_version": 1}, headers={"If-Match": '"2"'})
    assert (back.status_code, back.headers["etag"]) == (200, '"3"')
    same = ("name", "active", "attributes", "erased")
    assert [back.json()[name] for name in same] == [first[name] for name in same]
    assert back.json() == await read(alice)
    empty = await alice.post("/v1/profile/rollback", json={"to_version": 0}, headers={"If-Match": '"3"'})
    assert (empty.json()["version"], empty.json()["name"], empty.json()["attributes"]) == (4, None, {})


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"to_version": 1}, {}, 428),
        ({"to_version": 1}, {"If-Match": '"1"'}, 412),
        ({"to_version": 1}, {"If-None-Match": "*"}, 412),
        ({"to_version": 3}, {"If-Match": '"2"'}, 422),
        ({"to_version": -1}, {"If-Match": '"2"'}, 422),
        ({"to_version": 2**31}, {"If-Match": '"2"'}, 422),
        ({"to_version": True}, {"If-Match": '"2"'}, 422),
        ({}, {"If-Match": '"2"'}, 422),
    ],
)
async def test_a_rollback_that_cannot_be_is_refused(
    client: MakeClient, body: object, headers: dict[str, str], status: int
) -> None:
    alice = await client()
    await patch(alice, 0, name="one")
    await patch(alice, 1, name="two")
    answer = await alice.post("/v1/profile/rollback", json=body, headers=headers)
    assert answer.status_code == status
    assert (await read(alice))["version"] == 2


async def test_a_repeated_rollback_has_one_effect(client: MakeClient) -> None:
    alice = await client()
    await patch(alice, 0, name="one")
    headers = {"If-Match": '"1"', "Idempotency-Key": "r"}
    sent = [await alice.post("/v1/profile/rollback", json={"to_version": 0}, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [200, 200]
    assert sent[0].json() == sent[1].json()
    assert (await read(alice))["version"] == 2
