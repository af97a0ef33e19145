"""Operators register keys of their tenant, conditionally; nobody else does, and no other tenant sees it."""

import asyncio
import json
from collections import Counter

import asyncpg
import pytest
from sqlalchemy import select

from app.core.scope import NOBODY, Operator, Scope
from app.infra.audit.tables import audit_log
from app.infra.embedded.stack import Stack
from app.preferences.catalogue.store import rules
from app.wiring import Wiring
from tests.catalogue.registering import ABSENT, KEYS, at, register, said
from tests.conftest import MakeClient, MakeScope

OPERATOR = {"scope": "admin:catalog"}
SCHEMA = {"type": "object", "properties": {"size": {"$ref": "#/$defs/size"}}, "$defs": {"size": {"maximum": 9}}}


async def test_a_registered_key_is_read_changed_and_removed(client: MakeClient) -> None:
    operator = await client("ops", **OPERATOR)
    body = said(
        schema=SCHEMA,
        enumeration=None,
        merge="last_write",
        sensitive=True,
        description="How large the letters are",
        names={"zh": "字号", "en": "Text size"},
    )
    made = await operator.put(f"{KEYS}/text.size", json=body, headers=ABSENT)
    assert (made.status_code, made.headers["etag"], made.json()["version"]) == (201, '"1"', 1)
    assert (body | {"key": "text.size", "commitment": False}).items() <= made.json().items()
    read = await operator.get(f"{KEYS}/text.size")
    assert (read.json(), read.headers["etag"]) == (made.json(), '"1"')
    assert (await operator.get(f"{KEYS}/text.size", headers={"If-None-Match": '"1"'})).status_code == 304
    changed = await operator.put(f"{KEYS}/text.size", json=said(), headers=at(1))
    assert (changed.status_code, changed.json()["version"], changed.json()["merge"]) == (200, 2, "refuse")
    removed = await operator.delete(f"{KEYS}/text.size", headers=at(2))
    assert (removed.status_code, removed.headers["etag"]) == (204, '"3"')
    gone = await operator.get(f"{KEYS}/text.size")
    assert (gone.status_code, gone.json()["current_version"]) == (404, 3)
    assert (await operator.delete(f"{KEYS}/text.size", headers=at(3))).status_code == 404
    again = await operator.put(f"{KEYS}/text.size", json=said(), headers=ABSENT)
    assert (again.status_code, again.json()["version"]) == (201, 4), "an old ETag never names something else"


async def test_keys_are_listed_page_by_page(client: MakeClient) -> None:
    operator = await client("ops", **OPERATOR)
    for key in ("b", "a", "d", "c", "gone"):
        await register(operator, key)
    await operator.delete(f"{KEYS}/gone", headers=at(1))
    first = (await operator.get(KEYS, params={"limit": 3})).json()
    second = (await operator.get(KEYS, params={"limit": 3, "cursor": first["next_cursor"]})).json()
    assert [item["key"] for item in (*first["items"], *second["items"])] == ["a", "b", "c", "d"]
    assert second["next_cursor"] is None


async def test_writes_are_conditional(client: MakeClient) -> None:
    operator = await client("ops", **OPERATOR)
    path = f"{KEYS}/theme"
    assert (await operator.put(path, json=said())).status_code == 428
    assert (await operator.put(path, json=said(), headers=at(1))).status_code == 412
    assert (await operator.delete(path, headers=at(1))).status_code == 404
    await register(operator, "theme")
    exists = await operator.put(path, json=said(), headers=ABSENT)
    assert (exists.status_code, exists.json()["code"], exists.json()["current_version"]) == (412, "exists", 1)
    for answer in (await operator.put(path, json=said(), headers=at(2)), await operator.delete(path, headers=at(2))):
        assert (answer.status_code, answer.json()["current_version"]) == (412, 1)
    answers = await asyncio.gather(*(operator.put(path, json=said(), headers=at(1)) for _ in range(10)))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 9}
    answers = await asyncio.gather(*(operator.put(f"{KEYS}/new", json=said(), headers=ABSENT) for _ in range(10)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 412: 9}


DEEP: dict[str, object] = {}
for _ in range(30):
    DEEP = {"items": DEEP}
BOMB = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)} | {"a30": {"type": "string"}}


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": {"type": "nothing"}},
        {"schema": {"pattern": "("}},
        {"schema": {"pattern": "(?=a)b"}},
        {"schema": {"$ref": "https://example.org/schema.json"}},
        {"schema": {"$ref": "file:///etc/passwd"}},
        {"schema": {"$ref": "#"}},
        {"schema": {"$ref": "#/$defs/none"}},
        {"schema": {"$ref": 1}},
        {"schema": {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}},
        {"schema": {"$defs": BOMB, "$ref": "#/$defs/a0"}},
        {"schema": {"$id": "https://example.org/", "type": "string"}},
        {"schema": {"$schema": "http://json-schema.org/draft-07/schema#"}},
        {"schema": {"$dynamicRef": "#node"}},
        {"schema": DEEP},
        {"schema": {"enum": ["x" * 1_000] * 20}},
        {"schema": {"enum": list(range(2_100))}},
        {"schema": None},
        {"schema": "string"},
        {"enumeration": []},
        {"enumeration": [None]},
        {"enumeration": [["a"]]},
        {"enumeration": ["a", "a"]},
        {"enumeration": [1, 1.0]},
        {"enumeration": ["a"] * 201},
        {"enumeration": ["a", 1], "schema": {"type": "string"}},
        {"merge": "first_write"},
        {"merge": "last_write", "commitment": True},
        {"commitment": 1},
        {"description": None},
        {"description": "x" * 1_001},
        {"names": {"fr": "x"}},
        {"names": {"zh": ""}},
        {"key": "theme"},
    ],
    ids=lambda changes: json.dumps(changes)[:60],
)
async def test_what_cannot_be_registered_is_refused(client: MakeClient, changes: dict[str, object]) -> None:
    operator = await client("ops", **OPERATOR)
    answer = await operator.put(f"{KEYS}/theme", json=said(**changes), headers=ABSENT)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text
    assert (await operator.get(f"{KEYS}/theme")).status_code == 404


