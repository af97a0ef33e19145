"""Operators: whom they find, whom they don't, and that a revoked token is refused."""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import httpx
import pytest

MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]
ADMIN = "admin:read admin:erase"


async def test_an_operator_finds_a_user_of_their_tenant_alone(client: MakeClient, tenant: str) -> None:
    alice = await client("alice")
    profile = (await alice.get("/v1/profile")).json()
    operator = await client("robot", client_id="robot", scope=ADMIN)
    found = await operator.post("/v1/admin/users/lookup", json={"sub": "alice"})
    assert found.json() == {"user_id": profile["id"]}
    assert (await operator.post("/v1/admin/users/lookup", json={"sub": "nobody"})).status_code == 404
    elsewhere = await client("robot", in_tenant=tenant + "-other", client_id="robot", scope=ADMIN)
    assert (await elsewhere.post("/v1/admin/users/lookup", json={"sub": "alice"})).status_code == 404


async def test_looking_someone_up_makes_nobody(client: MakeClient) -> None:
    operator = await client("robot", client_id="robot", scope=ADMIN)
    for _ in range(2):
        assert (await operator.post("/v1/admin/users/lookup", json={"sub": "carol"})).status_code == 404


async def test_a_user_is_no_operator(client: MakeClient) -> None:
    alice = await client("alice")
    refused = await alice.post("/v1/admin/users/lookup", json={"sub": "bob"})
    assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")


async def test_a_revoked_token_is_refused(client: MakeClient, tenant: str) -> None:
    operator = await client("robot", client_id="robot", scope=ADMIN)
    assert (await operator.post("/v1/admin/tokens/revoke", json={"jti": "token-1"})).status_code == 204
    revoked, other = await client("alice", jti="token-1"), await client("alice", jti="token-2")
    assert (await revoked.get("/v1/profile")).status_code == 401
    assert (await other.get("/v1/profile")).status_code == 200
    elsewhere = await client("alice", in_tenant=tenant + "-other", jti="token-1")
    assert (await elsewhere.get("/v1/profile")).status_code == 200


async def test_tokens_issued_before_are_refused_and_later_ones_are_not(client: MakeClient) -> None:
    now = int(time.time())
    old, new = await client("alice", iat=now - 100), await client("alice", iat=now)
    user_id = (await old.get("/v1/profile")).json()["id"]
    operator = await client("robot", client_id="robot", scope=ADMIN)
    body = {"user_id": user_id, "issued_before": datetime.fromtimestamp(now - 50, UTC).isoformat()}
    assert (await operator.post("/v1/admin/tokens/revoke", json=body)).status_code == 204

    async def refused() -> bool:
        return (await old.get("/v1/profile")).status_code == 401

    end = time.monotonic() + 10  # the directory may act on what it knew for five seconds
    while not await refused():
        assert time.monotonic() < end
    assert (await new.get("/v1/profile")).status_code == 200


async def test_another_tenants_operator_revokes_nothing(client: MakeClient, tenant: str) -> None:
    alice = await client("alice")
    user_id = (await alice.get("/v1/profile")).json()["id"]
    elsewhere = await client("robot", in_tenant=tenant + "-other", client_id="robot", scope=ADMIN)
    body = {"user_id": user_id, "issued_before": datetime.now(UTC).isoformat()}
    assert (await elsewhere.post("/v1/admin/tokens/revoke", json=body)).status_code == 404
    assert (await alice.get("/v1/profile")).status_code == 200


@pytest.mark.parametrize("body", [{}, {"jti": "a", "user_id": "usr_" + "0" * 32}, {"user_id": "usr_" + "0" * 32}])
async def test_a_revocation_names_one_thing(client: MakeClient, body: dict[str, str]) -> None:
    operator = await client("robot", client_id="robot", scope=ADMIN)
    assert (await operator.post("/v1/admin/tokens/revoke", json=body)).status_code == 422
