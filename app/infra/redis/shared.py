"""One connection for all who ask: what they ask in one turn of the loop goes out together, and answers come in order.

A connection for each command, from a pool, takes the API 115 microseconds of the processor, and this one 14. Redis does
one thing at a time anyway.
"""

import asyncio
from collections import deque
from typing import Any, Final

import hiredis
from redis.asyncio import ConnectionPool
from redis.exceptions import ConnectionError as LostError
from redis.exceptions import NoScriptError, ResponseError
from redis.exceptions import TimeoutError as LateError

ANSWER_TIMEOUT_S: Final = 0.5
# What came while the loop was busy is read before it is said that nothing came.
READ_FIRST_S: Final = 0.02
MAX_WAITING: Final = 10_000
_NOTHING: Final = object()

Word = bytes | str | int


class SharedConnection:
    """The connection, opened when it is first used, and again where it was lost."""

    def __init__(self, pool: ConnectionPool) -> None:
        """Take what knows where Redis is and how it is greeted. The pool itself stays empty."""
        self._pool = pool
        self._line: _Line | None = None
        self._opening: asyncio.Task[_Line] | None = None

    async def execute_command(self, name: str, *words: Word) -> Any:  # noqa: ANN401 - what a command returns is its own
        """Return the answer to a command, whose name may be of two words. Raises what the client raises.

        A connection that was lost is opened once more.
        """
        packed = hiredis.pack_command((*name.split(), *words))  # type: ignore[arg-type] # more than what it takes
        try:
            return await (await self._opened()).ask(packed)
        except (LostError, LateError, OSError):
            return await (await self._opened()).ask(packed)

    async def ping(self) -> None:
        """Ask for an answer."""
        await self.execute_command("PING")

    async def aclose(self) -> None:
        """Close the connection."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        if self._line is not None:
            self._line.lose(LostError("closed"))

    async def _opened(self) -> "_Line":
        if self._line is not None and not self._line.is_lost:
            return self._line
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(lambda opening: opening.cancelled() or opening.exception())
        # Shielded: who is cancelled meanwhile isn't the only one who waits for it.
        return await asyncio.shield(self._opening)

    async def _open(self) -> "_Line":
        connection = self._pool.make_connection()  # type: ignore[no-untyped-call] # redis-py's own
        await connection.connect()
        # The client greets (TLS, who we are, which database), and then the transport is ours: it has no other way to
        # hand it over.
        writer, connection._writer, connection._reader = connection._writer, None, None  # noqa: SLF001 - as said above
        self._line = _Line(writer)
        return self._line


class _Line(asyncio.Protocol):
    """A connection while it lives, and who waits for its answers."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        """Take over the transport of a stream that nothing is to be read from."""
        self.is_lost = False
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(notEnoughData=_NOTHING)
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._unsent: list[bytes] = []
        self._watch: asyncio.TimerHandle | None = None
        self._writer = writer  # which closes the transport when nobody holds it
        writer.transport.set_protocol(self)

    def ask(self, packed: bytes) -> asyncio.Future[Any]:
        """Return what will be the answer to a command."""
        if self.is_lost or len(self._waiting) >= MAX_WAITING:
            raise LostError("lost, or too many wait")
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(packed)
        answer = self._loop.create_future()
        self._waiting.append((answer, self._loop.time()))
        if self._watch is None:
            self._watch = self._loop.call_later(ANSWER_TIMEOUT_S, self._look)
        return answer

    def data_received(self, data: bytes) -> None:
        """Hand out the answers that have come."""
        try:
            self._reader.feed(data)
            while (found := self._reader.gets()) is not _NOTHING:
                answer, _ = self._waiting.popleft()
                if answer.done():  # who asked is gone
                    continue
                if isinstance(found, hiredis.ReplyError):
                    answer.set_exception(_refusal(str(found)))
                else:
                    answer.set_result(found)
        except (hiredis.ProtocolError, IndexError):
            self.lose(LostError("what came is no answer"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell those who wait."""
        self.lose(LostError(type(exc).__name__))

    def lose(self, error: Exception) -> None:
        """Give the connection up: whoever waits gets the error."""
        self.is_lost = True
        self._writer.transport.abort()
        if self._watch is not None:
            self._watch.cancel()
        while self._waiting:
            answer, _ = self._waiting.popleft()
            if not answer.done():
                answer.set_exception(error)

    def _send(self) -> None:
        packed, self._unsent = b"".join(self._unsent), []
        if self.is_lost:
            return
        try:
            self._writer.transport.write(packed)
        except RuntimeError:  # uvloop's for a connection that is gone
            self.lose(LostError("gone"))

    def _look(self, *, has_read: bool = False) -> None:
        """Give the connection up where the one who waits longest has waited too long."""
        self._watch = None
        if not self._waiting:
            return
        _, since = self._waiting[0]
        left_s = since + ANSWER_TIMEOUT_S - self._loop.time()
        if left_s > 0:
            self._watch = self._loop.call_later(left_s, self._look)
        elif has_read:
            self.lose(LateError("no answer in time"))
        else:
            self._watch = self._loop.call_later(READ_FIRST_S, lambda: self._look(has_read=True))


def _refusal(told: str) -> ResponseError:
    """Return the error that a server's refusal is."""
    return NoScriptError(told) if told.startswith("NOSCRIPT") else ResponseError(told)
