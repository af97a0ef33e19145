"""Registered secrets: compared and never stored, limited, and gone with their user."""

import asyncio
import hashlib

import httpx
import pytest
from sqlalchemy import select

from app import wiring as product
from app.core.ids import parse
from app.core.scope import Scope
from app.infra.audit.tables import audit_log
from app.verifications.tables import registered_secrets
from app.verifications.tokens import MAX_ATTEMPTS
from tests.conftest import MakeClient

IDENTITY = "11010519491231002X"
OPERATOR = "admin:catalog admin:read"
WHY = {"Cairn-Reason": "seen at the counter"}
VERIFICATIONS = "/v1/verifications"
BOTH = ((IDENTITY, "identity_card"), ("E12345678", "passport"))


@pytest.fixture
async def alice(client: MakeClient) -> httpx.AsyncClient:
    return await client("alice")


@pytest.fixture
async def operator(client: MakeClient) -> httpx.AsyncClient:
    return await client("robot", client_id="robot", scope=OPERATOR)


async def user_id(client: httpx.AsyncClient) -> str:
    return str((await client.get("/v1/profile")).json()["id"])


async def register(
    operator: httpx.AsyncClient, user: str, value: str = IDENTITY, kind: str = "identity_card"
) -> httpx.Response:
    return await operator.put(f"/v1/admin/users/{user}/secrets/{kind}", json={"value": value}, headers=WHY)


async def verify(client: httpx.AsyncClient, value: str = IDENTITY, kind: str = "identity_card") -> httpx.Response:
    return await client.post(VERIFICATIONS, json={"type": kind, "value": value})


