"""Anonymous sessions: their token is the only way in, Redis the only place, and nothing of them stays."""

import asyncio
import io
import secrets
import uuid

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from app.core.errors import AppError
from app.core.ids import parse, show, uuid7
from app.core.scope import Guest
from app.infra.redis.client import RedisStore, connect
from app.infra.redis.keys import anonymous, anonymous_appends, anonymous_messages
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.main import create_app
from app.sessions.guest_store import MAX_MESSAGES, GuestStore
from app.sessions.guests import Guests
from app.sessions.making import ViewMaker
from app.sessions.model import Body, Draft, Opening, Role
from app.sessions.service import Defaults
from app.settings import Settings
from tests.conftest import MakeClient
from tests.sessions.talk import Json, append, open_session, read_messages, read_session, said

SECRET = "a walrus that nobody knows of"


async def begin(guest: httpx.AsyncClient, **wishes: object) -> Json:
    """Open an anonymous session; the client holds its token from then on."""
    guest.headers.pop("Cairn-Session-Token", None)
    session = await open_session(guest, **wishes)
    guest.headers["Cairn-Session-Token"] = session["session_token"]
    return session


async def names_in(redis: RedisStore, session: Json) -> set[str]:
    """Return every key in Redis that names the session, looking at all of them."""
    every = await redis.command("KEYS", "*")
    return {name.decode() for name in every if parse("ses", session["id"]).hex in name.decode()}


async def test_without_permission_there_are_none(app_client: httpx.AsyncClient) -> None:
    refused = await app_client.post("/v1/sessions", json={}, headers={"Cairn-Session-Token": "x" * 43})
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    refused = await app_client.get(f"/v1/sessions/{show('ses', uuid7())}", headers={"Cairn-Session-Token": "x" * 43})
    assert refused.status_code == 401


async def test_the_token_opens_the_session_and_is_told_once(guest: httpx.AsyncClient) -> None:
    session = await begin(guest, title="A visit", metadata={"page": "home"}, window=5, ttl_seconds=120)
    assert len(session["session_token"]) == 43
    shown = await read_session(guest, session)
    assert "session_token" not in shown
    assert {**shown, "session_token": session["session_token"]} == {**session, "superseded": []}
    assert (shown["title"], shown["metadata"], shown["window"], shown["ttl_seconds"]) == (
        "A visit",
        {"page": "home"},
        5,
        120,
    )


async def test_what_is_said_is_read_again_in_order(guest: httpx.AsyncClient) -> None:
    session = await begin(guest)
    first = await append(guest, session, said("one"), said("two", "assistant", metadata={"n": 1}))
    second = await append(guest, session, said("three"))
    assert [message["seq"] for message in (*first, *second)] == [1, 2, 3]
    record = await read_messages(guest, session, limit=2)
    assert [message["content"] for message in record] == ["one", "two", "three"]
    assert [message["id"] for message in record] == [message["id"] for message in (*first, *second)]
    one = await guest.get(f"/v1/sessions/{session['id']}/messages/{first[1]['id']}")
    assert one.json() == record[1]
    assert (await read_session(guest, session))["message_count"] == 3


async def test_a_constraint_outlives_the_window(guest: httpx.AsyncClient) -> None:
    session = await begin(guest, window=2)
    await append(guest, session, said("Never use abbreviations."))
    for number in range(30):
        await append(guest, session, said(f"Message {number} tells of the weather."))
    await append(guest, session, said("以后都用中文回答。"))
    constraints = (await read_session(guest, session))["constraints"]
    assert "Never use abbreviations." in constraints
    assert "以后都用中文回答。" in constraints


async def test_concurrent_appends_are_all_kept_without_a_gap(guest: httpx.AsyncClient) -> None:
    session = await begin(guest)
    await asyncio.gather(*(append(guest, session, said(f"a{n}"), said(f"b{n}")) for n in range(10)))
    record = await read_messages(guest, session)
    assert [message["seq"] for message in record] == list(range(1, 21))
    said_in_order = [message["content"] for message in record]
    assert all(said_in_order[place + 1] == "b" + said_in_order[place][1:] for place in range(0, 20, 2))


