"""A fact whose time is over isn't shown from that moment on, and its text goes when the worker comes to it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import httpx

from app.core.ids import parse
from app.core.scope import Actor
from app.infra.embedded.stack import Stack
from app.memories.expiring import EXPIRE_JOB
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope, eventually
from tests.memories.facts import Json, add, delete, put, recalled

CAT = "The user's cat is called Quetzal."


def soon() -> str:
    """Return a moment that comes while the test runs."""
    return (datetime.now(UTC) + timedelta(seconds=2)).isoformat()


async def expire(wiring: Wiring, scope: MakeScope, memory: Json) -> None:
    """Do the worker's work for a version of a fact."""
    handler = next(handler for handler in wiring.handlers if handler.name == EXPIRE_JOB)
    args = {"memory_id": str(parse("mem", memory["id"])), "version": memory["version"]}
    await handler.run(replace(await scope("alice"), actor=Actor.WORKER), args)


async def owed(stack: Stack, usr: UUID) -> list[tuple[int, datetime]]:
    """Return the versions whose end is owed to the user, and when."""
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        rows = await connection.fetch(
            "SELECT (args ->> 'version')::int AS version, scheduled_at FROM queue.procrastinate_jobs"
            " WHERE task_name = $1 AND args ->> 'usr' = $2 AND args ->> 'memory_id' IS NOT NULL ORDER BY id",
            EXPIRE_JOB,
            str(usr),
        )
    finally:
        await connection.close()
    return [(row["version"], row["scheduled_at"]) for row in rows]


async def is_over(client: httpx.AsyncClient, memory: Json) -> None:
    """Wait until the time of a fact is over."""

    async def is_gone() -> bool:
        return (await client.get(f"/v1/memories/{memory['id']}")).status_code == 404

    await eventually(is_gone)


async def test_a_fact_whose_time_is_over_shows_nowhere_before_the_worker_comes(client: MakeClient) -> None:
    alice = await client()
    memory = await add(alice, CAT, expires_at=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    assert len(await recalled(alice, "cat Quetzal")) == 1
    memory = await put(alice, memory, CAT, expires_at=soon())
    await is_over(alice, memory)
    assert await recalled(alice, "cat Quetzal") == []
    context = (await alice.post("/v1/context", json={"query": "cat Quetzal"})).json()
    assert "Quetzal" not in context["prompt"]
    expired = [(one["id"], one["loaded"], one["reason"]) for one in context["decisions"] if one["kind"] == "memories"]
    assert expired == [(memory["id"], False, "expired")]
    path, current = f"/v1/memories/{memory['id']}", {"If-Match": '"2"'}
    answers = [
        await alice.put(path, json={"text": "x"}, headers=current),
        await alice.delete(path, headers=current),
        await alice.get(f"{path}/history"),
    ]
    assert [answer.status_code for answer in answers] == [404] * 3


async def test_the_worker_takes_its_text_out_of_every_version(
    client: MakeClient, wiring: Wiring, scope: MakeScope
) -> None:
    alice = await client()
    memory = await put(alice, await add(alice, CAT), CAT, expires_at=soon())
    await is_over(alice, memory)
    for _ in range(2):
        await expire(wiring, scope, memory)
    history = await alice.get(f"/v1/memories/{memory['id']}/history")
    assert [(entry["state"], entry["source"], entry["written_by"]) for entry in history.json()["items"]] == [
        ("deleted", "expiry", "worker"),
        ("erased", "inferred", "user"),
        ("erased", "inferred", "user"),
    ]
    assert "Quetzal" not in history.text
    context = (await alice.post("/v1/context", json={"query": "cat Quetzal"})).json()
    assert [one for one in context["decisions"] if one["kind"] == "memories"] == []


async def test_each_version_owes_its_own_end_and_a_late_one_ends_nothing_else(
    client: MakeClient, wiring: Wiring, scope: MakeScope, stack: Stack
) -> None:
    alice = await client()
    far = datetime.now(UTC) + timedelta(days=365 * 200)
    first = await add(alice, CAT, expires_at=soon())
    second = await put(alice, first, CAT, expires_at=far.isoformat())
    await expire(wiring, scope, first)
    third = await put(alice, second, CAT)
    jobs = await owed(stack, (await scope("alice")).usr)
    assert [version for version, _ in jobs] == [1, 2]
    assert jobs[0][1] <= datetime.now(UTC) + timedelta(seconds=3) < jobs[1][1]
    for version in (first, second, third):
        await expire(wiring, scope, version)
    kept = (await alice.get(f"/v1/memories/{third['id']}")).json()
    assert (kept["text"], kept["version"], kept["expires_at"]) == (CAT, 3, None)


async def test_a_job_that_comes_early_is_owed_again(
    client: MakeClient, wiring: Wiring, scope: MakeScope, stack: Stack
) -> None:
    """The worker's clock may be behind the queue's."""
    alice = await client()
    memory = await add(alice, CAT, expires_at=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    await expire(wiring, scope, memory)
    assert (await alice.get(f"/v1/memories/{memory['id']}")).status_code == 200
    assert [version for version, _ in await owed(stack, (await scope("alice")).usr)] == [1, 1]
    await delete(alice, memory)
    await expire(wiring, scope, memory)
    assert len((await alice.get(f"/v1/memories/{memory['id']}/history")).json()["items"]) == 2
