"""The client: bounded waits, one retry, and a breaker, so that a Redis that hangs costs a request little and once."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import structlog
from redis.asyncio import ConnectionPool, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisClusterException, RedisError

from app.core import timing
from app.core.errors import AppError
from app.infra.redis.script import PRIMARY, WHO, Script
from app.infra.redis.shared import ANSWER_TIMEOUT_S, SharedConnection

CONNECT_TIMEOUT_S = 0.5
# Of a cluster's node.
MAX_CONNECTIONS = 32
# After a failure Redis is left alone for so long: its callers have Postgres.
BREAK_S = 0.5
CLUSTER_PREFIX = "cluster+"
# A connection that is lost while it is written to is a RuntimeError of uvloop: "the handler is closed".
FAILURES = (RedisError, OSError, TimeoutError, RuntimeError)
# Where no known node answers, what is raised is no RedisError. And when the client (8.1) looks for its nodes anew, it
# takes connections away from those who are just opening them: they meet None.
CLUSTER_FAILURES = (*FAILURES, RedisClusterException, AttributeError)

log = structlog.get_logger("cairn.redis")


class RedisStore:
    """One Redis server or a cluster. Whatever keeps it from answering is the AppError `store_unavailable`."""

    def __init__(self, client: SharedConnection | RedisCluster) -> None:
        """Take a client that `connect` made."""
        self._client = client
        self._broken_until = 0.0
        self._failures = CLUSTER_FAILURES if isinstance(client, RedisCluster) else FAILURES
        # A cluster's pools fail who finds no connection; a server's connection is shared.
        self._room = asyncio.Semaphore(MAX_CONNECTIONS) if isinstance(client, RedisCluster) else nullcontext()

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[bytes | str | int]) -> Any:  # noqa: ANN401 - what a script returns is the script's own
        """Run a script on its keys. A server that doesn't know it yet (restarted, a new primary) is sent its text."""
        with self._guarded():
            async with self._room:
                try:
                    return await self._client.execute_command("EVALSHA", script.sha, len(keys), *keys, *args)
                except NoScriptError:
                    return await self._client.execute_command("EVAL", script.text, len(keys), *keys, *args)

    async def command(self, name: str, *args: bytes | str | int) -> Any:  # noqa: ANN401 - what a command returns is its own
        """Run one command. In a cluster the keys it names must share a slot."""
        with self._guarded():
            async with self._room:
                return await self._client.execute_command(name, *args)

    async def servers(self) -> frozenset[str]:
        """Return who the primaries are. Raises `store_unavailable` unless all of them answer, are primaries and have
        room. It asks whether Redis was left alone or not, and has nobody leave it alone.
        """
        try:
            with _cancellable():
                answers = await self._asked_all()
        except self._failures as error:
            raise _unavailable() from error
        if not all(who.startswith(PRIMARY.encode()) and state == b"ready" for who, state in answers):
            raise _unavailable()
        return frozenset(who.decode() for who, _ in answers)

    async def ping(self) -> None:
        """Ask for an answer. Raises `store_unavailable` without one."""
        with self._guarded():
            await self._client.ping()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _asked_all(self) -> Sequence[tuple[bytes, bytes]]:
        client = self._client
        if not isinstance(client, RedisCluster):
            return [await client.execute_command("EVAL", WHO.text, 0)]
        await client.initialize()
        primaries = client.get_primaries()
        asked = (client.execute_command("EVAL", WHO.text, 0, target_nodes=node) for node in primaries)
        return list(await asyncio.gather(*asked))

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        if time.monotonic() < self._broken_until:
            raise _unavailable()
        try:
            with timing.in_store(), _cancellable():
                yield
        except self._failures as error:
            self._broken_until = time.monotonic() + BREAK_S
            log.warning("redis_unavailable", error=type(error).__name__, left_alone_s=BREAK_S)
            raise _unavailable() from error


@contextmanager
def _cancellable() -> Iterator[None]:
    """Cancel what was told to end meanwhile and goes on.

    The client sends by `asyncio.wait_for`, which Python 3.11 lets swallow a cancellation where what it waits for is
    done already, as it nearly always is: a deadline around a command would pass unseen.
    """
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    yield
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError


def connect(url: str) -> RedisStore:
    """Return the store at `url`: redis:// or rediss://, with the prefix `cluster+` where it is any node of a cluster.

    It connects when it is first used. The one retry meets connections that the server closed while they idled.
    """
    if url.startswith(CLUSTER_PREFIX):
        cluster = RedisCluster.from_url(
            url.removeprefix(CLUSTER_PREFIX),
            socket_timeout=ANSWER_TIMEOUT_S,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            # Of each node. Who asks who the servers are, or looks for the nodes, doesn't wait for room.
            max_connections=2 * MAX_CONNECTIONS,
            retry=Retry(NoBackoff(), 1),
        )
        return RedisStore(cluster)
    pool = ConnectionPool.from_url(
        url,
        protocol=2,
        socket_timeout=ANSWER_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )
    return RedisStore(SharedConnection(pool))


def _unavailable() -> AppError:
    return AppError("store_unavailable", "the hot copy", headers={"Retry-After": "1"})
