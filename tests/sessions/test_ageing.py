"""The record's own age: what was stored too long ago goes, with all that was made of it, and nothing else does."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import httpx
import pytest
from sqlalchemy import func, select, update

from app.context.store import forget_session
from app.context.tables import memory_log
from app.core.audit import AuditEntry
from app.core.ids import parse
from app.core.scope import Scope
from app.infra.audit.tables import audit_log
from app.infra.db.between import ForgetTraces
from app.infra.db.transaction import Transaction
from app.infra.queue.ageing import AgeWatch
from app.infra.redis import keys
from app.infra.redis.client import RedisStore
from app.infra.segments.cache import IndexCache
from app.infra.segments.store import SegmentStore
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.sessions.ageing import AGE_JOB, BITE_MESSAGES, OldMessages
from app.sessions.tables import messages, sessions
from app.sessions.window import Window
from app.settings import Settings
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope
from tests.sessions.talk import Json, append, chatter, open_session, read_messages, read_session, recall, said

KEEP = timedelta(days=30)
# What stands in a hot copy for a message that is gone.
HOLE_BYTES = 8
MakeOld = Callable[..., OldMessages]


@pytest.fixture
def removing(wiring: Wiring, redis: RedisStore) -> MakeOld:
    """Give a maker of what removes messages after a month, whatever the run's settings say."""

    def make(forget_traces: ForgetTraces = forget_session) -> OldMessages:
        segments = SegmentStore("message", IndexCache(), "none")
        return OldMessages(
            wiring.db, segments, Window(redis, wiring.lease), ExtractiveSummariser(), forget_traces, KEEP
        )

    return make


async def age(wiring: Wiring, caller: Scope, session: Json, up_to: int, days: int = 31) -> None:
    """Let a session be as if its messages up to a number had been stored so long ago, and it had begun before."""
    entry, ses = AuditEntry("age", "session"), parse("ses", session["id"])
    then = datetime.now(UTC) - timedelta(days=days)
    of_session = (messages.c.usr == caller.usr) & (messages.c.session_id == ses) & (messages.c.seq <= up_to)
    this = (sessions.c.usr == caller.usr) & (sessions.c.id == ses)
    async with wiring.db.write(caller) as tx:
        await tx.change(update(messages).where(of_session).values(stored_at=then), entry)
        await tx.change(update(sessions).where(this).values(created_at=then), entry)
        if up_to >= await tx.scalar(select(sessions.c.next_seq).where(this)) - 1:
            await tx.change(update(sessions).where(this).values(last_active_at=then, expires_at=then), entry)


async def count(wiring: Wiring, caller: Scope, table: object) -> int:
    """Return how many rows of a table the user has."""
    async with wiring.db.read(caller) as tx:
        found: int = await tx.scalar(select(func.count()).select_from(table))  # type: ignore[arg-type] # a table
    return found


