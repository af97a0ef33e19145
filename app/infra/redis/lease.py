"""The lease under which Redis is trusted: why a read from it alone is never stale after an acknowledged write.

One row in PostgreSQL names the generation: open, with the servers that may be trusted, or closed. Each process reads it
every POLL_S, and may go by what it read for LEASE_S, counted from before it asked. The rules:

- Who reads takes an answer from Redis for the truth only in an open, settled generation that they hold before they ask
  and still hold when the answer is there, from a server that the generation names, out of a copy that bears its name.
- Who writes repeats a committed change in Redis, in the open generation that they hold after the commit. It counts
  where a server of the generation has done it and they still hold the generation then. Otherwise they close it, and
  their answer waits until it is settled that nobody trusts it any more. In a settled closed one there is nothing to do.
- A generation is settled LEASE_S after somebody has seen it committed: whoever believed in an earlier one has stopped.
- It is opened only from a settled closed one. So whoever writes without Redis has stopped before anybody reads from it,
  and a copy is made only after that, from PostgreSQL.

A failover, a restart, a server that was demoted shows another identity (script.py) than the generation names. A
database that was restarted, restored or failed over shows that the row wasn't written here. Both close the generation.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

import structlog

from app.core import clock
from app.core.errors import AppError
from app.infra.db.generations import Generations, Row
from app.infra.redis.client import RedisStore

LEASE_S: Final = 1.0
POLL_S: Final = 0.5
# How far the clocks of two machines may drift apart in the time of a lease, and much more.
DRIFT_S: Final = 0.1
# So long after it was closed it may be opened again: a Redis that fails now and then mustn't make every writer wait.
REOPEN_S: Final = 2.0
# A writer who must wait for a lease to end waits no longer than this; then it isn't acknowledged.
PATIENCE_S: Final = 10.0
# Between two looks of a writer who waits.
_LOOK_S: Final = 0.05
# Between two questions to a PostgreSQL that has just taken a write and doesn't answer now.
_INSIST_S: Final = 0.2

T = TypeVar("T")

log = structlog.get_logger("cairn.lease")

# Repeats a change in Redis under the generation's name. Returns the identity of the server that did it.
Step = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation as this process may believe in it until a moment of its own clock. Without servers it is closed."""

    name: UUID
    servers: frozenset[str]
    is_settled: bool
    age_s: float
    until: float

    @property
    def holds(self) -> bool:
        """Say whether it may be believed in at this moment."""
        return clock.now_s() < self.until

    def vouches_for(self, server: str) -> bool:
        """Say whether what this server has just answered is the truth."""
        return server in self.servers and self.holds


