"""The window and the hot data in a Redis Cluster of six real nodes: the same suite, and a primary that is killed."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio
import structlog
from pydantic import SecretStr

from app.core.scope import Guest
from app.infra.db import migrations
from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Server, Stack
from app.infra.redis import keys
from app.infra.redis.client import RedisStore, connect
from app.infra.redis.userdata import HotData
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.sessions.guest_store import GuestStore
from app.sessions.guests import Guests
from app.sessions.making import ViewMaker
from app.sessions.model import Opening
from app.sessions.service import Defaults, Sessions
from app.settings import Settings
from app.wiring import Wiring, build
from tests.conftest import MakeScope
from tests.sessions import test_window as suite
from tests.sessions.cluster import PRIMARIES, Cluster
from tests.sessions.talk import the

USERS = 20  # enough for each primary to serve some
# What a client meets while a primary is dead. Anything else is a command that a cluster refuses.
OUT_OF_REACH = {"ConnectionError", "TimeoutError", "ClusterDownError", "AttributeError"}

# The suite, on the fixtures of this module.
test_the_window = suite.test_the_window_is_read_from_redis_and_is_what_postgres_has
test_emptied = suite.test_redis_emptied_in_mid_session_changes_nothing
test_appends_in_any_order = suite.test_appends_that_reach_redis_in_any_order_make_one_window
test_lost_scripts = suite.test_a_server_that_lost_its_scripts_is_sent_them_again
test_a_dead_user = suite.test_a_dead_user_has_no_window_and_gets_none
test_nothing_readable = suite.test_nothing_readable_lies_in_redis


@pytest_asyncio.fixture(scope="module")
async def cluster() -> AsyncIterator[Cluster]:
    with TemporaryDirectory(prefix="cairn-cluster-") as folder:
        made = Cluster(Path(folder))
        try:
            await made.start()
            yield made
        finally:
            await made.stop()


@pytest.fixture(scope="module")
def own_stack() -> Iterator[Stack]:
    """The other servers. Its own: two Redis beside one database are never trusted."""
    with TemporaryDirectory(prefix="cairn-clustered-") as folder:
        Path(folder).chmod(0o755)
        stack = Stack(Path(folder) / "data", external=frozenset({Server.REDIS}), durability=Durability.TESTS)
        with stack:
            migrations.upgrade(str(stack.urls.database_owner), str(stack.urls.keys))
            yield stack
        stack.remove()


@pytest.fixture(scope="module")
def settings(settings: Settings, own_stack: Stack, cluster: Cluster) -> Settings:
    urls = own_stack.urls
    here = {
        "database_url": SecretStr(str(urls.database)),
        "database_log_url": SecretStr(str(urls.database_log)),
        "queue_url": SecretStr(str(urls.queue)),
        "keys_url": SecretStr(str(urls.keys)),
        "chroma_url": urls.chroma,
        "redis_url": SecretStr(cluster.url),
    }
    return settings.model_copy(update=here)


@pytest_asyncio.fixture(scope="module")
async def clustered(settings: Settings) -> AsyncIterator[Wiring]:
    async with build(settings) as wired:
        yield wired


@pytest.fixture
def wiring(clustered: Wiring) -> Wiring:
    """The product on the cluster, in the place of the run's."""
    return clustered


@pytest_asyncio.fixture
async def redis(cluster: Cluster) -> AsyncIterator[RedisStore]:
    store = connect(cluster.url)
    yield store
    await store.close()


@pytest.fixture(autouse=True)
def _no_command_is_refused() -> Iterator[None]:
    """A command whose keys lie in several slots is refused, by the client or the server, and would pass for a loss."""
    with structlog.testing.capture_logs() as logs:
        yield
    assert {line["error"] for line in logs if line["event"] == "redis_unavailable"} <= OUT_OF_REACH


async def test_users_are_spread_and_all_of_one_lies_together(
    cluster: Cluster, wiring: Wiring, scope: MakeScope, redis: RedisStore
) -> None:
    sessions, serving = the(wiring, Sessions), set()
    for _ in range(USERS):
        user = await scope()
        opened = [(await sessions.open(user, Opening())).view.session.id for _ in range(3)]
        for session in opened:
            await sessions.append(user, session, suite.words("Never use tables."))
        for session in opened:
            await suite.hot_copy(wiring, redis, user, session)
        assert await HotData(redis, wiring.lease).count(user) == 6
        node = await cluster.primary_of(keys.tombstone(user.usr))
        names = [keys.window(user.usr, session) for session in opened]
        assert await node.say("EXISTS", keys.index(user.usr), *names) == 4
        serving.add(node.port)
    assert len(serving) == PRIMARIES


async def test_to_ask_who_serves_takes_no_connection_from_anybody(redis: RedisStore) -> None:
    await redis.servers()
    for _ in range(5):
        questions = [redis.command("GET", "{one slot}:nothing") for _ in range(200)]
        await asyncio.gather(*questions, redis.servers())


async def test_a_guests_session_lies_together(scope: MakeScope, redis: RedisStore) -> None:
    guests = Guests(GuestStore(redis), ViewMaker(ExtractiveSummariser()), Defaults())
    user = await scope()
    for _ in range(USERS):
        opened = await guests.open(Opening())
        session, guest = opened.view.session.id, Guest(opened.token or "")
        appended = await guests.append(guest, session, suite.words("Never use tables."))
        await guests.append(guest, session, suite.words("more"))
        await guests.delete_message(guest, session, appended.messages[0].id)
        assert suite.texts(await guests.view(guest, session)) == ["more"]
        record = await guests.take(guest, session, user.usr)
        assert record is not None
        await guests.remove(session)
        assert await guests.take(guest, session, user.usr) is None


async def test_a_primary_is_killed_and_its_replica_goes_on(
    cluster: Cluster, wiring: Wiring, scope: MakeScope, redis: RedisStore
) -> None:
    """Appends and reads go on meanwhile from Postgres; then the window is in Redis again, scripts and all."""
    sessions, users = the(wiring, Sessions), [await scope() for _ in range(USERS)]
    opened = {user: (await sessions.open(user, Opening())).view.session.id for user in users}
    for user, session in opened.items():
        await sessions.append(user, session, suite.words("before"))
    alice = users[0]
    victim = await cluster.primary_of(keys.tombstone(alice.usr))
    victim.child.send(signal.SIGKILL)
    for user, session in opened.items():
        await sessions.append(user, session, suite.words("meanwhile"))
        assert suite.texts(await sessions.view(user, session)) == ["before", "meanwhile"]

    await suite.hot_copy(wiring, redis, alice, opened[alice])
    assert (await cluster.primary_of(keys.tombstone(alice.usr))).port != victim.port
    for user, session in opened.items():
        await sessions.append(user, session, suite.words("after"))
        assert suite.texts(await sessions.view(user, session)) == ["before", "meanwhile", "after"]
        await suite.hot_copy(wiring, redis, user, session)
        await HotData(redis, wiring.lease).erase(user)
        assert await HotData(redis, wiring.lease).count(user) == 0
