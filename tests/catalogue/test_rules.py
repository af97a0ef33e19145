"""What a tenant has registered holds on every way to write a preference; what is stored stays readable."""

import asyncio
from collections import Counter

import asyncpg
import httpx
import pytest

from app.infra.embedded.stack import Stack
from tests.catalogue.registering import ABSENT, KEYS, Json, at, register
from tests.conftest import MakeClient

OPERATOR = {"scope": "admin:catalog"}
PATH = "/v1/preferences/style"
SECRET = "a very secret value"


async def put(caller: httpx.AsyncClient, value: object, version: int = 0, key: str = "style") -> httpx.Response:
    headers = at(version) if version else ABSENT
    return await caller.put(f"/v1/preferences/{key}", json={"value": value}, headers=headers)


async def batch(caller: httpx.AsyncClient, *items: tuple[str, object, int | None]) -> httpx.Response:
    body = {"items": [{"key": key, "value": value, "version": version} for key, value, version in items]}
    return await caller.put("/v1/preferences", json=body)


async def propose(caller: httpx.AsyncClient, value: object, key: str = "style") -> httpx.Response:
    return await caller.post("/v1/preference-proposals", json={"key": key, "value": value, "confidence": 0.5})


async def stored(stack: Stack, tenant: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        query = "SELECT * FROM {} WHERE tenant = $1"
        rows: list[asyncpg.Record] = await connection.fetch(query.format("preferences"), tenant)
        return rows
    finally:
        await connection.close()


@pytest.mark.parametrize(
    "changes",
    [{"schema": {"type": "object", "properties": {"tone": {"maxLength": 5}}}}, {"enumeration": ["dry", "warm"]}],
    ids=["schema", "enumeration"],
)
async def test_a_value_must_meet_what_is_registered_on_every_way(client: MakeClient, changes: Json) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await put(alice, {"tone": SECRET})
    await put(alice, {"tone": "other"} if "schema" in changes else "dry", 1)
    waiting = (await propose(alice, {"tone": SECRET + "!"})).json()["candidate"]
    await register(operator, "style", **changes)
    accept = await alice.post(f"/v1/preference-candidates/{waiting['id']}/accept", headers=at(waiting["version"]))
    roll = await alice.post(f"{PATH}/rollback", json={"to_version": 1}, headers=at(2))
    several = await batch(alice, ("fine", 1, None), ("style", {"tone": SECRET}, 2))
    answers = [await put(alice, {"tone": SECRET}, 2), await propose(alice, {"tone": SECRET}), several, roll, accept]
    fields = ["value", "value", "items[1].value", "to_version", "value"]
    for answer, field in zip(answers, fields, strict=True):
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text
        assert [error["field"] for error in answer.json()["errors"]] == [field]
        assert SECRET not in answer.text
    assert (await alice.get(PATH)).json()["version"] == 2
    assert (await alice.get("/v1/preferences/fine")).status_code == 404


async def test_what_was_stored_before_stays_readable(client: MakeClient) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await put(alice, SECRET)
    await register(operator, "style", schema={"type": "integer"})
    assert (await alice.get(PATH)).json()["value"] == SECRET
    assert [item["value"] for item in (await alice.get("/v1/preferences")).json()["items"]] == [SECRET]
    assert (await alice.get(f"{PATH}/history")).json()["items"][0]["value"] == SECRET
    assert (await put(alice, 3, 1)).status_code == 200
    assert (await alice.delete(PATH, headers=at(2))).status_code == 204


async def test_the_numbers_of_an_enumeration_are_numbers(client: MakeClient) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "style", enumeration=[1, "1", False])
    assert (await put(alice, 1.0)).status_code == 201
    for refused in (True, 0, "true", [1], None):
        assert (await put(alice, refused, 1)).status_code == 422, refused


async def test_a_value_of_an_enumeration_stands_as_it_is_and_any_other_is_sealed(
    client: MakeClient, stack: Stack, tenant: str
) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "style", enumeration=["dry", "warm"])
    await register(operator, "free", schema={"type": "string"})
    await register(operator, "quiet", enumeration=["dry", "warm"], sensitive=True)
    for key in ("style", "free", "quiet", "unknown"):
        assert (await put(alice, "warm", key=key)).status_code == 201
    rows = await stored(stack, tenant)
    plain = {(row["key_plain"], row["value_plain"], row["value_sealed"] is None) for row in rows}
    assert plain == {("style", '"warm"', True), (None, None, False)}
    assert (await alice.get(PATH)).json()["value"] == "warm"
    await operator.delete(f"{KEYS}/style", headers=at(1))
    assert (await alice.get(PATH)).json()["value"] == "warm"
    assert (await put(alice, "anything", 1)).status_code == 200
    assert all(row["value_plain"] is None for row in await stored(stack, tenant))


async def test_what_is_deleted_is_gone_where_it_stood_as_it_was(client: MakeClient, stack: Stack, tenant: str) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "style", enumeration=["dry", "warm"])
    await put(alice, "warm")
    await put(alice, "dry", 1)
    await alice.delete(PATH, headers=at(2))
    history = (await alice.get(f"{PATH}/history")).json()["items"]
    assert [entry["value"] for entry in history] == [None, None, None]
    assert [(row["value_plain"], row["key_plain"]) for row in await stored(stack, tenant)] == [(None, None)]


