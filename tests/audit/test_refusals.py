"""Refused attempts leave an entry: with whoever tried, what it was aimed at, and how it was refused."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.core.scope import NOBODY
from tests.audit.conftest import Owner
from tests.conftest import MakeClient

ADMIN = "admin:read admin:audit"


async def refused(app: FastAPI, owner: Owner, tenant: str) -> list[dict[str, Any]]:
    """Return the refusals that a tenant's audit has, oldest first."""
    await app.state.access_log.flushed()
    found = await owner.fetch("SELECT * FROM audit_log WHERE tenant = $1 AND outcome <> 'done' ORDER BY id", tenant)
    return [dict(row) for row in found]


async def user_id(client: httpx.AsyncClient) -> str:
    found: str = (await client.get("/v1/profile")).json()["id"]
    return found


async def test_what_belongs_to_somebody_else(app: FastAPI, owner: Owner, client: MakeClient, tenant: str) -> None:
    alice, bob = await client("alice"), await client("bob", client_id="helper")
    theirs = (await alice.post("/v1/sessions", json={})).json()["id"]
    mine = await user_id(bob)
    assert (await bob.get(f"/v1/sessions/{theirs}")).status_code == 404
    [entry] = await refused(app, owner, tenant)
    assert entry["outcome"] == "not_found"
    assert entry["action"] == "GET /v1/sessions/{session_id}"
    assert f"ses_{entry['item'].hex}" == theirs
    assert f"usr_{entry['usr'].hex}" == mine
    assert (entry["actor"], entry["agent"]) == ("user", "helper")
    shown = (await bob.get("/v1/audit", params={"action": entry["action"]})).json()["items"]
    assert [(each["outcome"], each["request_id"]) for each in shown] == [("not_found", entry["request_id"])]
    assert (await alice.get("/v1/audit", params={"action": entry["action"]})).json()["items"] == []


async def test_a_token_that_lacks_the_scope(app: FastAPI, owner: Owner, client: MakeClient, tenant: str) -> None:
    mine = await user_id(await client("alice"))
    alice = await client("alice", scope="sessions:read")
    assert (await alice.post("/v1/sessions", json={})).status_code == 403
    # What is wrong with the body isn't told to whom isn't let in, and is refused for the same reason.
    assert (await alice.post("/v1/sessions", json={"unknown": 1})).status_code == 403
    stranger = await client("nobody-yet", scope="sessions:read")
    assert (await stranger.put("/v1/preferences/a", json={"value": 1})).status_code == 403
    robot = await client("robot", client_id="robot")
    assert (await robot.get("/v1/sessions")).json()["code"] == "no_user"
    entries = await refused(app, owner, tenant)
    assert [(each["outcome"], each["action"]) for each in entries] == [
        ("missing_scope", "POST /v1/sessions"),
        ("missing_scope", "POST /v1/sessions"),
        ("missing_scope", "PUT /v1/preferences/{key}"),
        ("no_user", "GET /v1/sessions"),
    ]
    assert [each["usr"] == NOBODY for each in entries] == [False, False, True, True]
    assert f"usr_{entries[0]['usr'].hex}" == mine
    # Nobody was made of it.
    operator = await client("console", client_id="console", scope=ADMIN)
    assert (await operator.post("/v1/admin/users/lookup", json={"sub": "nobody-yet"})).status_code == 404


async def test_whoever_was_erased_is_nobody(app: FastAPI, owner: Owner, client: MakeClient, tenant: str) -> None:
    """What they try afterwards leads to nobody, and not to whom they were."""
    alice = await client("alice")
    await user_id(alice)
    assert (await alice.delete("/v1/users/me")).status_code in {200, 202}
    assert (await alice.get("/v1/profile")).status_code == 410
    entry = (await refused(app, owner, tenant))[-1]
    assert (entry["usr"], entry["outcome"], entry["kind"]) == (NOBODY, "erased", "profile")


async def test_operators(app: FastAPI, owner: Owner, client: MakeClient, tenant: str) -> None:
    alice = await client("alice")
    mine = await user_id(alice)
    operator = await client("carol", client_id="console", scope=ADMIN)
    where = f"/v1/admin/users/{mine}/secrets/passport"
    assert (await operator.delete(where, headers={"Cairn-Reason": "curious"})).status_code == 403
    assert (await operator.post("/v1/admin/users/lookup", json={"sub": "nobody"})).status_code == 404
    entries = await refused(app, owner, tenant)
    assert [(each["actor"], each["outcome"], each["usr"] == NOBODY) for each in entries] == [
        ("operator", "missing_scope", False),
        ("operator", "not_found", True),
    ]
    assert entries[0]["operator"] == entries[1]["operator"] is not None
    # It was aimed at alice, and she can see that.
    [shown] = (await alice.get("/v1/audit", params={"kind": "verifications"})).json()["items"]
    assert (shown["actor"], shown["outcome"], shown["agent"]) == ("operator", "missing_scope", "console")


@pytest.mark.parametrize("status", [412, 422])
async def test_what_is_no_attempt_at_anything_of_somebody_elses_is_none(
    app: FastAPI, owner: Owner, client: MakeClient, tenant: str, status: int
) -> None:
    alice = await client("alice")
    headers = {"If-Match": '"7"'} if status == 412 else {"If-Match": "x"}
    answer = await alice.put("/v1/preferences/a", json={"value": 1}, headers=headers)
    assert answer.status_code == status
    assert await refused(app, owner, tenant) == []
