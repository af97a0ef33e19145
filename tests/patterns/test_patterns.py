"""Patterns of a tenant: registered by operators, and from the answer on masked in everything that comes in."""

import asyncio
import io
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
import structlog
from sqlalchemy import select

from app import wiring as product
from app.core.scope import Operator
from app.core.withholding import withhold_also
from app.infra.audit.tables import audit_log
from app.settings import Settings
from tests.conftest import MakeClient
from tests.knowledge.conftest import drop_old_jobs, working

PATTERNS = "/v1/admin/catalog/secrets"
ABSENT = {"If-None-Match": "*"}
SAID = {"expression": r"EMP-?\d{6}", "check": "none", "examples": ["EMP-654321"]}
NUMBER, ENGLISH, CHINESE = "EMP-123456", "[employee withheld]", "[employee 已隐去]"
Body = dict[str, Any]  # Any: JSON


@pytest.fixture
async def operator(client: MakeClient) -> httpx.AsyncClient:
    return await client("robot", client_id="robot", scope="admin:catalog")


@pytest_asyncio.fixture
async def worker(wiring: product.Wiring, settings: Settings, tenant: str) -> AsyncIterator[None]:
    await drop_old_jobs(settings, tenant)
    async with working(wiring, settings):
        yield


async def register(
    operator: httpx.AsyncClient, name: str = "employee", headers: dict[str, str] = ABSENT, **changes: object
) -> httpx.Response:
    return await operator.put(f"{PATTERNS}/{name}", json={**SAID, **changes}, headers=headers)


async def said(caller: httpx.AsyncClient, content: str) -> str:
    """Say something in a new session; return what is kept of it."""
    session = (await caller.post("/v1/sessions", json={})).json()["id"]
    path = f"/v1/sessions/{session}/messages"
    answer = await caller.post(path, json={"messages": [{"role": "user", "content": content}]})
    assert answer.status_code == 201, answer.text
    kept: str = (await caller.get(path)).json()["items"][0]["content"]
    return kept


@pytest.mark.usefixtures("worker")
async def test_once_it_is_answered_it_is_masked_wherever_something_comes_in(
    client: MakeClient, operator: httpx.AsyncClient, written: io.BytesIO
) -> None:
    alice = await client("alice")
    assert await said(alice, NUMBER) == NUMBER
    assert (await register(operator)).status_code == 201
    assert await said(alice, f"my number is {NUMBER}") == f"my number is {ENGLISH}"
    assert await said(alice, "我的工号是ＥＭＰ－１２３４５６谢谢") == f"我的工号是{CHINESE}谢谢"

    stated = await alice.put("/v1/preferences/badge", json={"value": {"no": NUMBER}}, headers=ABSENT)
    assert stated.json()["value"] == {"no": ENGLISH}
    patch = {"If-Match": '"0"', "Content-Type": "application/merge-patch+json"}
    profile = await alice.patch("/v1/profile", json={"attributes": {"工号": f"是{NUMBER}"}}, headers=patch)
    assert profile.json()["attributes"] == {"工号": f"是{CHINESE}"}
    memory = await alice.post("/v1/memories", json={"text": NUMBER, "source": "explicit"})
    assert memory.json()["text"] == ENGLISH

    form = {"file": ("a.txt", f"合同：工号{NUMBER}。".encode(), "text/plain")}
    document = (await alice.post("/v1/knowledge/uploads", files=form, data={"doc_type": "contract"})).json()["id"]
    path = f"/v1/knowledge/documents/{document}"
    assert (await alice.get(f"{path}/events", params={"wait_s": 30})).json()["status"] == "ready"
    found = await alice.post("/v1/knowledge/search", json={"query": "工号"})
    assert [hit["text"] for hit in found.json()["hits"]] == [f"合同：工号{CHINESE}。"]
    original = await alice.get(f"{path}/content")
    assert (original.status_code, original.json()["code"]) == (409, "original_not_kept")

    for refused in (
        await alice.put("/v1/preferences/EMP123456", json={"value": 1}, headers=ABSENT),
        await alice.put("/v1/preferences/k", params={"agent_id": NUMBER}, json={"value": 1}, headers=ABSENT),
        await alice.post("/v1/sessions", json={"external_id": NUMBER}),
    ):
        assert (refused.status_code, NUMBER in refused.text) == (422, False)
    structlog.get_logger().info("said", text=NUMBER)
    assert NUMBER not in written.getvalue().decode()