class Lease:
    """What one process believes of the generation. `run` keeps it current; without it every question asks anew."""

    def __init__(self, generations: Generations, redis: RedisStore) -> None:
        """Take the row and the servers."""
        self._generations = generations
        self._redis = redis
        self._known: Generation | None = None
        # When this process first saw the generation it knows.
        self._since = 0.0
        self._asking = asyncio.Lock()
        self._is_waiting = False
        self._stopping = asyncio.Event()

    @property
    def state(self) -> str:
        """Say how it stands: `held`, `opening`, `closing`, `closed`, or `unknown` where PostgreSQL doesn't tell."""
        known = self._known
        if known is None or not known.holds:
            return "unknown"
        if known.servers:
            return "held" if known.is_settled else "opening"
        return "closed" if known.is_settled else "closing"

    def held(self) -> Generation | None:
        """Return the generation where its servers may be read from now; None where they may not."""
        known = self._known
        return known if known is not None and known.servers and known.is_settled and known.holds else None

    async def follow(self, step: Step) -> None:
        """Make a committed change visible to whoever reads from Redis alone. Call it after the commit.

        Returns once no reader can miss the change. Raises `store_unavailable` where that can't be made sure: then the
        change, which is committed, mustn't be acknowledged.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                before = await _insisted(self._current)
                if before.servers and await self._has_followed(step, before):
                    return
                if before.servers:
                    log.info("lease_closes", generation=before.name.hex)
                    await _insisted(lambda: self._asked(lambda: self._generations.close(before.name)))
                while not _is_over(before, await _insisted(self._current)):
                    await asyncio.sleep(_LOOK_S)
                    await _insisted(self._settle)
        except TimeoutError as error:
            raise AppError("store_unavailable", "the hot copy", headers={"Retry-After": "1"}) from error

    async def run(self) -> None:
        """Keep it current, settle what can be settled, close and open as the servers go and come; until `stop`."""
        while not self._stopping.is_set():
            started = clock.now_s()
            try:
                known = await self._asked(self._generations.read)
                await self._settle()
                await self._compare(known)
                self._is_waiting = False
            except AppError as error:
                if not self._is_waiting:
                    log.warning("lease_waits", code=error.code, detail=error.detail)
                self._is_waiting = True
            with suppress(TimeoutError):
                async with asyncio.timeout(max(_LOOK_S, self._next_look(started) - clock.now_s())):
                    await self._stopping.wait()

    def stop(self) -> None:
        """Let `run` end, after what it does just now."""
        self._stopping.set()

    async def _has_followed(self, step: Step, before: Generation) -> bool:
        try:
            server = await step(before.name.hex)
        except AppError:
            return False
        return server in before.servers and (await _insisted(self._current)).name == before.name

    async def _current(self) -> Generation:
        """Return what may be believed in at this moment, asking PostgreSQL where that has run out."""
        known = self._known
        if known is None or not known.holds:
            known = await self._asked(self._generations.read)
        if not known.holds:
            raise AppError("store_unavailable", "an answer took longer than it is good for")
        return known

    async def _asked(self, ask: Callable[[], Awaitable[Row]]) -> Generation:
        """Ask, and learn what the answer says. One question at a time, so that what was asked last is known last."""
        async with self._asking:
            row = await ask()
            if not row.is_here:
                log.warning("lease_closes", generation=row.name.hex, why="the database was restarted or restored")
                row = await self._generations.close(row.name)
            if not row.is_here:
                raise AppError("store_unavailable", "the generation was written elsewhere")
            now = clock.now_s()
            if self._known is None or self._known.name != row.name:
                self._since = now
            self._known = Generation(row.name, row.servers, row.is_settled, row.age_s, row.asked_at + LEASE_S)
            return self._known

    async def _settle(self) -> None:
        """Settle the generation where this process has known it for so long that no earlier one is believed in."""
        known = self._known
        if known is not None and not known.is_settled and clock.now_s() >= self._settles_at:
            await self._asked(lambda: self._generations.settle(known.name))

    async def _compare(self, known: Generation) -> None:
        """Close the generation where the servers aren't those that it names, open it where they can be trusted."""
        servers = await self._redis.servers()
        if known.servers and servers != known.servers:
            log.warning("lease_closes", generation=known.name.hex, why="other servers")
            await self._asked(lambda: self._generations.close(known.name))
        elif not known.servers and known.is_settled and known.age_s >= REOPEN_S and servers:
            await self._asked(lambda: self._generations.open(known.name, servers))

    @property
    def _settles_at(self) -> float:
        return self._since + LEASE_S + DRIFT_S

    def _next_look(self, started: float) -> float:
        known = self._known
        look = started + POLL_S
        return look if known is None or known.is_settled else min(look, self._settles_at)


def _is_over(before: Generation, now: Generation) -> bool:
    """Say whether nobody trusts Redis any more because of `before`, or of a generation before that.

    An open generation after it is as good as a settled closed one: it was opened from one.
    """
    if now.name == before.name:
        return now.is_settled and not now.servers
    return now.is_settled or bool(now.servers)


async def _insisted(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until there is an answer: for a write that is committed there is no way back. The caller bounds the time."""
    while True:
        try:
            return await ask()
        except AppError as error:
            log.warning("lease_waits", code=error.code, detail=error.detail)
            await asyncio.sleep(_INSIST_S)