async def test_old_messages_go_with_all_that_was_made_of_them(
    client: MakeClient, wiring: Wiring, scope: MakeScope, redis: RedisStore, removing: MakeOld
) -> None:
    alice, caller = await client(), await scope("alice")
    session = await open_session(alice, window=4, external_id="thread")
    await append(
        alice, session, said("Never use tables. The ferry to Skagen leaves at noon."), said("Noted.", "assistant")
    )
    asked = {"query": "When does the ferry leave?", "session_id": session["id"]}
    assert (await alice.post("/v1/context", json=asked)).status_code == 200
    await chatter(alice, session, 30)
    headers = {"Idempotency-Key": "k"}
    kept = await alice.post("/v1/sessions", json={"external_id": "thread"}, headers=headers)
    assert "tables" in kept.text
    await append(alice, session, said("以后都用中文回答。"))
    await age(wiring, caller, session, up_to=32)
    async with wiring.db.write(caller) as tx:
        past = datetime.now(UTC) - timedelta(days=31)
        await tx.change(update(memory_log).values(created_at=past), AuditEntry("age", "memory_log"))
    for _ in range(2):
        await removing().run(caller, {})
    left = await read_messages(alice, session)
    assert [message["content"] for message in left] == ["以后都用中文回答。"]
    shown = await read_session(alice, session)
    assert (shown["message_count"], shown["constraints"], shown["summary"]) == (
        1,
        ["以后都用中文回答。"],
        "以后都用中文回答。",
    )
    assert [hit["text"] for hit in (await recall(alice, "ferry to Skagen"))["hits"]] in ([], ["以后都用中文回答。"])
    again = await alice.post("/v1/sessions", json={"external_id": "thread"}, headers=headers)
    assert again.status_code == 404
    assert await count(wiring, caller, memory_log) == 0
    hot = await redis.command("ZRANGE", keys.window(caller.usr, parse("ses", session["id"])), 0, -1)
    assert len([member for member in hot if len(member) > HOLE_BYTES]) == 1
    async with wiring.db.read(caller) as tx:
        expired = await tx.rows(select(audit_log.c.item, audit_log.c.actor).where(audit_log.c.action == "expire"))
    assert {row.item for row in expired} == {parse("ses", session["id"])}
    [appended] = await append(alice, session, said("I am back."))
    assert appended["seq"] == 34


async def test_the_summary_keeps_what_is_not_old(
    client: MakeClient, wiring: Wiring, scope: MakeScope, removing: MakeOld
) -> None:
    alice, caller = await client(), await scope("alice")
    session = await open_session(alice, window=2)
    await append(alice, session, said("Never use tables."), said("The first ferry cost 12 euros."))
    await append(alice, session, said("不要用缩写。"), said("The second ferry cost 14 euros."))
    await chatter(alice, session, 40)
    await age(wiring, caller, session, up_to=2)
    await removing().run(caller, {})
    shown = await read_session(alice, session)
    assert shown["constraints"] == ["不要用缩写。"]
    assert shown["message_count"] == 42
    assert "12 euros" not in shown["summary"]


async def test_a_session_that_is_pinned_is_kept_whole(
    client: MakeClient, wiring: Wiring, scope: MakeScope, removing: MakeOld
) -> None:
    alice, caller = await client(), await scope("alice")
    session = await open_session(alice)
    await append(alice, session, said("Never use tables."))
    headers = {"If-Match": "*"}
    assert (await alice.patch(f"/v1/sessions/{session['id']}", json={"pinned": True}, headers=headers)).is_success
    await age(wiring, caller, session, up_to=1, days=400)
    await removing().run(caller, {})
    assert len(await read_messages(alice, session)) == 1
    assert (await alice.patch(f"/v1/sessions/{session['id']}", json={"pinned": False}, headers=headers)).is_success
    await removing().run(caller, {})
    assert (await alice.get(f"/v1/sessions/{session['id']}")).status_code == 404


async def test_a_session_left_empty_goes_when_it_has_expired(
    client: MakeClient, wiring: Wiring, scope: MakeScope, removing: MakeOld
) -> None:
    alice, caller = await client(), await scope("alice")
    expired, living, new = [await open_session(alice) for _ in range(3)]
    for session in (expired, living):
        await append(alice, session, said("I like ferries."))
    await age(wiring, caller, expired, up_to=1)
    await age(wiring, caller, living, up_to=1)
    [revived] = await append(alice, living, said("Still here."))
    await removing().run(caller, {})
    assert {item["id"] for item in (await alice.get("/v1/sessions")).json()["items"]} == {living["id"], new["id"]}
    assert [message["id"] for message in await read_messages(alice, living)] == [revived["id"]]


