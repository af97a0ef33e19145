"""Group commit: the appends that arrive while a batch is being committed make the next batch.

One batch is in flight. One append alone is committed at once; a thousand at a time share the cost of a few commits.
What a batch can't do is repeated: the items of one session at a time, by the write door, which waits and refuses.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import asyncpg

from app.core import timing
from app.core.errors import AppError
from app.infra.db.appends import Append, Fate, Outcome, Owed
from app.infra.db.transaction import Database

MAX_BATCH: Final = 128
MAX_BATCH_BYTES: Final = 4 * 2**20
# Beyond these it is better to say so: what is accepted is held in memory until it is committed.
MAX_WAITING: Final = 2_000
MAX_WAITING_BYTES: Final = 64 * 2**20
LONGEST_WAIT_S: Final = 15.0
# So many sessions at a time are waited for, each with a connection in its hand.
REPEATS: Final = 3
TRIES: Final = 3
# Nothing was written, and the next one would meet the same: repeated item by item it takes only longer.
_OUT_OF_REACH: Final = frozenset({"store_unavailable", "overloaded"})

_Session = tuple[UUID, UUID]
_Key = tuple[UUID, str | None, str, bytes]


@dataclass(eq=False, slots=True)
class _Waiting:
    """An append and who waits for it. One that is in flight can't be given up: nobody knows yet what became of it."""

    append: Append
    outcome: asyncio.Future[Outcome]
    expiry: asyncio.TimerHandle | None = None
    in_flight: bool = False
    is_late: bool = False

    @property
    def session(self) -> _Session:
        return self.append.scope.usr, self.append.session_id

    @property
    def key(self) -> _Key | None:
        scope, key = self.append.scope, self.append.key
        return None if key is None else (scope.usr, scope.agent, key.route, key.tag)