async def test_a_user_and_another_permission_register_nothing(client: MakeClient) -> None:
    for caller in (await client(), await client("ops", scope="admin:read admin:erase")):
        answer = await caller.put(f"{KEYS}/theme", json=said(), headers=ABSENT)
        assert (answer.status_code, answer.json()["scope"]) == (403, "admin:catalog")


async def test_another_tenant_sees_and_changes_nothing(client: MakeClient, tenant: str) -> None:
    ours, theirs = await client("ops", **OPERATOR), await client("ops", f"{tenant}-2", **OPERATOR)
    await register(ours, "theme", enumeration=["dark"])
    assert (await theirs.get(f"{KEYS}/theme")).status_code == 404
    assert (await theirs.get(KEYS)).json()["items"] == []
    assert (await theirs.put(f"{KEYS}/theme", json=said(), headers=at(1))).status_code == 412
    assert (await theirs.delete(f"{KEYS}/theme", headers=at(1))).status_code == 404
    assert (await register(theirs, "theme"))["version"] == 1
    stranger = await client("bob", f"{tenant}-2")
    assert (await stranger.put("/v1/preferences/theme", json={"value": "light"}, headers=ABSENT)).status_code == 201
    own = await client("alice")
    assert (await own.put("/v1/preferences/theme", json={"value": "light"}, headers=ABSENT)).status_code == 422


async def test_the_database_lets_no_user_write_the_catalogue(
    stack: Stack, scope: MakeScope, client: MakeClient
) -> None:
    await register(await client("ops", **OPERATOR), "theme")
    alice = await scope("alice")
    connection = await asyncpg.connect(str(stack.urls.database).replace("+asyncpg", ""))
    try:
        async with connection.transaction():
            await connection.execute("SELECT set_config('app.user_id', $1, true)", str(alice.usr))
            await connection.execute("SELECT set_config('app.tenant', $1, true)", alice.tenant)
            assert await connection.fetchval("SELECT count(*) FROM catalogue_keys") == 1
            assert await connection.execute("UPDATE catalogue_keys SET sensitive = true") == "UPDATE 0"
        async with connection.transaction():
            assert await connection.fetchval("SELECT count(*) FROM catalogue_keys") == 0, "nobody is bound"
    finally:
        await connection.close()


async def test_what_operators_do_is_in_the_audit(wiring: Wiring, client: MakeClient, tenant: str) -> None:
    operator = await client("ops", agent="console", **OPERATOR)
    await register(operator, "theme")
    await operator.delete(f"{KEYS}/theme", headers=at(1))
    await operator.put("/v1/admin/catalog", json={"closed": True}, headers=at(0))
    async with wiring.db.administer(Operator("", tenant, None)) as tx:
        rows = await tx.rows(select(audit_log).filter_by(usr=NOBODY, tenant=tenant).order_by(audit_log.c.id))
    told = [(row.actor, row.agent, row.action, row.kind) for row in rows]
    assert told == [
        ("operator", "console", "write", "catalogue_key"),
        ("operator", "console", "delete", "catalogue_key"),
        ("operator", "console", "write", "catalogue"),
    ]
    assert rows[0].item == rows[1].item is not None


async def test_the_setting_is_conditional_and_open_at_first(client: MakeClient) -> None:
    operator = await client("ops", **OPERATOR)
    first = await operator.get("/v1/admin/catalog")
    assert (first.json(), first.headers["etag"]) == ({"closed": False, "version": 0}, '"0"')
    path, body = "/v1/admin/catalog", {"closed": True}
    assert (await operator.put(path, json=body)).status_code == 428
    assert (await operator.put(path, json=body, headers=at(1))).status_code == 412
    answers = await asyncio.gather(*(operator.put(path, json=body, headers=at(0)) for _ in range(10)))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 9}
    assert (await operator.put(path, json=body, headers=ABSENT)).status_code == 412
    opened = await operator.put(path, json={"closed": False}, headers=at(1))
    assert (opened.status_code, opened.json()) == (200, {"closed": False, "version": 2})


async def test_rules_of_keys_that_nobody_registered_are_empty(wiring: Wiring, scope: MakeScope) -> None:
    alice: Scope = await scope()
    async with wiring.db.read(alice) as tx:
        found = await rules(tx, ["a", "b"])
    assert (found.closed, dict(found.registered)) == (False, {})