async def test_a_closed_catalogue_refuses_keys_that_it_does_not_have(client: MakeClient) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "style")
    await put(alice, "kept", key="old")
    await operator.put("/v1/admin/catalog", json={"closed": True}, headers=at(0))
    for answer in (
        await put(alice, 1, key="new"),
        await put(alice, 1, 1, key="old"),
        await propose(alice, 1, key="new"),
        await batch(alice, ("style", 1, None), ("new", 1, None)),
        await alice.post("/v1/preferences/old/rollback", json={"to_version": 1}, headers=at(1)),
    ):
        assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, ["key"])
    assert (await put(alice, 1)).status_code == 201
    assert (await alice.get("/v1/preferences/old")).json()["value"] == "kept"
    assert (await alice.delete("/v1/preferences/old", headers=at(1))).status_code == 204


async def test_the_last_write_holds_where_the_tenant_has_it_so_and_says_what_it_passed_over(client: MakeClient) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "style", merge="last_write")
    first = (await put(alice, "a")).json()
    assert (first["merged"], first["passed_over"]) == (False, None)
    await put(alice, "b", 1)
    late = await put(alice, "c", 1)
    assert (late.status_code, late.headers["etag"]) == (200, '"3"')
    assert (late.json()["merged"], late.json()["passed_over"], late.json()["version"]) == (True, 2, 3)
    unaware = await put(alice, "d")
    assert (unaware.status_code, unaware.json()["passed_over"]) == (200, 3)
    assert (await put(alice, "e", 9)).status_code == 412, "a version that never was is no earlier one"
    assert (await alice.delete(PATH, headers=at(1))).status_code == 412, "a deletion is no write"
    await alice.delete(PATH, headers=at(4))
    assert (await put(alice, "f", 2)).status_code == 412, "what the user took back stays so"
    history = (await alice.get(f"{PATH}/history")).json()["items"]
    assert [entry["version"] for entry in history] == [5, 4, 3, 2, 1]


async def test_of_ten_writes_at_once_all_hold_where_the_last_one_does(client: MakeClient) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "style", merge="last_write")
    await put(alice, "first")
    answers = await asyncio.gather(*(put(alice, number, 1) for number in range(10)))
    assert Counter(answer.status_code for answer in answers) == {200: 10}
    assert sorted(answer.json()["version"] for answer in answers) == list(range(2, 12))
    passed = sorted(answer.json()["passed_over"] or 0 for answer in answers)
    assert passed == [0, *range(2, 11)], "each says what it has replaced unseen"


async def test_in_a_batch_each_item_merges_by_its_own_key(client: MakeClient) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "style", merge="last_write")
    await batch(alice, ("style", 1, None), ("other", 1, None))
    await put(alice, 2, 1)
    merged = await batch(alice, ("other", 2, 1), ("style", 3, 1))
    told = [(item["key"], item["version"], item["merged"], item["passed_over"]) for item in merged.json()["items"]]
    assert told == [("other", 2, False, None), ("style", 3, True, 2)]
    refused = await batch(alice, ("style", 4, 1), ("other", 3, 1))
    assert [error["field"] for error in refused.json()["errors"]] == ["items[1].version"]
    assert (await alice.get(PATH)).json()["version"] == 3


async def test_a_commitment_is_the_users_own_word_alone(client: MakeClient) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "style", commitment=True, schema={"type": "boolean"})
    outcome = (await propose(alice, value := True)).json()
    assert (outcome["state"], outcome["because"], outcome["preference"]) == ("candidate", "commitment", None)
    candidate = outcome["candidate"]
    path = f"/v1/preference-candidates/{candidate['id']}/accept"
    accepted = await alice.post(path, headers=at(candidate["version"]))
    assert (accepted.status_code, accepted.json()["value"]) == (201, value)
    assert (await put(alice, False, 1)).status_code == 200
    assert (await put(alice, True, 1)).status_code == 412


SENSITIVE = [
    ("style", "我患有糖尿病"),
    ("style", {"note": ["I'm gay"]}),
    ("religion", "x"),
    ("style", "账户余额是5000元"),
]


@pytest.mark.parametrize(("key", "value"), SENSITIVE)
async def test_what_is_sensitive_is_refused_without_the_tenants_word(
    client: MakeClient, key: str, value: object
) -> None:
    alice = await client()
    for answer in (
        await propose(alice, value, key),
        await put(alice, value, key=key),
        await batch(alice, ("fine", 1, None), (key, value, None)),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "sensitive_category")
        assert answer.json()["category"] in {"health", "sexual", "belief", "financial"}
    assert (await alice.get("/v1/preferences")).json()["items"] == []


@pytest.mark.parametrize(("key", "value"), SENSITIVE)
async def test_what_the_tenant_has_as_sensitive_is_kept_where_the_user_says_it_and_never_inferred(
    client: MakeClient, key: str, value: object
) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, key, sensitive=True)
    assert (await put(alice, value, key=key)).status_code == 201
    for guess in (value, "harmless"):
        answer = await propose(alice, guess, key)
        assert (answer.status_code, answer.json()["code"]) == (403, "sensitive_category")


async def test_the_name_of_a_key_that_is_registered_is_the_tenants_to_judge(client: MakeClient) -> None:
    alice, operator = await client(), await client("ops", **OPERATOR)
    await register(operator, "health.newsletter", schema={"type": "boolean"})
    assert (await propose(alice, True, "health.newsletter")).json()["state"] == "applied"