async def test_another_tenant_is_none_of_its_business(
    client: MakeClient, operator: httpx.AsyncClient, tenant: str
) -> None:
    await register(operator)
    elsewhere = await client("alice", in_tenant=f"{tenant}-other")
    assert await said(elsewhere, NUMBER) == NUMBER
    robot = await client("robot", in_tenant=f"{tenant}-other", client_id="robot", scope="admin:catalog")
    assert (await robot.get(PATTERNS)).json() == {"items": []}
    assert (await robot.get(f"{PATTERNS}/employee")).status_code == 404
    assert (await (await client("alice")).get(PATTERNS)).status_code == 403


async def test_no_other_process_goes_by_less_than_what_was_answered(
    operator: httpx.AsyncClient, wiring: product.Wiring, tenant: str
) -> None:
    """The wiring of the tests holds patterns for itself, as another process does; it holds them all the time."""
    done = asyncio.Event()

    async def reading() -> None:
        while not done.is_set():
            await wiring.registered.enter(tenant)
            await asyncio.sleep(0.005)

    async def holds(number: str) -> bool:
        finder = await wiring.registered.enter(tenant)
        withhold_also(None)
        return bool(finder.find(number))

    busy = asyncio.create_task(reading())
    try:
        assert not await holds(NUMBER)
        assert (await register(operator)).status_code == 201
        assert await holds(NUMBER)
        changed = await register(operator, headers={"If-Match": '"1"'}, expression=r"NO\d{6}", examples=["NO123456"])
        assert changed.status_code == 200
        assert [await holds(NUMBER), await holds("NO123456")] == [False, True]
        assert (await operator.delete(f"{PATTERNS}/employee", headers={"If-Match": '"2"'})).status_code == 204
        assert not await holds("NO123456")
    finally:
        done.set()
        await busy


async def test_writes_are_conditional_and_audited(
    operator: httpx.AsyncClient, wiring: product.Wiring, tenant: str
) -> None:
    made = await register(operator, description="who works here: 4111 1111 1111 1111")
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    shown = made.json()
    assert shown["description"] == "who works here: [bank card number withheld]"
    assert (await operator.get(PATTERNS)).json()["items"] == [shown]
    assert SAID["examples"][0] not in made.text
    refused = [
        await register(operator),
        await register(operator, headers={"If-Match": '"7"'}),
        await register(operator, headers={}),
        await register(operator, name="new", headers={"If-Match": '"1"'}),
    ]
    assert [answer.status_code for answer in refused] == [412, 412, 428, 412]
    path = f"{PATTERNS}/employee"
    unchanged = await operator.get(path, headers={"If-None-Match": '"1"'})
    assert unchanged.status_code == 304
    assert (await operator.delete(path, headers={"If-Match": '"1"'})).status_code == 204
    gone = await operator.get(path)
    assert (gone.status_code, gone.json()["current_version"]) == (404, 2)
    again = await register(operator)
    assert (again.status_code, again.json()["version"]) == (201, 3)
    async with wiring.db.administer(Operator("", tenant, None)) as tx:
        rows = await tx.rows(select(audit_log).filter_by(kind="secret_pattern").order_by(audit_log.c.id))
    assert [row.action for row in rows if row.action in {"write", "delete"}] == ["write", "delete", "write"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"expression": r"\d+"}, "expression"),
        ({"expression": "("}, "expression"),
        ({"examples": ["EMP-1"]}, "examples[0]"),
        ({"examples": ["EMP-123456", "my EMP-123456"]}, "examples[1]"),
        ({"examples": []}, "examples"),
        ({"check": "luhn"}, "examples[0]"),
        ({"check": "other"}, "check"),
    ],
)
async def test_what_is_no_pattern_is_refused(operator: httpx.AsyncClient, changes: Body, field: str) -> None:
    answer = await register(operator, **changes)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert (await operator.get(PATTERNS)).json() == {"items": []}
