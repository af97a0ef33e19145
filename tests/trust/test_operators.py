"""Operators who act on users of their tenant, with a reason that the user sees. Made from the OpenAPI document."""

from collections.abc import Mapping

import httpx
import pytest
from fastapi import FastAPI

from app.core import ids
from app.infra.redis.memory import MemoryCopies
from tests.conftest import MakeClient
from tests.trust.test_isolation import IDS, NAMES, SECRET, Operation, Person, furnish, operations, told

WHY = "Ticket 4711: she asks what we have. 工单"
REASON = [(b"Cairn-Reason", WHY.encode())]
ADMIN = "admin:read admin:erase admin:audit admin:catalog admin:hold"
VALUES = {"secret_type": "passport"}
MIN_READS = 22


def upon_a_user(app: FastAPI) -> list[Operation]:
    return [each for each in operations(app, of_operators=True) if "user_id" in each.parameters]


def reads(app: FastAPI) -> list[Operation]:
    found = [each for each in upon_a_user(app) if each.method == "GET"]
    assert len(found) >= MIN_READS
    return found


async def call(
    operation: Operation, client: httpx.AsyncClient, values: Mapping[str, str], **headers: str
) -> httpx.Response:
    body = {"PUT": {"value": "E12345678"}}.get(operation.method) if operation.path.endswith("{secret_type}") else None
    path = operation.path.format(**values)
    return await client.request(operation.method, path, json=body, headers=list(headers.items()) or REASON)


def values_of(person: Person) -> dict[str, str]:
    return {**person.ids, **NAMES, **VALUES, "user_id": ids.show("usr", person.usr)}


@pytest.fixture
async def bob(client: MakeClient) -> Person:
    return await furnish(await client("bob"), SECRET)


async def test_an_operator_reads_what_the_user_reads_and_the_user_sees_who_and_why(
    app: FastAPI, client: MakeClient, bob: Person
) -> None:
    operator = await client("carol", client_id="console", scope="admin:read")
    for operation in reads(app):
        answer = await call(operation, operator, values_of(bob))
        assert answer.status_code == 200, (operation.name, answer.text)
        assert answer.headers["cache-control"] == "no-store"
        nameless = await call(operation, operator, values_of(bob), **{"X-Request-ID": "none"})
        assert (nameless.status_code, nameless.json()["errors"][0]["field"]) == (422, "Cairn-Reason")
    theirs = "/v1/admin/users/" + ids.show("usr", bob.usr)
    own = (await bob.client.get("/v1/memories")).json()["items"]
    assert (await operator.get(f"{theirs}/memories", headers=REASON)).json()["items"] == own
    trail = (await bob.client.get("/v1/audit", params={"limit": 200})).json()["items"]
    by_operator = [entry for entry in trail if entry["actor"] == "operator"]
    assert {entry["reason"] for entry in by_operator if entry["outcome"] == "done"} == {WHY}
    assert len({(entry["action"], entry["kind"]) for entry in by_operator}) >= MIN_READS - 5


async def test_somebody_of_another_tenant_is_nobody_and_the_attempt_is_noted(
    app: FastAPI, client: MakeClient, tenant: str, bob: Person
) -> None:
    elsewhere = await client("carol", in_tenant=f"{tenant}-2", client_id="console", scope=ADMIN)
    theirs, never = values_of(bob), values_of(bob) | {"user_id": ids.show("usr", ids.new_user_reference())}
    shown = ("/v1/profile", "/v1/memories", "/v1/verifications")
    before = [(await bob.client.get(path)).content for path in shown]
    tried = upon_a_user(app)
    for operation in tried:
        answer = await call(operation, elsewhere, theirs)
        assert answer.status_code == 404, (operation.name, answer.text)
        assert told(answer) == told(await call(operation, elsewhere, never)), operation.name
        assert SECRET not in answer.text
    assert [
        (await bob.client.get(path)).content for path in ("/v1/profile", "/v1/memories", "/v1/verifications")
    ] == before
    await app.state.access_log.flushed()
    noted = (await elsewhere.get("/v1/admin/audit", params={"limit": 200})).json()["items"]
    refused = {entry["action"] for entry in noted if entry["outcome"] == "not_found"}
    assert {operation.name for operation in tried} <= refused


async def test_with_what_belongs_to_another_user_of_the_tenant_an_operator_finds_nothing(
    app: FastAPI, client: MakeClient, bob: Person
) -> None:
    alice = await furnish(await client("alice"), "what alice says")
    operator = await client("carol", client_id="console", scope="admin:read")
    for operation in reads(app):
        for name in set(operation.parameters) & IDS.keys():
            mixed = values_of(alice) | {name: bob.ids[name]}
            answer = await call(operation, operator, mixed)
            assert (answer.status_code, SECRET in answer.text) == (404, False), operation.name


async def test_each_route_asks_for_its_own_scope(app: FastAPI, client: MakeClient, bob: Person) -> None:
    for operation in upon_a_user(app):
        [permission] = [each for way in operation.details["security"] for each in way.get("token", [])]
        others = " ".join(each for each in ADMIN.split() if each != permission)
        operator = await client("carol", client_id="console", scope=others)
        answer = await call(operation, operator, values_of(bob))
        assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope"), operation.name


async def test_what_an_operator_reads_leaves_no_copy(
    client: MakeClient, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[object] = []
    monkeypatch.setattr(MemoryCopies, "put", lambda *given: kept.append(given))
    operator = await client("carol", client_id="console", scope="admin:read")
    theirs = "/v1/admin/users/" + ids.show("usr", bob.usr)
    for path in ("profile", "preferences", f"sessions/{bob.ids['session_id']}"):
        assert (await operator.get(f"{theirs}/{path}", headers=REASON)).status_code == 200
    assert kept == []


async def test_an_operator_erases_a_user_and_the_certificate_says_so(client: MakeClient, bob: Person) -> None:
    operator = await client("carol", client_id="console", scope="admin:erase admin:read")
    theirs = "/v1/admin/users/" + ids.show("usr", bob.usr)
    erased = await operator.delete(theirs, headers=REASON)
    assert erased.status_code == 200, erased.text
    document = erased.json()["certificate"]["document"]
    assert (document["requested_by"], document["right"][:27]) == ("operator", "erasure by the organisation")
    assert (await operator.delete(theirs, headers=REASON)).json()["certificate"] == erased.json()["certificate"]
    assert (await operator.get(f"{theirs}/profile", headers=REASON)).status_code == 404
    assert (await bob.client.get("/v1/profile")).status_code == 410
