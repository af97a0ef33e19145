"""Claiming an anonymous session: once, whole, in order, and whoever dies on the way loses and doubles nothing."""

import asyncio
import json
import uuid

import asyncpg
import httpx
import pytest

from app.core.errors import AppError
from app.core.ids import parse
from app.core.scope import Guest, Scope
from app.infra.redis.client import RedisStore, connect
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.sessions.claiming import Claims
from app.sessions.guest_store import GuestStore
from app.sessions.guests import Guests
from app.sessions.leftovers import LEFTOVER_JOB
from app.sessions.making import ViewMaker
from app.sessions.model import Body, Draft, Role
from app.sessions.service import Defaults, Sessions
from app.settings import Settings
from app.wiring import Wiring
from app.writer.service import WRITE_JOB
from tests.conftest import USER_SCOPES, MakeClient, MakeScope
from tests.sessions.talk import Json, append, open_session, read_messages, read_session, recall, said, the

LINES = ["Never use tables.", "The ferry leaves at noon.", "不要用缩写。"]


async def begun(guest: httpx.AsyncClient) -> Json:
    """Open an anonymous session in which something was said; the client holds its token."""
    session = await open_session(guest, title="A visit", metadata={"page": "home"}, window=2)
    guest.headers["Cairn-Session-Token"] = session["session_token"]
    patch, path = {"title": "A long visit", "pinned": True}, f"/v1/sessions/{session['id']}"
    assert (await guest.patch(path, json=patch, headers={"If-Match": "*"})).status_code == 200
    await append(guest, session, *[said(line) for line in LINES], said("gone", "assistant"))
    gone = (await read_messages(guest, session))[-1]
    assert (await guest.delete(f"/v1/sessions/{session['id']}/messages/{gone['id']}")).status_code == 204
    await append(guest, session, said("Until tomorrow.", "assistant", name="Guide"))
    return session


async def claim(user: httpx.AsyncClient, session: Json, token: str | None = None, key: str = "") -> httpx.Response:
    """Claim it, with its token unless another is given."""
    headers = {"Cairn-Session-Token": session["session_token"] if token is None else token}
    return await user.post(
        f"/v1/sessions/{session['id']}/claim", headers=headers | ({"Idempotency-Key": key} if key else {})
    )


async def names_in(redis: RedisStore, session: Json) -> list[bytes]:
    """Return the keys of the anonymous session, looking at all there are."""
    every = await redis.command("KEYS", "*")
    return [name for name in every if b"{" + parse("ses", session["id"]).hex.encode() + b"}" in name]


def guests_of(redis: RedisStore) -> Guests:
    """Build what serves guests."""
    return Guests(GuestStore(redis), ViewMaker(ExtractiveSummariser()), Defaults())


async def test_its_messages_become_the_users_in_their_order(
    guest: httpx.AsyncClient, client: MakeClient, redis: RedisStore
) -> None:
    session, alice = await begun(guest), await client()
    before, record = await read_session(guest, session), await read_messages(guest, session)
    answer = await claim(alice, session)
    assert answer.status_code == 200, answer.text
    after = answer.json()
    changed = {"version", "superseded"}
    assert {name: value for name, value in after.items() if name not in changed} == {
        name: value for name, value in before.items() if name not in changed
    }
    assert answer.headers["ETag"] == f'"{after["version"]}"'
    assert await read_messages(alice, session) == record
    assert after["constraints"] == [LINES[0], LINES[2]]
    assert await names_in(redis, session) == []
    assert [item["id"] for item in (await alice.get("/v1/sessions")).json()["items"]] == [session["id"]]
    hits = (await recall(alice, "When does the ferry leave?"))["hits"]
    assert hits[0]["text"] == LINES[1]
    appended = await append(alice, session, said("I am back."))
    assert appended[0]["seq"] == record[-1]["seq"] + 1
    assert (await read_session(alice, session))["message_count"] == len(record) + 1


async def test_it_is_claimed_once(guest: httpx.AsyncClient, client: MakeClient) -> None:
    session, alice, bob = await begun(guest), await client(), await client("bob")
    assert (await claim(alice, session)).status_code == 200
    for user in (alice, bob):
        assert (await claim(user, session)).status_code == 404
    assert (await guest.get(f"/v1/sessions/{session['id']}")).status_code == 404
    assert (await bob.get(f"/v1/sessions/{session['id']}")).status_code == 404
    assert len(await read_messages(alice, session)) == len(LINES) + 1


async def test_a_retry_gets_the_first_answer(guest: httpx.AsyncClient, client: MakeClient) -> None:
    session, alice, key = await begun(guest), await client(), uuid.uuid4().hex
    first, second = [await claim(alice, session, key=key) for _ in range(2)]
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert first.content == second.content


