"""What each kind of memory costs and earns, as its user and an operator read it."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest

from app.core.audit import AuditEntry
from app.core.scope import Scope
from app.core.usage import Mark, Use
from app.usage import store
from app.usage.model import Span
from app.usage.service import UsageMeter
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope, make_token

ENTRY = AuditEntry("assemble", "context")
CREATE = {"If-None-Match": "*"}


async def note(wiring: Wiring, person: Scope, day: date, *uses: Use) -> None:
    async with wiring.db.write(person) as tx:
        await UsageMeter().note(tx, day, uses, ENTRY)


def counts_of(items: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [item for item in items if item["kind"] == kind]
    return found


async def test_a_context_is_counted_by_kind_agent_and_day(client: MakeClient) -> None:
    alice = await client(agent="helper")
    await alice.put("/v1/preferences/language", json={"value": "en-GB"}, headers=CREATE)
    context: dict[str, Any] = {}
    for _ in range(2):
        context = (await alice.post("/v1/context", json={"query": "Hello"})).raise_for_status().json()
    answer = (await alice.get("/v1/usage")).raise_for_status().json()
    preferences = counts_of(answer["items"], "preferences")
    assert preferences["day"] == datetime.now(UTC).date().isoformat()
    assert preferences["agent"] == "helper"
    assert (preferences["calls"], preferences["hits"], preferences["missed"]) == (2, 2, 0)
    tokens = sum(each["tokens"] for each in context["decisions"] if each["kind"] == "preferences" and each["loaded"])
    assert preferences["tokens"] == 2 * tokens > 0
    assert preferences["latency_ms"] > 0
    assert counts_of(answer["totals"], "preferences")["calls"] == 2
    # What was asked and had nothing was a call too.
    assert (counts_of(answer["items"], "knowledge")["calls"], counts_of(answer["items"], "knowledge")["hits"]) == (2, 0)


async def test_what_was_injected_is_marked_useful_or_not(client: MakeClient) -> None:
    alice = await client()
    await alice.put("/v1/preferences/language", json={"value": "en-GB"}, headers=CREATE)
    context = (await alice.post("/v1/context", json={"query": "Hello"})).json()
    path = f"/v1/context/{context['context_id']}/feedback"
    (await alice.post(path, json={"useful": True})).raise_for_status()
    first = counts_of((await alice.get("/v1/usage")).json()["totals"], "preferences")
    assert (first["useful"], first["useless"]) == (1, 0)
    # What is said again stands in the place of what was said before.
    item = next(block for block in context["blocks"] if block["kind"] == "preferences")["items"][0]["id"]
    (await alice.post(path, json={"useful": True, "items": [{"id": item, "useful": False}]})).raise_for_status()
    second = counts_of((await alice.get("/v1/usage")).json()["totals"], "preferences")
    assert (second["useful"], second["useless"]) == (0, 1)


async def test_days_agents_and_kinds_are_filtered_and_paged(
    wiring: Wiring, scope: MakeScope, client: MakeClient
) -> None:
    today = date(2026, 3, 10)
    for agent in (None, "helper"):
        person = await scope("alice", agent)
        for age in range(3):
            uses = [Use(kind, 1, 10, 1_500, missed=False) for kind in ("recall", "profile")]
            await note(wiring, person, today - timedelta(days=age), *uses)
    alice = await client("alice")
    seen: list[tuple[str, str | None, str]] = []
    cursor: str | None = None
    while True:
        query = {"limit": "5"} | ({"cursor": cursor} if cursor else {})
        answer = (await alice.get("/v1/usage", params=query)).raise_for_status().json()
        seen += [(item["day"], item["agent"], item["kind"]) for item in answer["items"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 12
    assert [day for day, _, _ in seen] == sorted((day for day, _, _ in seen), reverse=True)
    filters = {"from": "2026-03-09", "to": "2026-03-09", "agent": "helper", "kind": "recall"}
    answer = (await alice.get("/v1/usage", params=filters)).json()
    assert [(item["day"], item["agent"], item["kind"]) for item in answer["items"]] == [
        ("2026-03-09", "helper", "recall")
    ]
    (total,) = answer["totals"]
    assert (total["calls"], total["tokens"], total["latency_ms"]) == (1, 10, 1.5)
    refused = await alice.get("/v1/usage", params={"from": "2026-03-09", "to": "2026-03-08"})
    assert refused.status_code == 422


async def test_two_contexts_at_once_are_both_counted(wiring: Wiring, scope: MakeScope, client: MakeClient) -> None:
    person = await scope("alice")
    kinds = ["preferences", "recall", "knowledge"]
    uses = [[Use(kind, 1, 5, 100, missed=kind == "recall") for kind in order] for order in (kinds, kinds[::-1])]
    await asyncio.gather(*(note(wiring, person, date(2026, 3, 10), *uses[number % 2]) for number in range(20)))
    totals = (await (await client("alice")).get("/v1/usage")).json()["totals"]
    assert {each["kind"]: (each["calls"], each["missed"]) for each in totals} == {
        "preferences": (20, 0),
        "recall": (20, 20),
        "knowledge": (20, 0),
    }


async def test_an_operator_sees_sums_of_their_tenant_and_nobody_in_it(
    wiring: Wiring, scope: MakeScope, app_client: httpx.AsyncClient, tenant: str
) -> None:
    for name, where in (("alice", tenant), ("bob", tenant), ("mallory", f"{tenant}-other")):
        await note(
            wiring, await scope(name, in_tenant=where), date(2026, 3, 10), Use("recall", 2, 7, 1_000, missed=False)
        )

    async def asked(**claims: str) -> httpx.Response:
        token = make_token("root", tenant, **claims)
        return await app_client.get("/v1/admin/usage", headers={"Authorization": f"Bearer {token}"})

    answer = await asked(scope="admin:read")
    (recall,) = answer.raise_for_status().json()["items"]
    assert (recall["users"], recall["calls"], recall["hits"], recall["tokens"]) == (2, 2, 4, 14)
    assert "agent" not in recall
    assert (await asked(scope="context")).status_code == 403


async def test_a_user_sees_nothing_of_anothers_and_an_erasure_takes_it(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    await alice.post("/v1/context", json={"query": "Hello"})
    assert (await bob.get("/v1/usage")).json()["items"] == []
    certificate = (await alice.delete("/v1/users/me")).json()["certificate"]["document"]
    (usage,) = [store for store in certificate["stores"] if store["kind"] == "usage"]
    assert usage["erased"] > 0
    assert usage["remaining"] == 0


async def test_the_function_of_sums_answers_an_operators_door_alone(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope("alice")
    await note(wiring, alice, date(2026, 3, 10), Use("recall", 1, 1, 1, missed=False))
    with pytest.raises(Exception, match="not an operator"):
        async with wiring.db.read(alice) as tx:
            await store.of_tenant(tx, Span())


async def test_marks_are_taken_back(wiring: Wiring, scope: MakeScope, client: MakeClient) -> None:
    alice = await scope("alice")
    for mark in (Mark(1, 0), Mark(-1, 1)):
        async with wiring.db.write(alice) as tx:
            await UsageMeter().mark(tx, date(2026, 3, 10), None, {"recall": mark}, ENTRY)
    (total,) = (await (await client("alice")).get("/v1/usage")).json()["totals"]
    assert (total["calls"], total["useful"], total["useless"], total["latency_ms"]) == (0, 0, 1, None)
