"""The generation of the hot copies: the one row in PostgreSQL that says whether Redis is trusted, and which servers.

It is read all the time, so it has a connection of its own: the pool's may all be at work when it matters.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import asyncpg

from app.core import clock
from app.core.errors import AppError

CONNECT_TIMEOUT_S: Final = 2
# An answer that comes later is of no use to anybody: the lease it would give is over by then.
ANSWER_TIMEOUT_S: Final = 1.0
_FAILURES: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


@dataclass(frozen=True, slots=True)
class Row:
    """The row as it was at some moment after `asked_at`, on this process's clock.

    Where it isn't `is_here`, it was written by another server, before a restart of this one, or in another place than
    the database it is in now: nobody knows then who believes in what.
    """

    name: UUID
    servers: frozenset[str]
    is_settled: bool
    is_here: bool
    age_s: float
    asked_at: float


class Generations:
    """Reads the row and changes it. Each change names what was seen, and does nothing where it isn't so any more."""

    def __init__(self, url: str) -> None:
        """Take the URL of the plain role. It connects at the first question."""
        self._url = url
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._lock = asyncio.Lock()

    async def read(self) -> Row:
        """Return the row. Raises `store_unavailable` where PostgreSQL doesn't answer in time, or is a standby."""
        return await self._ask("SELECT * FROM read_generation()")

    async def close(self, seen: UUID) -> Row:
        """Let nobody trust Redis any more. Who does already stops within the lease's time."""
        return await self._ask("SELECT * FROM close_generation($1)", seen)

    async def open(self, seen: UUID, servers: Iterable[str]) -> Row:
        """Let these servers be trusted, once it is settled; only where nobody trusts any."""
        return await self._ask("SELECT * FROM open_generation($1, $2)", seen, sorted(servers))

    async def settle(self, seen: UUID) -> Row:
        """Note that nobody believes in an earlier generation any more."""
        return await self._ask("SELECT * FROM settle_generation($1)", seen)

    async def end(self) -> None:
        """Close the connection."""
        async with self._lock:
            self._drop()

    async def _ask(self, statement: str, *args: object) -> Row:
        async with self._lock:
            try:
                if self._connection is None or self._connection.is_closed():
                    self._connection = await asyncpg.connect(
                        self._url,
                        timeout=CONNECT_TIMEOUT_S,
                        command_timeout=ANSWER_TIMEOUT_S,
                        statement_cache_size=0,
                        # What was closed may not be open again after a crash, however the server commits otherwise.
                        server_settings={"application_name": "cairn lease", "synchronous_commit": "on"},
                    )
                asked_at = clock.now_s()
                found = await self._connection.fetchrow(statement, *args)
            except _FAILURES as error:
                self._drop()
                raise AppError("store_unavailable", headers={"Retry-After": "2"}) from error
            except asyncio.CancelledError:
                self._drop()
                raise
        if found is None:
            raise AppError("store_unavailable", "there is no generation: the row was removed")
        return Row(
            found["name"], frozenset(found["servers"]), found["is_settled"], found["is_here"], found["age_s"], asked_at
        )

    def _drop(self) -> None:
        """Leave the connection: an answer that is still to come on it belongs to nobody."""
        if self._connection is not None:
            self._connection.terminate()
        self._connection = None