async def test_a_retry_has_one_effect(guest: httpx.AsyncClient) -> None:
    session = await begin(guest)
    path, key = f"/v1/sessions/{session['id']}/messages", {"Idempotency-Key": uuid.uuid4().hex}
    body = {"messages": [said("once"), said("and again")]}
    first, second = [await guest.post(path, json=body, headers=key) for _ in range(2)]
    assert first.json() == second.json()
    other = await guest.post(path, json={"messages": [said("twice")]}, headers=key)
    assert other.json()["code"] == "idempotency_mismatch"
    assert len(await read_messages(guest, session)) == 2


async def test_a_wrong_token_and_another_session_are_a_404_alike(guest: httpx.AsyncClient, client: MakeClient) -> None:
    other = await begin(guest, title=SECRET)
    message = (await append(guest, other, said(SECRET)))[0]
    own = await begin(guest)
    own_token = guest.headers["Cairn-Session-Token"]
    users = await open_session(await client())
    never = show("ses", uuid7())
    for token, session_id in (
        (own_token, other["id"]),
        (secrets.token_urlsafe(32), own["id"]),
        ("short", own["id"]),
        (own_token, users["id"]),
        (own_token, never),
    ):
        headers = {"Cairn-Session-Token": token, "If-Match": "*"}
        path = f"/v1/sessions/{session_id}"
        for method, where, body in (
            ("GET", path, None),
            ("DELETE", path, None),
            ("GET", f"{path}/messages", None),
            ("POST", f"{path}/messages", {"messages": [said("taken over")]}),
            ("GET", f"{path}/messages/{message['id']}", None),
            ("DELETE", f"{path}/messages/{message['id']}", None),
        ):
            answer = await guest.request(method, where, json=body, headers=headers)
            told = {name: value for name, value in answer.json().items() if name != "request_id"}
            assert answer.status_code == 404, (method, where)
            assert told["detail"].startswith("Check the id")
            assert SECRET not in answer.text
    guest.headers["Cairn-Session-Token"] = other["session_token"]
    assert [each["content"] for each in await read_messages(guest, other)] == [SECRET]


async def test_nothing_else_opens_to_a_guest(guest: httpx.AsyncClient) -> None:
    session = await begin(guest)
    path = f"/v1/sessions/{session['id']}"
    for method, where, body in (
        ("GET", "/v1/sessions", None),
        ("POST", "/v1/recall", {"query": "x"}),
        ("POST", "/v1/context", {"query": "x", "session_id": session["id"]}),
        ("GET", "/v1/profile", None),
        ("GET", "/v1/preferences", None),
        ("POST", f"{path}/messages", {"messages": [said("x")], "context": {"query": "x"}}),
    ):
        answer = await guest.request(method, where, json=body, headers={"If-Match": "*"})
        assert answer.status_code == 401, (method, where, answer.text)
    assert await read_messages(guest, session) == []


async def test_a_session_is_changed_under_a_precondition(guest: httpx.AsyncClient, redis: RedisStore) -> None:
    session = await begin(guest, title="A visit", metadata={"page": "home"})
    path = f"/v1/sessions/{session['id']}"
    await append(guest, session, *[said(f"line {number}") for number in range(9)])
    shown = await read_session(guest, session)
    patch = {"title": "参观", "window": 2, "ttl_seconds": 600, "pinned": True}
    assert (await guest.patch(path, json=patch)).status_code == 428
    stale = await guest.patch(path, json=patch, headers={"If-Match": f'"{session["version"]}"'})
    assert (stale.status_code, stale.json()["current_version"]) == (412, shown["version"])
    changed = await guest.patch(path, json=patch, headers={"If-Match": f'"{shown["version"]}"'})
    assert changed.status_code == 200, changed.text
    assert changed.headers["ETag"] == f'"{shown["version"] + 1}"'
    assert {name: changed.json()[name] for name in patch} == patch
    assert changed.json()["metadata"] == {"page": "home"}
    assert await read_session(guest, session) == {**changed.json(), "superseded": []}
    assert changed.json()["summary"]
    assert all([590 < await redis.command("TTL", name) <= 600 for name in await names_in(redis, session)])
    cleared = await guest.patch(path, json={"title": None, "metadata": {}}, headers={"If-Match": "*"})
    assert (cleared.json()["title"], cleared.json()["metadata"], cleared.json()["pinned"]) == (None, {}, True)
    assert len(await read_messages(guest, session)) == 9


