"""What operators do: noted before they are answered, with who it was and why, and the user sees it."""

import httpx

from app.core.scope import NOBODY
from app.core.withholding import withheld_text
from tests.audit.conftest import Audit, Owner
from tests.audit.test_trails import trail
from tests.conftest import MakeClient

ADMIN = "admin:read admin:erase admin:catalog admin:audit"
WHY = "客户来电：核对身份"
CARD = "4111 1111 1111 1111"


async def user_id(client: httpx.AsyncClient) -> str:
    found: str = (await client.get("/v1/profile")).json()["id"]
    return found


async def test_a_user_sees_who_acted_on_them_and_why(
    client: MakeClient, audit: Audit, owner: Owner, tenant: str
) -> None:
    alice, bob = await client("alice"), await client("bob")
    mine = await user_id(alice)
    carol = await client("carol", client_id="console", scope=ADMIN)
    dave = await client("dave", client_id="console", scope=ADMIN)
    why = [(b"Cairn-Reason", WHY.encode())]
    where = f"/v1/admin/users/{mine}/secrets/passport"
    assert (await carol.put(where, json={"value": "E12345678"}, headers=why)).status_code == 204
    await carol.post("/v1/admin/users/lookup", json={"sub": "alice"}, headers={"Cairn-Reason": f"card {CARD}"})
    await dave.post("/v1/admin/users/lookup", json={"sub": "alice"})
    found, masked, registered = [entry for entry in await trail(alice) if entry["actor"] == "operator"]
    assert [entry["action"] for entry in (found, masked, registered)] == ["look_up", "look_up", "register"]
    assert (registered["reason"], masked["reason"], found["reason"]) == (WHY, withheld_text(f"card {CARD}"), None)
    assert CARD not in str(masked["reason"])
    assert registered["operator"] == masked["operator"] != found["operator"]
    assert str(registered["operator"]).startswith("opr_")
    assert await trail(bob, action="register") == []
    # The tenant's operators see it too; of a user who was forgotten nobody can read it any more.
    [shown] = await trail(carol, "/v1/admin/audit", action="register", user_id=mine)
    assert shown["reason"] == WHY
    await audit.seal(tenant)
    await alice.delete("/v1/users/me")
    [shown] = await trail(carol, "/v1/admin/audit", action="register", user_id=mine)
    assert (shown["reason"], shown["item"]) == (None, mine)
    await audit.seal(tenant)
    assert await audit.faults(tenant) == []
    kept = await owner.fetchval("SELECT reason_sealed FROM audit_log WHERE tenant = $1 AND action = 'register'", tenant)
    assert WHY.encode() not in kept


async def test_what_an_operator_reads_is_noted_before_they_are_answered(
    client: MakeClient, owner: Owner, tenant: str
) -> None:
    alice = await client("alice")
    mine = await user_id(alice)
    operator = await client("carol", client_id="console", scope=ADMIN)
    noted = "SELECT count(*) FROM audit_log WHERE tenant = $1 AND actor = 'operator' AND action = $2 AND kind = $3"
    for number in (1, 2):
        await operator.post("/v1/admin/users/lookup", json={"sub": "alice"})
        assert await owner.fetchval(noted, tenant, "look_up", "user") == number
        await operator.get("/v1/admin/audit")
        assert await owner.fetchval(noted, tenant, "list", "audit") == number
        await operator.post("/v1/admin/audit/verify", json={})
        assert await owner.fetchval(noted, tenant, "verify", "audit") == number
    [row] = await owner.fetch("SELECT * FROM audit_log WHERE tenant = $1 AND action = 'look_up' LIMIT 1", tenant)
    assert f"usr_{row['usr'].hex}" == mine
    [row] = await owner.fetch("SELECT * FROM audit_log WHERE tenant = $1 AND action = 'verify' LIMIT 1", tenant)
    assert row["usr"] == NOBODY