async def test_a_right_value_gives_a_token_that_a_service_can_check(
    alice: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    assert (await register(operator, await user_id(alice))).status_code == 204
    left = []
    for written in (IDENTITY, "110105 19491231 002x", "１１０１０５１９４９１２３１００２Ｘ"):
        answer = await verify(alice, written)
        assert answer.status_code == 200, answer.text
        checked = await alice.post(f"{VERIFICATIONS}/check", json={"token": answer.json()["token"]})
        assert checked.json() == {"type": "identity_card", "expires_at": answer.json()["expires_at"]}
        left.append(answer.headers["ratelimit"].partition(";t=")[0])
    assert left == [f'"verifications";r={MAX_ATTEMPTS - made}' for made in (1, 2, 3)]


async def test_a_wrong_value_and_one_that_is_not_registered_look_the_same(
    alice: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    await register(operator, await user_id(alice))
    wrong = [await verify(alice, "110101199003070011"), await verify(alice, kind="passport")]
    assert {(answer.status_code, answer.json()["code"]) for answer in wrong} == {(403, "not_verified")}
    assert wrong[0].json()["detail"] == wrong[1].json()["detail"]


async def test_the_value_of_one_type_is_not_that_of_another(
    alice: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    user = await user_id(alice)
    await register(operator, user, kind="identity_card")
    await register(operator, user, value="E12345678", kind="passport")
    assert (await verify(alice, "E12345678", "identity_card")).status_code == 403
    assert (await verify(alice, "e 1234 5678", "passport")).status_code == 200


async def test_a_new_value_takes_the_place_of_the_old_and_can_be_withdrawn(
    alice: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    user = await user_id(alice)
    await register(operator, user)
    await register(operator, user, "110101199003070011")
    assert [(await verify(alice, value)).status_code for value in (IDENTITY, "110101199003070011")] == [403, 200]
    gone = await operator.delete(
        f"/v1/admin/users/{user}/secrets/identity_card", headers=[(b"Cairn-Reason", "已过期".encode())]
    )
    assert gone.status_code == 204
    assert (await verify(alice, "110101199003070011")).status_code == 403
    [item] = (await alice.get(VERIFICATIONS)).json()["items"]
    assert (item["registered"], item["reason"]) == (False, "已过期")


async def test_a_token_ends_with_the_value_that_it_verified(
    alice: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    user, passport = await user_id(alice), "E12345678"
    await register(operator, user, passport, "passport")
    await register(operator, user)
    shown = [(await verify(alice, value, kind)).json()["token"] for value, kind in BOTH]

    async def checked() -> list[int]:
        return [(await alice.post(f"{VERIFICATIONS}/check", json={"token": token})).status_code for token in shown]

    assert await checked() == [200, 200]
    await register(operator, user)  # the same value, registered anew: who took it back meant its tokens too
    assert await checked() == [404, 200]
    await operator.delete(f"/v1/admin/users/{user}/secrets/passport", headers=WHY)
    assert await checked() == [404, 404]
    await register(operator, user, passport, "passport")
    assert await checked() == [404, 404]


async def test_comparisons_are_limited(alice: httpx.AsyncClient, operator: httpx.AsyncClient) -> None:
    await register(operator, await user_id(alice))
    answers = await asyncio.gather(*(verify(alice, f"value {each}") for each in range(MAX_ATTEMPTS + 3)))
    assert sorted(answer.status_code for answer in answers) == [403] * MAX_ATTEMPTS + [429] * 3
    limited = await verify(alice)
    assert (limited.status_code, limited.json()["code"]) == (429, "rate_limited")
    assert int(limited.headers["retry-after"]) > 0
    assert limited.headers["ratelimit"].startswith('"verifications";r=0;t=')


async def test_nothing_of_a_users_is_anothers(
    client: MakeClient, alice: httpx.AsyncClient, operator: httpx.AsyncClient, tenant: str
) -> None:
    user = await user_id(alice)
    await register(operator, user)
    token = (await verify(alice)).json()["token"]
    bob = await client("bob")
    assert (await verify(bob)).status_code == 403
    assert (await bob.post(f"{VERIFICATIONS}/check", json={"token": token})).status_code == 404
    assert (await bob.get(VERIFICATIONS)).json() == {"items": []}
    elsewhere = await client("robot", in_tenant=tenant + "-other", client_id="robot", scope=OPERATOR)
    assert (await register(elsewhere, user, "110101199003070011")).status_code == 404
    assert (await verify(alice)).status_code == 200


async def test_an_operator_says_why_and_the_user_can_read_it(
    alice: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    user = await user_id(alice)
    where = f"/v1/admin/users/{user}/secrets/identity_card"
    for headers in ({}, {"Cairn-Reason": " "}, {"Cairn-Reason": "x" * 501}):
        refused = await operator.put(where, json={"value": IDENTITY}, headers=headers)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "Cairn-Reason")
    assert (await alice.put(where, json={"value": IDENTITY}, headers=WHY)).status_code == 403
    await operator.put(where, json={"value": IDENTITY}, headers={"Cairn-Reason": "card 4111 1111 1111 1111"})
    [item] = (await alice.get(VERIFICATIONS)).json()["items"]
    assert item["reason"] == "card [bank card number withheld]"


@pytest.mark.parametrize(
    "body",
    [{"type": "Identity", "value": IDENTITY}, {"type": "passport", "value": "- - - -"}, {"type": "passport"}],
)
async def test_what_is_no_value_is_refused(alice: httpx.AsyncClient, body: dict[str, str]) -> None:
    answer = await alice.post(VERIFICATIONS, json=body)
    assert answer.status_code == 422
    assert IDENTITY not in answer.text


async def test_what_is_kept_is_a_hash_and_who_registered_it(
    alice: httpx.AsyncClient, operator: httpx.AsyncClient, wiring: product.Wiring, tenant: str
) -> None:
    user = await user_id(alice)
    await register(operator, user)
    usr = parse("usr", user)
    async with wiring.db.read(Scope(tenant, usr, None)) as tx:
        [kept] = await tx.rows(select(registered_secrets).filter_by(usr=usr))
        audited = await tx.rows(select(audit_log.c.actor, audit_log.c.action).filter_by(usr=usr))
    assert (len(kept.salt), len(kept.hash)) == (16, 32)
    assert all(IDENTITY.encode() not in value for value in kept if isinstance(value, bytes))
    assert kept.hash != hashlib.sha256(kept.salt + IDENTITY.encode()).digest()
    assert ("operator", "register") in {tuple(row) for row in audited}


async def test_an_erasure_takes_hashes_attempts_and_tokens_along(
    alice: httpx.AsyncClient, operator: httpx.AsyncClient, wiring: product.Wiring, tenant: str
) -> None:
    user = await user_id(alice)
    await register(operator, user)
    token = (await verify(alice)).json()["token"]
    forgotten = await alice.delete("/v1/users/me")
    assert forgotten.status_code in {200, 202}, forgotten.text
    left = [kind for kind in wiring.user_data if kind.name in {"registered_secrets", "hot_copies"}]
    scope = Scope(tenant, parse("usr", user), None)
    if forgotten.status_code == 202:  # the machine is busy, and the rest is a job's, which no worker does here
        for kind in left:
            await kind.erase(scope)
    assert [await kind.count(scope) for kind in left] == [0, 0]
    assert (await alice.post(f"{VERIFICATIONS}/check", json={"token": token})).status_code == 410
    assert (await register(operator, user)).status_code == 404
