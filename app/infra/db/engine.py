"""The engine: one bounded pool of connections of the plain role, with time-outs on everything."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from sqlalchemy import AdaptedConnection, event, exc, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.core.errors import AppError

CONNECT_TIMEOUT_S = 5
POOL_WAIT_S = 3
# A writer that waits longer than this for a row is told so: an idempotent twin answers 409 after it (api.md).
LOCK_TIMEOUT_MS = 5_000
STATEMENT_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_MS = 60_000


def make_engine(url: str, pool_size: int, *, statement_cache_size: int = 100) -> AsyncEngine:
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
            "command_timeout": STATEMENT_TIMEOUT_MS / 1000,
            "statement_cache_size": statement_cache_size,
            "prepared_statement_cache_size": statement_cache_size,
            "server_settings": {
                "application_name": "cairn",
                "lock_timeout": str(LOCK_TIMEOUT_MS),
                "statement_timeout": str(STATEMENT_TIMEOUT_MS),
                "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_MS),
            },
        },
    )
    event.listen(engine.sync_engine, "checkout", _require_open)
    return engine


def _require_open(connection: AdaptedConnection, *_: object) -> None:
    """Have the pool put a new connection in the place of one whose server has gone since.

    The driver was told of it by the socket, so this asks nobody; without it the first request of each process after a
    restart of the server is a 503.
    """
    if connection.driver_connection.is_closed():
        raise exc.DisconnectionError


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