async def test_who_was_killed_between_two_bites_goes_on(
    client: MakeClient, wiring: Wiring, scope: MakeScope, removing: MakeOld
) -> None:
    alice, caller = await client(), await scope("alice")
    session = await open_session(alice, window=5)
    await append(alice, session, said("Never use tables."))
    await chatter(alice, session, 2 * BITE_MESSAGES + 20)
    last = 2 * BITE_MESSAGES + 10
    await age(wiring, caller, session, up_to=last)
    bites = 0

    async def dying(tx: Transaction, item: UUID, before: datetime | None, entry: AuditEntry) -> None:
        nonlocal bites
        bites += 1
        if bites > 1:
            raise RuntimeError("killed")
        await forget_session(tx, item, before, entry)

    with pytest.raises(RuntimeError):
        await removing(dying).run(caller, {})
    shown = await read_session(alice, session)
    assert shown["message_count"] == 2 * BITE_MESSAGES + 21 - BITE_MESSAGES
    assert shown["constraints"] == []
    await removing().run(caller, {})
    left = await read_messages(alice, session)
    assert [message["seq"] for message in left] == [*range(last + 1, 2 * BITE_MESSAGES + 22)]
    assert (await read_session(alice, session))["message_count"] == len(left)


async def test_what_is_appended_meanwhile_is_there(
    client: MakeClient, wiring: Wiring, scope: MakeScope, removing: MakeOld
) -> None:
    alice, caller = await client(), await scope("alice")
    session = await open_session(alice, window=5)
    await chatter(alice, session, 3 * BITE_MESSAGES)
    await age(wiring, caller, session, up_to=3 * BITE_MESSAGES)

    async def talk() -> list[str]:
        lines = [f"line {number}" for number in range(40)]
        for line in lines:
            await append(alice, session, said(line), said("Always say please." if line.endswith("7") else "ok"))
        return lines

    lines, *_ = await asyncio.gather(talk(), removing().run(caller, {}), removing().run(caller, {}))
    await removing().run(caller, {})
    record = await read_messages(alice, session)
    assert [message["content"] for message in record][::2] == lines
    assert [message["seq"] for message in record] == [*range(3 * BITE_MESSAGES + 1, 3 * BITE_MESSAGES + 81)]
    shown = await read_session(alice, session)
    assert (shown["message_count"], shown["constraints"]) == (80, ["Always say please."])


async def test_only_who_has_something_old_is_owed_a_job(
    client: MakeClient, wiring: Wiring, scope: MakeScope, settings: Settings, removing: MakeOld
) -> None:
    callers: dict[str, Scope] = {}
    users: dict[str, httpx.AsyncClient] = {}
    for name in ("old", "young", "gone"):
        users[name], callers[name] = await client(name), await scope(name)
        for _ in range(2):
            session = await open_session(users[name])
            await append(users[name], session, said("I like ferries."))
            if name != "young":
                await age(wiring, callers[name], session, up_to=1)
    assert (await users["gone"].delete("/v1/users/me")).is_success
    watch = AgeWatch(wiring.db, [removing()])
    for _ in range(2):
        await watch.look()
    queue = await asyncpg.connect(settings.queue_url.get_secret_value())
    owed = "SELECT count(*) FROM procrastinate_jobs WHERE task_name = $1 AND args ->> 'usr' = $2"
    counted = {name: await queue.fetchval(owed, AGE_JOB, str(caller.usr)) for name, caller in callers.items()}
    await queue.close()
    assert counted == {"old": 1, "young": 0, "gone": 0}


async def test_without_the_setting_nothing_goes(
    client: MakeClient, wiring: Wiring, scope: MakeScope, settings: Settings
) -> None:
    alice, caller = await client(), await scope("alice")
    session = await open_session(alice)
    await append(alice, session, said("I like ferries."))
    await age(wiring, caller, session, up_to=1, days=4_000)
    [handler] = [each for each in wiring.handlers if each.name == AGE_JOB]
    await handler.run(caller, {})
    assert len(await read_messages(alice, session)) == 1
    # The product's own watch looks for other things that age too, of everybody's.
    await wiring.age_watch.look()
    queue = await asyncpg.connect(settings.queue_url.get_secret_value())
    owed = "SELECT count(*) FROM procrastinate_jobs WHERE task_name = $1 AND args ->> 'usr' = $2"
    counted = await queue.fetchval(owed, AGE_JOB, str(caller.usr))
    await queue.close()
    assert counted == 0
