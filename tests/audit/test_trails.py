"""Users see and verify their own trail, operators that of their tenant, and nobody any other."""

from datetime import UTC, datetime

import httpx
from fastapi import FastAPI

from app.core.ids import parse
from app.wiring import Wiring
from tests.audit.conftest import Audit, Owner, act
from tests.conftest import MakeClient, MakeScope


async def trail(client: httpx.AsyncClient, path: str = "/v1/audit", **asked: str | int) -> list[dict[str, object]]:
    """Return every entry that is listed, over all pages."""
    items: list[dict[str, object]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await client.get(path, params={**asked, **cursor})
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        following = answer.json()["next_cursor"]
        if following is None:
            return items
        cursor = {"cursor": following}


async def test_a_user_sees_what_was_done_in_order_and_by_page(client: MakeClient, audit: Audit, tenant: str) -> None:
    alice, bob = await client("alice", client_id="helper"), await client("bob")
    sessions = [(await alice.post("/v1/sessions", json={})).json()["id"] for _ in range(5)]
    await bob.post("/v1/sessions", json={})
    await alice.delete(f"/v1/sessions/{sessions[0]}", headers={"If-Match": "*"})
    await alice.get(f"/v1/sessions/{sessions[0]}")
    written = await trail(alice, action="create", kind="session", limit=2)
    assert [entry["item"] for entry in written] == sessions[::-1]
    [deleted] = await trail(alice, action="delete", kind="session")
    assert deleted["item"] == sessions[0]
    assert (deleted["actor"], deleted["agent"], deleted["outcome"]) == ("user", "helper", "done")
    assert deleted["user_id"] == written[0]["user_id"]
    assert str(deleted["request_id"]).startswith("req_")
    assert deleted["batch"] is None
    await audit.seal(tenant)
    [deleted] = await trail(alice, action="delete", kind="session")
    batch = deleted["batch"]
    assert isinstance(batch, int)
    [(_, rows)] = await audit.ledger.batches(tenant, batch, 1)
    assert parse("ses", sessions[0]) in {row.item for row in rows}


async def test_times_part_a_trail(client: MakeClient) -> None:
    alice = await client("alice")
    await alice.post("/v1/sessions", json={})
    [first] = await trail(alice, action="create", kind="session")
    moment = str(first["at"])
    await alice.post("/v1/sessions", json={})
    asked = {"action": "create", "kind": "session"}
    assert [entry["at"] for entry in await trail(alice, to=moment, **asked)] == [moment]
    assert len(await trail(alice, **asked, **{"from": moment})) == 1
    assert await trail(alice, **asked, **{"from": datetime.now(UTC).isoformat()}) == []
    refused = await alice.get("/v1/audit", params={"from": "yesterday"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")


async def test_an_operator_sees_the_tenant_and_no_other(client: MakeClient, tenant: str) -> None:
    alice, bob = await client("alice"), await client("bob")
    elsewhere = await client("alice", in_tenant=f"{tenant}-other")
    for each in (alice, bob, elsewhere):
        await each.post("/v1/sessions", json={})
    operator = await client("robot", client_id="console", scope="admin:audit")
    made = await trail(operator, "/v1/admin/audit", action="create", kind="session", limit=1)
    users = {str(entry["user_id"]) for entry in made}
    assert (len(made), len(users)) == (2, 2)
    of_one = await trail(operator, "/v1/admin/audit", user_id=min(users))
    assert {entry["user_id"] for entry in of_one} == {min(users)}
    assert await trail(operator, "/v1/admin/audit", user_id=f"usr_{'0' * 31}1") == []
    for path in ("/v1/admin/audit", "/v1/admin/audit/verify"):
        refused = await (alice.get(path) if path.endswith("audit") else alice.post(path, json={}))
        assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")


async def test_a_user_verifies_their_trail(
    client: MakeClient, audit: Audit, owner: Owner, wiring: Wiring, scope: MakeScope, tenant: str
) -> None:
    alice = await client("alice")
    user_id = (await alice.get("/v1/profile")).json()["id"]
    await act(wiring, await scope("alice"), 3)
    await act(wiring, await scope("bob"), 4)
    await audit.seal(tenant)
    verdict = (await alice.post("/v1/audit/verify")).raise_for_status().json()
    assert (verdict["intact"], verdict["findings"], verdict["next_batch"]) == (True, [], None)
    sealed = [row for _, rows in await audit.ledger.batches(tenant, 1, 100) for row in rows]
    assert verdict["entries"] == sum(row.usr == parse("usr", user_id) for row in sealed) < len(sealed)
    assert verdict["unsealed"] is None
    last = verdict["last_batch"]
    await owner.execute(
        "DELETE FROM audit_log WHERE id = $1", next(row.id for row in sealed if row.usr == parse("usr", user_id))
    )
    found = (await alice.post("/v1/audit/verify", json={"from_batch": 1})).json()
    assert found["intact"] is False
    assert [(finding["fault"], finding["batch"]) for finding in found["findings"]] == [("rows_removed", 1)]
    later = (await alice.post("/v1/audit/verify", json={"from_batch": last})).json()
    assert (later["intact"], later["first_batch"]) == (True, last)
    operator = await client("robot", client_id="console", scope="admin:audit")
    told = (await operator.post("/v1/admin/audit/verify", json={})).json()
    assert (told["findings"], told["entries"]) == (found["findings"], len(sealed) - 1)
    assert (await alice.post("/v1/audit/verify", json={"from_batch": 0})).status_code == 422


async def test_a_long_chain_is_gone_through_in_pieces(
    audit: Audit, wiring: Wiring, scope: MakeScope, tenant: str
) -> None:
    await act(wiring, await scope("alice"), 40)
    await audit.seal(tenant)
    last = await audit.ledger.last(tenant)
    assert last is not None
    first, rows, pieces = 1, 0, 0
    while True:
        verdict = await audit.verifier.verify(tenant, first=first, max_looks=10)
        assert verdict.findings == ()
        rows, pieces = rows + verdict.rows, pieces + 1
        if verdict.next_batch is None:
            break
        first = verdict.next_batch
    assert pieces > 1
    assert rows == sum(batch.row_count for batch, _ in await audit.ledger.batches(tenant, 1, 100)) == 41


async def test_who_is_turned_away_at_the_door_leaves_a_row(client: MakeClient, app: FastAPI) -> None:
    alice = await client("alice")
    await alice.post("/v1/sessions", json={})
    reader = await client("alice", scope="profile:read", client_id="helper")
    robot = await client("robot", client_id="robot", scope="sessions")
    stranger = await client("stranger", scope="profile:read")
    for caller, path in ((reader, "/v1/sessions"), (alice, "/v1/admin/audit"), (robot, "/v1/sessions")):
        assert (await caller.get(path)).status_code == 403
    assert (await stranger.get("/v1/sessions")).status_code == 403
    await app.state.access_log.flushed()
    [refused] = await trail(alice, action="GET /v1/sessions")
    assert (refused["outcome"], refused["agent"]) == ("missing_scope", "helper")
    [as_operator] = await trail(alice, action="GET /v1/admin/audit")
    assert as_operator["outcome"] == "missing_scope"
    operator = await client("console", client_id="console", scope="admin:audit")
    seen = await trail(operator, "/v1/admin/audit", action="GET /v1/sessions")
    assert sorted(str(entry["outcome"]) for entry in seen) == ["missing_scope", "missing_scope", "no_user"]
