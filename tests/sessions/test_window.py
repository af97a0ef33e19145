"""The window: the newest messages, the same from Redis and without it, and never a stale one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID

import pytest
from pydantic import SecretStr
from redis.asyncio import RedisCluster

from app.core.errors import AppError
from app.core.scope import Scope
from app.infra.redis.client import RedisStore, connect
from app.infra.redis.userdata import HotData
from app.sessions.copies import Copy
from app.sessions.model import Body, Draft, Opening, Role, View
from app.sessions.service import Sessions
from app.sessions.window import Window
from app.settings import Settings
from app.wiring import Wiring, build
from tests.conftest import MakeClient, MakeScope, eventually
from tests.sessions.talk import the


def words(*texts: str) -> list[Draft]:
    return [Draft(Role.USER, Body(content=text)) for text in texts]


def texts(view: View) -> list[str]:
    return [message.text for message in view.window]


async def hot_copy(wiring: Wiring, redis: RedisStore, user: Scope, session_id: UUID) -> Copy:
    """Wait until the session is read from Redis alone, and return what is there."""
    sessions, window, found = the(wiring, Sessions), Window(redis, wiring.lease), list[Copy]()

    async def is_hot() -> bool:
        copy = await window.read(user, session_id)
        if copy is None:
            await sessions.view(user, session_id)
        else:
            found.append(copy)
        return bool(found)

    await eventually(is_hot)
    return found[0]


@asynccontextmanager
async def without_redis(settings: Settings, url: str = "redis://127.0.0.1:1/0") -> AsyncIterator[Sessions]:
    """Give the service of another process, whose Redis is out of reach."""
    async with build(settings.model_copy(update={"redis_url": SecretStr(url)})) as wired:
        yield the(wired, Sessions)


async def test_the_window_is_read_from_redis_and_is_what_postgres_has(
    wiring: Wiring,
    scope: MakeScope,
    settings: Settings,
    redis: RedisStore,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening(window_size=4))).view.session
    for number in range(50):
        await sessions.append(alice, session.id, words(f"message {number}"))
    view = await sessions.view(alice, session.id)
    copy = await hot_copy(wiring, redis, alice, session.id)
    assert [message.seq for message in copy.messages][-4:] == [47, 48, 49, 50]
    assert await sessions.view(alice, session.id) == view
    await sessions.append(alice, session.id, words("message 50"))
    hot = await sessions.view(alice, session.id)
    assert texts(hot) == [f"message {number}" for number in range(47, 51)]
    async with without_redis(settings) as cold:
        assert await cold.view(alice, session.id) == hot


async def test_redis_emptied_in_mid_session_changes_nothing(
    wiring: Wiring, scope: MakeScope, redis: RedisStore
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening(window_size=4))).view.session
    await sessions.append(alice, session.id, words("Never use tables.", *map(str, range(30))))
    before = await sessions.view(alice, session.id)
    await redis.command("FLUSHALL")
    assert await sessions.view(alice, session.id) == before
    await redis.command("FLUSHALL")
    await sessions.append(alice, session.id, words("after the flood"))
    assert texts(await sessions.view(alice, session.id)) == ["27", "28", "29", "after the flood"]
    await hot_copy(wiring, redis, alice, session.id)


async def test_without_redis_appends_and_reads_go_on_and_no_stale_window_is_left(
    wiring: Wiring,
    scope: MakeScope,
    settings: Settings,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening())).view.session
    await sessions.append(alice, session.id, words("with Redis"))
    assert texts(await sessions.view(alice, session.id)) == ["with Redis"]
    async with without_redis(settings) as cold:
        await cold.append(alice, session.id, words("without"))
        assert texts(await cold.view(alice, session.id)) == ["with Redis", "without"]
    assert texts(await sessions.view(alice, session.id)) == ["with Redis", "without"]
    await sessions.append(alice, session.id, words("again"))
    assert texts(await sessions.view(alice, session.id)) == ["with Redis", "without", "again"]


async def test_a_redis_that_hangs_costs_a_moment_and_no_append(scope: MakeScope, settings: Settings) -> None:
    async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    alice = await scope()
    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with without_redis(settings, f"redis://127.0.0.1:{port}/0") as cold:
        session = (await cold.open(alice, Opening())).view.session
        async with asyncio.timeout(20):
            await asyncio.gather(*(cold.append(alice, session.id, words(str(number))) for number in range(20)))
            assert len(texts(await cold.view(alice, session.id))) == 20
    server.close()


async def test_appends_that_reach_redis_in_any_order_make_one_window(wiring: Wiring, scope: MakeScope) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening())).view.session
    appends = (sessions.append(alice, session.id, words(str(number))) for number in range(100))
    views = (sessions.view(alice, session.id) for _ in range(20))
    _, seen = await asyncio.gather(asyncio.gather(*appends), asyncio.gather(*views))
    for view in [*seen, await sessions.view(alice, session.id)]:
        numbers = [message.seq for message in view.window]
        assert numbers == list(range(view.session.next_seq - len(numbers), view.session.next_seq))
        assert len(numbers) == min(20, view.session.last)


async def test_an_expired_session_is_readable_and_an_append_revives_it(wiring: Wiring, scope: MakeScope) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening(ttl_s=1))).view.session
    await sessions.append(alice, session.id, words("Never use tables.", "hello"))

    async def has_expired() -> bool:
        return (await sessions.view(alice, session.id)).session.expires_at < datetime.now(UTC)

    await eventually(has_expired)
    expired = await sessions.view(alice, session.id)
    assert texts(expired) == ["Never use tables.", "hello"]
    await sessions.append(alice, session.id, words("I am back"))
    revived = await sessions.view(alice, session.id)
    assert revived.session.expires_at > expired.session.expires_at
    assert revived.session.expires_at > revived.session.last_active_at
    assert texts(revived) == ["Never use tables.", "hello", "I am back"]
    assert list(revived.summary.constraints) == ["Never use tables."]


async def test_a_tool_call_and_its_result_stay_together(wiring: Wiring, scope: MakeScope) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening(window_size=3))).view.session
    call = Draft(Role.ASSISTANT, Body(tool_calls=[{"id": "c1", "function": {"name": "find"}}]))
    result = Draft(Role.TOOL, Body(content="found it", tool_call_id="c1"))
    for round_ in range(20):
        await sessions.append(alice, session.id, words(f"question {round_}"))
        await sessions.append(alice, session.id, [call])
        await sessions.append(alice, session.id, [result])
        for extra in range(round_ % 4):
            await sessions.append(alice, session.id, words(f"more {extra}"))
        window = (await sessions.view(alice, session.id)).window
        roles = [message.role for message in window]
        assert roles.count(Role.TOOL) == roles.count(Role.ASSISTANT)
        assert roles[0] is not Role.TOOL


async def test_a_server_that_lost_its_scripts_is_sent_them_again(
    wiring: Wiring,
    scope: MakeScope,
    redis: RedisStore,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening())).view.session
    await hot_copy(wiring, redis, alice, session.id)
    await redis.command("SCRIPT FLUSH")
    await sessions.append(alice, session.id, words("one"))
    await redis.command("SCRIPT FLUSH")
    assert len((await hot_copy(wiring, redis, alice, session.id)).messages) == 1


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "cluster+redis://127.0.0.1:1"])
async def test_a_redis_out_of_reach_is_named_and_left_alone_for_a_moment(url: str) -> None:
    store = connect(url)
    for _ in range(2):
        with pytest.raises(AppError, match="store_unavailable"):
            await store.ping()
    await store.close()


async def test_a_cluster_out_of_reach_fails_no_append(scope: MakeScope, settings: Settings) -> None:
    alice = await scope()
    async with without_redis(settings, "cluster+redis://127.0.0.1:1") as cold:
        session = (await cold.open(alice, Opening())).view.session
        await cold.append(alice, session.id, words("one"))
        assert texts(await cold.view(alice, session.id)) == ["one"]


async def test_a_connection_that_a_cluster_client_closes_while_it_opens_is_a_failure_of_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def vanish(_self: RedisCluster, **_: object) -> None:
        raise AttributeError("'NoneType' object has no attribute 'writelines'")

    monkeypatch.setattr(RedisCluster, "ping", vanish)
    store = connect("cluster+redis://127.0.0.1:1")
    with pytest.raises(AppError, match="store_unavailable"):
        await store.ping()
    await store.close()


async def test_a_dead_user_has_no_window_and_gets_none(wiring: Wiring, scope: MakeScope, redis: RedisStore) -> None:
    alice, sessions, hot = await scope(), the(wiring, Sessions), HotData(redis, wiring.lease)
    session = (await sessions.open(alice, Opening())).view.session
    await sessions.append(alice, session.id, words("one"))
    await hot_copy(wiring, redis, alice, session.id)
    assert await hot.count(alice) == 2
    for _ in range(2):
        await hot.erase(alice)
        assert await hot.count(alice) == 0
    await sessions.append(alice, session.id, words("two"))
    assert texts(await sessions.view(alice, session.id)) == ["one", "two"]
    assert await hot.count(alice) == 0


async def test_nothing_readable_lies_in_redis(wiring: Wiring, scope: MakeScope, redis: RedisStore) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening(title="ornithopter"))).view.session
    await sessions.append(alice, session.id, words("Never mention the ornithopter."))
    await hot_copy(wiring, redis, alice, session.id)
    names = await redis.command("ZRANGE", f"cairn:{{{alice.usr.hex}}}:keys", 0, -1)
    kept = [dump for dump in [await redis.command("DUMP", name) for name in names] if dump]  # tickets are gone by now
    assert len(kept) == 2
    assert not any(b"ornithopter" in dump for dump in kept)


async def test_readiness_tells_how_the_lease_stands(client: MakeClient) -> None:
    alice = await client()

    async def is_held() -> bool:
        return bool((await alice.get("/readyz")).json()["lease"] == "held")

    await eventually(is_held)
