"""What is deleted is gone from every version; what isn't can be brought back, as a new version."""

import httpx
import pytest

from tests.conftest import MakeClient

ABSENT = {"If-None-Match": "*"}
VALUES = ("first secret", "second secret")


async def _two_versions(client: MakeClient) -> tuple[httpx.AsyncClient, str]:
    alice = await client()
    await alice.put("/v1/preferences/diet", json={"value": VALUES[0], "reason": "a secret reason"}, headers=ABSENT)
    await alice.put("/v1/preferences/diet", json={"value": VALUES[1]}, headers={"If-Match": '"1"'})
    return alice, (await alice.get("/v1/preferences")).json()["snapshot"]


async def test_a_deleted_value_shows_as_erased_in_every_version(client: MakeClient) -> None:
    alice, _ = await _two_versions(client)
    stub = await alice.delete("/v1/preferences/diet", headers={"If-Match": '"2"'})
    assert (stub.status_code, stub.headers["etag"], stub.content) == (204, '"3"', b"")
    history = await alice.get("/v1/preferences/diet/history")
    assert [(entry["version"], entry["state"]) for entry in history.json()["items"]] == [
        (3, "deleted"),
        (2, "erased"),
        (1, "erased"),
    ]
    assert "secret" not in history.text


async def test_a_deleted_value_shows_as_erased_in_a_snapshot_and_as_of_a_time(client: MakeClient) -> None:
    alice, snapshot = await _two_versions(client)
    moment = (await alice.get("/v1/preferences/diet")).json()["updated_at"]
    await alice.delete("/v1/preferences/diet", headers={"If-Match": '"2"'})
    for params in ({"snapshot": snapshot}, {"as_of": moment}):
        then = await alice.get("/v1/preferences", params=params)
        assert [(item["key"], item["version"], item["state"], item["value"]) for item in then.json()["items"]] == [
            ("diet", 2, "erased", None)
        ]
        assert "secret" not in then.text


async def test_a_deleted_preference_is_not_there_and_tells_its_stubs_version(client: MakeClient) -> None:
    alice, _ = await _two_versions(client)
    await alice.delete("/v1/preferences/diet", headers={"If-Match": '"2"'})
    assert (await alice.get("/v1/preferences")).json()["items"] == []
    gone = await alice.get("/v1/preferences/diet")
    assert (gone.status_code, gone.headers["etag"], gone.json()["current_version"]) == (404, '"3"', 3)
    again = await alice.delete("/v1/preferences/diet", headers={"If-Match": '"3"'})
    assert again.status_code == 404


@pytest.mark.parametrize("precondition", [{"If-Match": '"3"'}, ABSENT], ids=["the stub's version", "nothing there"])
async def test_a_deleted_preference_can_be_stated_anew(client: MakeClient, precondition: dict[str, str]) -> None:
    alice, _ = await _two_versions(client)
    await alice.delete("/v1/preferences/diet", headers={"If-Match": '"2"'})
    answer = await alice.put("/v1/preferences/diet", json={"value": "vegan"}, headers=precondition)
    assert (answer.status_code, answer.json()["version"]) == (201, 4)
    history = (await alice.get("/v1/preferences/diet/history")).json()["items"]
    assert [entry["state"] for entry in history] == ["kept", "deleted", "erased", "erased"]


async def test_a_deleted_preference_is_not_overwritten_by_an_old_version(client: MakeClient) -> None:
    alice, _ = await _two_versions(client)
    await alice.delete("/v1/preferences/diet", headers={"If-Match": '"2"'})
    answer = await alice.put("/v1/preferences/diet", json={"value": "vegan"}, headers={"If-Match": '"2"'})
    assert (answer.status_code, answer.json()["current_version"]) == (412, 3)


async def test_a_rollback_is_a_new_version(client: MakeClient) -> None:
    alice, _ = await _two_versions(client)
    answer = await alice.post("/v1/preferences/diet/rollback", json={"to_version": 1}, headers={"If-Match": '"2"'})
    assert (answer.status_code, answer.headers["etag"]) == (200, '"3"')
    shown = answer.json()
    assert (shown["value"], shown["source"], shown["trust"]) == (VALUES[0], "rollback", "explicit")
    history = (await alice.get("/v1/preferences/diet/history")).json()["items"]
    assert [entry["value"] for entry in history] == [VALUES[0], VALUES[1], VALUES[0]]


async def test_a_rollback_to_what_is_erased_is_a_conflict(client: MakeClient) -> None:
    alice, _ = await _two_versions(client)
    await alice.delete("/v1/preferences/diet", headers={"If-Match": '"2"'})
    await alice.put("/v1/preferences/diet", json={"value": "vegan"}, headers={"If-Match": '"3"'})
    for version in (1, 2, 3):
        answer = await alice.post(
            "/v1/preferences/diet/rollback",
            json={"to_version": version},
            headers={"If-Match": '"4"'},
        )
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert (await alice.get("/v1/preferences/diet")).json()["value"] == "vegan"


async def test_a_rollback_to_what_never_was_is_refused(client: MakeClient) -> None:
    alice, _ = await _two_versions(client)
    for version, field in ((9, "to_version"), (0, "to_version"), (2**40, "to_version"), ("1", "to_version")):
        answer = await alice.post(
            "/v1/preferences/diet/rollback",
            json={"to_version": version},
            headers={"If-Match": '"2"'},
        )
        assert answer.status_code == 422
        assert [error["field"] for error in answer.json()["errors"]] == [field]
    missing = await alice.post("/v1/preferences/none/rollback", json={"to_version": 1}, headers={"If-Match": '"1"'})
    assert missing.status_code == 404


async def test_a_repeated_deletion_has_one_effect(client: MakeClient) -> None:
    alice, _ = await _two_versions(client)
    headers = {"If-Match": '"2"', "Idempotency-Key": "d"}
    first = await alice.delete("/v1/preferences/diet", headers=headers)
    again = await alice.delete("/v1/preferences/diet", headers=headers)
    assert [answer.status_code for answer in (first, again)] == [204, 204]
    assert (again.headers["etag"], again.headers["idempotent-replayed"]) == ('"3"', "true")