@pytest.mark.parametrize("token", ["", "short", "x" * 43])
async def test_a_wrong_token_claims_nothing(guest: httpx.AsyncClient, client: MakeClient, token: str) -> None:
    session, alice = await begun(guest), await client()
    assert (await claim(alice, session, token)).status_code == 404
    assert len(await read_messages(guest, session)) == len(LINES) + 1


async def test_who_claims_must_be_signed_in_and_may_write(guest: httpx.AsyncClient, client: MakeClient) -> None:
    session = await begun(guest)
    reader = await client(scope=USER_SCOPES.replace("sessions", "sessions:read"))
    assert (await claim(guest, session)).status_code == 401
    assert (await claim(reader, session)).status_code == 403
    assert len(await read_messages(guest, session)) == len(LINES) + 1


async def test_an_empty_session_can_be_claimed(guest: httpx.AsyncClient, client: MakeClient) -> None:
    session, alice = await open_session(guest), await client()
    assert (await claim(alice, session)).json()["message_count"] == 0


async def test_of_many_who_claim_at_once_one_user_has_it(
    guest: httpx.AsyncClient, client: MakeClient, redis: RedisStore
) -> None:
    session = await begun(guest)
    users = [await client(sub) for sub in ("alice", "alice", "alice", "bob", "carol")]
    answers = await asyncio.gather(*(claim(user, session) for user in users))
    owners = {("alice", "alice", "alice", "bob", "carol")[place] for place, it in enumerate(answers) if it.is_success}
    assert len(owners) == 1, [answer.status_code for answer in answers]
    assert {answer.status_code for answer in answers} == {200, 404}
    assert len(await read_messages(await client(owners.pop()), session)) == len(LINES) + 1
    assert await names_in(redis, session) == []


async def test_what_is_said_while_it_is_claimed_is_taken_along_or_refused(
    guest: httpx.AsyncClient, client: MakeClient
) -> None:
    session, alice = await begun(guest), await client()
    path = f"/v1/sessions/{session['id']}/messages"

    async def talk() -> list[str]:
        acknowledged = []
        for number in range(100):
            answer = await guest.post(path, json={"messages": [said(f"line {number}")]})
            if answer.status_code != 201:
                assert answer.status_code == 404
                break
            acknowledged.append(f"line {number}")
        return acknowledged

    talking = asyncio.create_task(talk())
    await asyncio.sleep(0.02)
    assert (await claim(alice, session)).status_code == 200
    acknowledged = await talking
    kept = [message["content"] for message in await read_messages(alice, session)]
    assert kept[len(LINES) + 1 :] == acknowledged


async def test_a_claim_that_died_when_it_had_closed_the_session_is_finished_by_the_same_user(
    redis: RedisStore, guest: httpx.AsyncClient, client: MakeClient, scope: MakeScope
) -> None:
    session, alice, bob = await begun(guest), await client(), await client("bob")
    record, caller = await read_messages(guest, session), await scope("alice")
    token = Guest(session["session_token"])
    assert await guests_of(redis).take(token, parse("ses", session["id"]), caller.usr) is not None
    assert (await guest.get(f"/v1/sessions/{session['id']}")).status_code == 404
    refused = await guest.post(f"/v1/sessions/{session['id']}/messages", json={"messages": [said("more")]})
    assert refused.status_code == 404
    assert (await claim(bob, session)).status_code == 404
    assert (await claim(alice, session)).status_code == 200
    assert await read_messages(alice, session) == record
    assert await names_in(redis, session) == []


async def test_a_claim_that_died_after_its_commit_is_finished_by_the_same_user(
    wiring: Wiring, redis: RedisStore, guest: httpx.AsyncClient, client: MakeClient, scope: MakeScope
) -> None:
    session, alice, bob = await begun(guest), await client(), await client("bob")
    record, caller, ses = await read_messages(guest, session), await scope("alice"), parse("ses", session["id"])
    taken = await guests_of(redis).take(Guest(session["session_token"]), ses, caller.usr)
    await the(wiring, Sessions).adopt(caller, ses, taken)
    assert (await claim(bob, session)).status_code == 404
    assert (await claim(alice, session)).status_code == 200
    assert await read_messages(alice, session) == record
    assert await names_in(redis, session) == []
    assert (await claim(alice, session)).status_code == 404


async def left_behind(wiring: Wiring, redis: RedisStore, guest: httpx.AsyncClient, caller: Scope) -> Json:
    """Claim a session as one does who dies, or finds Redis gone, right after the commit."""
    session = await begun(guest)
    ses = parse("ses", session["id"])
    taken = await guests_of(redis).take(Guest(session["session_token"]), ses, caller.usr)
    await the(wiring, Sessions).adopt(caller, ses, taken)
    assert await names_in(redis, session)
    return session


