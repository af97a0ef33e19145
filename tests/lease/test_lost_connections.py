"""A connection that is lost while it is written to is a store that is away, under the event loop that serves."""

import asyncio

import pytest
import uvloop
from redis.asyncio import Connection, ConnectionPool

from app.core.errors import AppError
from app.infra.embedded.ports import LOOPBACK
from app.infra.redis.client import RedisStore
from app.infra.redis.shared import SharedConnection


class LostConnection(Connection):
    """One whose other end is gone by the time that something is written: as when Redis is killed just then."""

    async def _connect(self) -> None:
        await super()._connect()  # type: ignore[no-untyped-call] # redis-py's own
        writer = self._writer
        assert writer is not None
        writer.transport.abort()
        await writer.wait_closed()


async def ask_over_a_lost_connection() -> str:
    server = await asyncio.start_server(lambda _reader, _writer: None, LOOPBACK, 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        pool = ConnectionPool(connection_class=LostConnection, host=LOOPBACK, port=port)
        store = RedisStore(SharedConnection(pool))
        try:
            with pytest.raises(AppError) as refused:
                await store.ping()
        finally:
            await store.close()
    return refused.value.code


def test_a_connection_that_is_lost_as_it_is_written_to_is_a_store_that_is_away() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(ask_over_a_lost_connection()) == "store_unavailable"