class GroupCommit:
    """Commits the appends of this process. `close` refuses new ones and waits for those it has."""

    def __init__(self, db: Database, owed: Owed, max_waiting: int = MAX_WAITING) -> None:
        """Take the doors, the jobs that appends owe, and how many may wait."""
        self._db = db
        self._owed = owed
        self._max_waiting = max_waiting
        self._waiting: deque[_Waiting] = deque()
        self._repeating: dict[_Session, deque[_Waiting]] = {}
        self._slots = asyncio.Semaphore(REPEATS)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writing = False
        self._closing = False
        self._count = 0
        self._bytes = 0

    async def submit(self, append: Append) -> Outcome:
        """Return what became of an append, when it is committed. Raises `overloaded`, `erasing`, `in_progress`...

        Who is cancelled meanwhile takes back what hasn't begun; what has begun is finished.
        """
        too_much = self._bytes > 0 and self._bytes + append.size_bytes > MAX_WAITING_BYTES
        if self._closing or too_much or self._count >= self._max_waiting:
            raise _overloaded()
        loop = asyncio.get_running_loop()
        waiting = _Waiting(append, loop.create_future())
        waiting.expiry = loop.call_later(LONGEST_WAIT_S, self._expire, waiting)
        self._count += 1
        self._bytes += append.size_bytes
        self._waiting.append(waiting)
        if not self._writing:
            self._writing = True
            self._spawn(self._write())
        with timing.in_store():
            return await waiting.outcome

    async def close(self) -> None:
        """Refuse what comes from now on, and wait until what has come is settled."""
        self._closing = True
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _write(self) -> None:
        while self._waiting:
            batch = self._taken(self._waiting)
            if batch:
                await self._write_batch(batch)
        self._writing = False

    async def _write_batch(self, batch: Sequence[_Waiting]) -> None:
        outcomes = await self._tried(self._db.append([one.append for one in batch], self._owed))
        if isinstance(outcomes, AppError) and outcomes.code in _OUT_OF_REACH:
            self._fail(batch, outcomes)
        elif isinstance(outcomes, BaseException):
            self._repeat(batch)
        else:
            self._settle(batch, outcomes)
            self._repeat([one for one, outcome in zip(batch, outcomes, strict=True) if outcome.fate is Fate.BUSY])

    def _repeat(self, handed_back: Sequence[_Waiting]) -> None:
        """Let the write door do them: each session's in a task of its own, which never holds more than a connection."""
        for one in handed_back:
            one.in_flight = False
            others = self._repeating.get(one.session)
            if others is None:
                self._repeating[one.session] = deque([one])
                self._spawn(self._repeat_session(one.session))
            else:
                others.append(one)

    async def _repeat_session(self, session: _Session) -> None:
        async with self._slots:
            while self._repeating[session]:
                group = self._taken(self._repeating[session])
                if group:
                    await self._repeat_group(group)
            del self._repeating[session]

    async def _repeat_group(self, group: Sequence[_Waiting]) -> None:
        outcomes = await self._tried(self._by_write_door(group))
        for _ in range(TRIES - 1):
            if isinstance(outcomes, asyncpg.SerializationError):
                outcomes = await self._tried(self._by_write_door(group))
        if isinstance(outcomes, AppError) or (isinstance(outcomes, BaseException) and len(group) == 1):
            self._fail(group, outcomes)
        elif isinstance(outcomes, BaseException):
            for one in group:
                await self._repeat_group([one])
        else:
            self._settle(group, outcomes)
            busy = [one for one, outcome in zip(group, outcomes, strict=True) if outcome.fate is Fate.BUSY]
            self._fail(busy, AppError("in_progress", headers={"Retry-After": "1"}))

    async def _by_write_door(self, group: Sequence[_Waiting]) -> Sequence[Outcome]:
        async with self._db.write(group[0].append.scope) as tx:
            return await tx.append([one.append for one in group], self._owed)

    async def _tried(self, work: Coroutine[Any, Any, Sequence[Outcome]]) -> Sequence[Outcome] | BaseException:
        """Return what comes of it, were it an error: it belongs to those who wait."""
        task = self._spawn(work)
        await asyncio.wait({task})
        return asyncio.CancelledError() if task.cancelled() else task.exception() or task.result()

    def _taken(self, waiting: deque[_Waiting]) -> list[_Waiting]:
        """Take the next ones, first come first. Of two with one key the second comes later, and meets the answer."""
        batch: list[_Waiting] = []
        twins: list[_Waiting] = []
        keys: set[_Key] = set()
        size_bytes = 0
        while waiting and len(batch) < MAX_BATCH:
            one = waiting[0]
            size_bytes += one.append.size_bytes
            if batch and size_bytes > MAX_BATCH_BYTES:
                break
            waiting.popleft()
            if one.is_late or one.outcome.done():
                self._fail([one], _overloaded())
            elif one.key in keys:
                twins.append(one)
            else:
                keys.update({one.key} if one.key else ())
                one.in_flight = True
                batch.append(one)
        waiting.extendleft(reversed(twins))
        return batch

    def _settle(self, batch: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
        for one, outcome in zip(batch, outcomes, strict=True):
            if outcome.fate is not Fate.BUSY:
                self._forget(one)
                if not one.outcome.done():  # who waited may be gone
                    one.outcome.set_result(outcome)

    def _fail(self, batch: Sequence[_Waiting], error: BaseException) -> None:
        for one in batch:
            self._forget(one)
            if not one.outcome.done():
                one.outcome.set_exception(error)

    def _forget(self, one: _Waiting) -> None:
        if one.expiry is not None:
            one.expiry.cancel()
        self._count -= 1
        self._bytes -= one.append.size_bytes

    def _expire(self, one: _Waiting) -> None:
        one.is_late = True
        if not one.in_flight and not one.outcome.done():
            one.outcome.set_exception(_overloaded())

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        # In a context of its own: it works for many requests, and is none of them.
        task = asyncio.create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _overloaded() -> AppError:
    return AppError("overloaded", headers={"Retry-After": "1"})