async def test_a_change_that_a_guest_cannot_have_is_refused(guest: httpx.AsyncClient) -> None:
    session, other = await begin(guest), await begin(guest)
    headers = {"If-Match": "*"}
    long = await guest.patch(f"/v1/sessions/{other['id']}", json={"ttl_seconds": 8 * 24 * 3600}, headers=headers)
    assert (long.status_code, long.json()["errors"][0]["field"]) == (422, "ttl_seconds")
    foreign = await guest.patch(f"/v1/sessions/{session['id']}", json={"title": "x"}, headers=headers)
    assert foreign.status_code == 404


async def test_changes_and_appends_at_once_are_all_there(guest: httpx.AsyncClient) -> None:
    session = await begin(guest)
    path, headers = f"/v1/sessions/{session['id']}", {"If-Match": "*"}
    changing = [guest.patch(path, json={"metadata": {"n": number}}, headers=headers) for number in range(5)]
    *answers, _ = await asyncio.gather(*changing, *(append(guest, session, said("x")) for _ in range(5)))
    changed = [answer.status_code for answer in answers[:5] if isinstance(answer, httpx.Response)]
    assert set(changed) <= {200, 409}
    shown = await read_session(guest, session)
    assert (shown["message_count"], shown["version"]) == (5, 6 + changed.count(200))


@pytest.mark.parametrize("wish", [{"external_id": "thread-1"}, {"ttl_seconds": 8 * 24 * 3600}])
async def test_what_a_guest_cannot_have_is_refused(guest: httpx.AsyncClient, wish: Json) -> None:
    refused = await guest.post("/v1/sessions", json=wish)
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == list(wish)


