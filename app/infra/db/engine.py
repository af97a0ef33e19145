"""The engine: one bounded pool of connections of the plain role, with time-outs on everything."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import asyncpg
from sqlalchemy import AdaptedConnection, Connection, ExceptionContext, event, exc, make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from app.core.errors import AppError

T = TypeVar("T")

CONNECT_TIMEOUT_S = 3
POOL_WAIT_S = 3
# A statement that waits for nobody is answered within this time, or the server hangs.
ANSWER_S = 3
# A writer that waits longer than this for a row is told so: an idempotent twin answers 409 after it (api.md).
LOCK_TIMEOUT_MS = 5_000
STATEMENT_TIMEOUT_S = 30
# Somebody waits for what the API asks. It is more than LOCK_TIMEOUT_MS, by which those are told who wait in order.
API_STATEMENT_TIMEOUT_S = 8
# So much later than the server's time is over, it is given up: it would have said so.
SILENCE_S = 2
IDLE_IN_TRANSACTION_MS = 60_000


def make_engine(
    url: str, pool_size: int, *, statement_cache_size: int = 100, statement_timeout_s: float = STATEMENT_TIMEOUT_S
) -> AsyncEngine:
    """Return an engine for `url` (postgresql://...). Behind a pooler in transaction mode the cache must be 0."""
    engine = create_async_engine(
        make_url(url).set(drivername="postgresql+asyncpg"),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=POOL_WAIT_S,
        pool_pre_ping=False,
        # A hidden parameter can't show up in an error or a log.
        hide_parameters=True,
        connect_args={
            "timeout": CONNECT_TIMEOUT_S,
            "command_timeout": statement_timeout_s + SILENCE_S,
            "statement_cache_size": statement_cache_size,
            "prepared_statement_cache_size": statement_cache_size,
            "server_settings": {
                "application_name": "cairn",
                "lock_timeout": str(LOCK_TIMEOUT_MS),
                "statement_timeout": str(int(statement_timeout_s * 1000)),
                "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_MS),
            },
        },
    )
    event.listen(engine.sync_engine, "checkout", _require_open)
    event.listen(engine.sync_engine, "handle_error", _leave_silent)
    return engine


def _require_open(connection: AdaptedConnection, *_: object) -> None:
    """Have the pool put a new connection in the place of one whose server has gone since.

    The driver was told of it by the socket, so this asks nobody; without it the first request of each process after a
    restart of the server is a 503.
    """
    if connection.driver_connection.is_closed():
        raise exc.DisconnectionError


async def answered_soon(connection: AsyncConnection, asked: Awaitable[T]) -> T:
    """Return what a statement answers that waits for nobody's locks, and ends the connection of a server that hangs.

    Ended, not cancelled: to cancel is to ask the same server by another connection, and to wait for what it says.
    """
    driver = _driver(connection.sync_connection)
    timer = asyncio.get_running_loop().call_later(ANSWER_S, driver.terminate)
    try:
        return await asked
    finally:
        timer.cancel()


def _driver(connection: Connection | None) -> asyncpg.Connection:
    if connection is None or connection.connection.driver_connection is None:
        raise TypeError("a connection has a driver")
    driver: asyncpg.Connection = connection.connection.driver_connection
    return driver


def _leave_silent(context: ExceptionContext) -> None:
    """End a connection whose server is silent beyond its own time-outs: a rollback would wait for it once more."""
    if isinstance(context.original_exception, TimeoutError) and context.connection is not None:
        _driver(context.connection).terminate()


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn what a database out of reach or out of room raises into the error that a caller can act on."""
    try:
        yield
    except exc.TimeoutError as error:
        raise AppError("overloaded", headers={"Retry-After": "1"}) from error
    except exc.DBAPIError as error:
        cause = getattr(error.orig, "__cause__", None)
        if isinstance(cause, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError):
            raise AppError("in_progress", headers={"Retry-After": "1"}) from error
        if error.connection_invalidated or isinstance(cause, UNREACHABLE):
            raise AppError("store_unavailable", headers={"Retry-After": "2"}) from error
        raise
    # What the driver raises where it is asked past SQLAlchemy.
    except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError) as error:
        raise AppError("in_progress", headers={"Retry-After": "1"}) from error
    except UNREACHABLE as error:
        raise AppError("store_unavailable", headers={"Retry-After": "2"}) from error


# What a connection raises whose server is gone, going, coming up or out of room.
UNREACHABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    # Too many connections, a full disk, no memory left.
    asyncpg.InsufficientResourcesError,
    asyncpg.QueryCanceledError,
    asyncpg.InterfaceError,
)