async def test_what_a_claim_left_brings_no_deleted_session_back(
    wiring: Wiring, redis: RedisStore, guest: httpx.AsyncClient, client: MakeClient, scope: MakeScope
) -> None:
    alice = await client()
    session = await left_behind(wiring, redis, guest, await scope("alice"))
    gone = await alice.delete(f"/v1/sessions/{session['id']}", headers={"If-Match": "*"})
    assert gone.status_code == 204
    assert (await claim(alice, session)).status_code == 404
    assert (await alice.get(f"/v1/sessions/{session['id']}")).status_code == 404
    assert (await recall(alice, "When does the ferry leave?"))["hits"] == []
    assert await names_in(redis, session) == []


async def test_what_a_claim_left_goes_by_a_job(
    wiring: Wiring, redis: RedisStore, guest: httpx.AsyncClient, scope: MakeScope, settings: Settings
) -> None:
    caller = await scope()
    session = await left_behind(wiring, redis, guest, caller)
    queue = await asyncpg.connect(settings.queue_url.get_secret_value())
    owed = "SELECT args FROM procrastinate_jobs WHERE task_name = $1 AND args ->> 'usr' = $2"
    args = json.loads(await queue.fetchval(owed, LEFTOVER_JOB, str(caller.usr)))
    await queue.close()
    [handler] = [each for each in wiring.handlers if each.name == LEFTOVER_JOB]
    for _ in range(2):
        await handler.run(caller, args)
        assert await names_in(redis, session) == []


async def test_forgetting_a_user_reaches_what_a_claim_left(
    wiring: Wiring, redis: RedisStore, guest: httpx.AsyncClient, client: MakeClient, scope: MakeScope
) -> None:
    alice = await client()
    session = await left_behind(wiring, redis, guest, await scope("alice"))
    assert (await alice.delete("/v1/users/me")).status_code == 200
    assert await names_in(redis, session) == []


async def test_a_closed_session_outlives_its_ttl_for_a_while(
    redis: RedisStore, guest: httpx.AsyncClient, scope: MakeScope
) -> None:
    session, caller = await open_session(guest, ttl_seconds=60), await scope()
    token = Guest(session["session_token"])
    await guests_of(redis).append(token, parse("ses", session["id"]), [Draft(Role.USER, Body(content="x"))], None)
    await guests_of(redis).take(token, parse("ses", session["id"]), caller.usr)
    names = await names_in(redis, session)
    assert len(names) == 3
    assert all([3000 < await redis.command("TTL", name) <= 3600 for name in names])


async def test_without_redis_nothing_is_claimed(wiring: Wiring, scope: MakeScope) -> None:
    nowhere = connect("redis://127.0.0.1:1")
    caller: Scope = await scope()
    with pytest.raises(AppError) as raised:
        await Claims(guests_of(nowhere), the(wiring, Sessions)).claim(caller, Guest("x" * 43), uuid.uuid4())
    assert raised.value.code == "store_unavailable"
    await nowhere.close()


async def test_what_the_tenant_never_stores_is_masked_as_a_guest_becomes_a_user(
    guest: httpx.AsyncClient, client: MakeClient
) -> None:
    session = await open_session(guest, title="EMP-123456", metadata={"no": "EMP-123456"})
    guest.headers["Cairn-Session-Token"] = session["session_token"]
    await append(guest, session, said("Never write EMP-123456."))
    assert (await read_messages(guest, session))[0]["content"] == "Never write EMP-123456."
    operator = await client("robot", client_id="robot", scope="admin:catalog")
    pattern = {"expression": r"EMP-\d{6}", "check": "none", "examples": ["EMP-654321"]}
    where = "/v1/admin/catalog/secrets/employee"
    assert (await operator.put(where, json=pattern, headers={"If-None-Match": "*"})).status_code == 201
    user = await client()
    assert (await claim(user, session)).status_code == 200
    shown = json.dumps([await read_session(user, session), await read_messages(user, session)])
    assert "EMP-123456" not in shown
    assert shown.count("[employee withheld]") == 5  # title, metadata, message, summary, constraint


async def test_what_a_claimed_session_states_is_written_by_the_worker_with_the_claimers_rights(
    wiring: Wiring, guest: httpx.AsyncClient, scope: MakeScope, client: MakeClient
) -> None:
    session, alice = await begun(guest), await client("alice", scope="sessions preferences preferences:explicit")
    lines = [said("Reply in German from now on."), said("我在采购部工作。"), said("No emojis please.", "assistant")]
    told = await append(guest, session, *lines)
    assert (await claim(alice, session)).status_code == 200
    job = next(each for each in wiring.handlers if each.name == WRITE_JOB)
    for _ in range(2):
        await job.run(await scope("alice"), {})
    stated = (await alice.get("/v1/preferences/language")).json()
    assert (stated["value"], stated["trust"], stated["evidence"]["id"]) == ("de", "explicit", told[0]["id"])
    assert stated["version"] == 1
    assert (await alice.get("/v1/preferences/emoji")).status_code == 404, "an assistant said it"
    full = await client("alice")
    assert (await full.get("/v1/profile")).json()["version"] == 0, "the token that claimed it writes no profile"