async def test_a_session_is_bounded_in_messages_and_in_bytes(guest: httpx.AsyncClient) -> None:
    session = await begin(guest)
    path = f"/v1/sessions/{session['id']}/messages"
    for _ in range(MAX_MESSAGES // 200):
        await append(guest, session, *[said("x")] * 200)
    refused = await guest.post(path, json={"messages": [said("one more")]})
    assert (refused.status_code, refused.json()["code"]) == (403, "quota_exceeded")
    assert (await read_session(guest, session))["message_count"] == MAX_MESSAGES
    session = await begin(guest)
    path, large = f"/v1/sessions/{session['id']}/messages", {"messages": [said("y" * 50_000)]}
    answers = [(await guest.post(path, json=large)).status_code for _ in range(40)]
    assert answers[:20] == [201] * 20
    assert answers[-1] == 403


async def test_a_request_of_a_guest_is_bounded(guest: httpx.AsyncClient) -> None:
    session = await begin(guest)
    large = {"messages": [said("y" * 50_000), said("y" * 50_000)]}
    refused = await guest.post(f"/v1/sessions/{session['id']}/messages", json=large)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert await read_messages(guest, session) == []


async def test_what_redis_has_evicted_in_part_is_gone(guest: httpx.AsyncClient, redis: RedisStore) -> None:
    session = await begin(guest)
    await append(guest, session, said("Never use tables."))
    await redis.command("DEL", anonymous_messages(parse("ses", session["id"])))
    path = f"/v1/sessions/{session['id']}"
    assert (await guest.get(path)).status_code == 404
    assert (await guest.post(f"{path}/messages", json={"messages": [said("x")]})).status_code == 404


async def test_nothing_in_redis_can_be_read(guest: httpx.AsyncClient, redis: RedisStore) -> None:
    session = await begin(guest, title=SECRET, metadata={"x": SECRET})
    await append(guest, session, said(f"Never forget {SECRET}."))
    ses = parse("ses", session["id"])
    assert await names_in(redis, session) == {anonymous(ses), anonymous_messages(ses), anonymous_appends(ses)}
    stored = [*await redis.command("HGETALL", anonymous(ses)), *await redis.command("HGETALL", anonymous_appends(ses))]
    stored += await redis.command("ZRANGE", anonymous_messages(ses), 0, -1)
    everything = b"".join(stored)
    assert b"walrus" not in everything
    assert session["session_token"].encode() not in everything


async def test_nothing_is_left_after_a_delete(guest: httpx.AsyncClient, redis: RedisStore) -> None:
    session = await begin(guest)
    await append(guest, session, said("x"))
    path = f"/v1/sessions/{session['id']}"
    assert (await guest.delete(path)).status_code == 428
    assert (await guest.delete(path, headers={"If-Match": '"1"'})).status_code == 412
    assert (await guest.delete(path, headers={"If-Match": '"2"'})).status_code == 204
    assert await names_in(redis, session) == set()
    assert (await guest.get(path)).status_code == 404


async def test_nothing_is_left_when_it_has_expired(redis: RedisStore) -> None:
    maker = ViewMaker(ExtractiveSummariser())
    guests = Guests(GuestStore(redis), maker, Defaults())
    opened = await guests.open(Opening(ttl_s=60))
    ses = opened.view.session.id
    names = [anonymous(ses), anonymous_messages(ses), anonymous_appends(ses)]
    await guests.append(Guest(opened.token or ""), ses, [Draft(Role.USER, Body(content="x"))])
    # Every key that there is will expire; then time is made to pass.
    assert await names_in(redis, {"id": show("ses", ses)}) == set(names)
    for name in names:
        assert 0 < await redis.command("TTL", name) <= 60
        await redis.command("PEXPIRE", name, 1)
    await asyncio.sleep(0.05)
    assert await names_in(redis, {"id": show("ses", ses)}) == set()


async def test_an_append_lengthens_the_life_of_all_of_it(guest: httpx.AsyncClient, redis: RedisStore) -> None:
    session = await begin(guest, ttl_seconds=100)
    ses = parse("ses", session["id"])
    await append(guest, session, said("x"))
    await redis.command("EXPIRE", anonymous(ses), 10)
    await append(guest, session, said("y"))
    for name in (anonymous(ses), anonymous_messages(ses), anonymous_appends(ses)):
        assert 90 < await redis.command("TTL", name) <= 100


async def test_one_message_can_be_deleted(guest: httpx.AsyncClient) -> None:
    session = await begin(guest, window=1)
    appended = await append(guest, session, said("Never say no."), said("x"), said("y"))
    assert (await read_session(guest, session))["constraints"] == ["Never say no."]
    path = f"/v1/sessions/{session['id']}/messages/{appended[0]['id']}"
    assert (await guest.delete(path)).status_code == 204
    assert (await guest.get(path)).status_code == 404
    shown = await read_session(guest, session)
    assert (shown["constraints"], shown["message_count"]) == ([], 2)


async def test_nothing_is_written_to_postgres(guest: httpx.AsyncClient, settings: Settings, open_app: FastAPI) -> None:
    """Every transaction that writes takes a number, and so does the question for the next one."""
    owner = settings.database_owner_url.get_secret_value()
    engine = create_async_engine(owner.replace("postgresql://", "postgresql+asyncpg://"))

    async def number() -> int:
        async with engine.connect() as connection:
            return int((await connection.execute(text("SELECT pg_current_xact_id()::text"))).scalar_one())

    taken: list[int] = []
    for _ in range(5):  # the server's own housekeeping takes a number now and then
        before = await number()
        session = await begin(guest)
        await append(guest, session, said("x"))
        await read_session(guest, session)
        await guest.get(f"/v1/sessions/{show('ses', uuid7())}")
        await guest.delete(f"/v1/sessions/{session['id']}", headers={"If-Match": "*"})
        await open_app.state.access_log.flushed()
        taken.append(await number() - before - 1)
    await engine.dispose()
    assert min(taken) == 0


async def test_without_redis_there_is_a_503() -> None:
    nowhere = connect("redis://127.0.0.1:1")
    maker = ViewMaker(ExtractiveSummariser())
    with pytest.raises(AppError) as raised:
        await Guests(GuestStore(nowhere), maker, Defaults()).open(Opening())
    assert raised.value.code == "store_unavailable"
    await nowhere.close()


async def test_the_token_is_never_logged(settings: Settings, written: io.BytesIO) -> None:
    app = create_app(settings.model_copy(update={"allow_anonymous": True}))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://cairn.test") as guest,
    ):
        session = await begin(guest)
        await append(guest, session, said("x"))
        await guest.get(f"/v1/sessions/{show('ses', uuid7())}")
    assert b"/v1/sessions/{session_id}/messages" in written.getvalue()
    assert session["session_token"].encode() not in written.getvalue()
