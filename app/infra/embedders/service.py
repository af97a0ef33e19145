"""Embedding for everyone at once: off the event loop, in micro-batches, with a cache and a bounded queue."""

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from app.core.errors import AppError
from app.infra.embedders.port import Embedder, EmbedderUnavailableError, Vectors
from app.infra.embedders.texts import readable
from app.infra.served.permits import OfAll, OfNobody, Permit, permitted

Vector = NDArray[np.float32]
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Limits:
    """What the service holds at most. A text waits for the batch before its own: small batches, short waits."""

    batch_texts: int = 32
    batch_chars: int = 8_000
    waiting_texts: int = 2_000
    waiting_chars: int = 4_000_000
    cached_vectors: int = 8_192
    cached_counts: int = 16_384
    closing_s: float = 10.0


@dataclass(eq=False, slots=True)
class _Text:
    """A text that waits or is being embedded, once, however many calls asked for it."""

    key: bytes
    text: str
    callers: "list[tuple[_Call, int]]" = field(default_factory=list)

    def wanted(self) -> bool:
        return any(not call.answer.done() for call, _ in self.callers)


@dataclass(eq=False, slots=True)
class _Call:
    """One `embed`: its rows as they come in, the texts that it brought to the queue, the answer that it waits for."""

    answer: asyncio.Future[None]
    rows: list[Vector | None]
    missing: int
    # Asked before a text of its is sent to a model outside; None where the model is here.
    permit: Permit | None = None
    queue: deque[_Text] = field(default_factory=deque)


class EmbeddingService:
    """Runs an embedder in one thread of its own. To be used from one event loop; calls take turns, text by text."""

    def __init__(self, embedder: Embedder, limits: Limits | None = None) -> None:
        """Own `embedder` from here on: `close` closes it."""
        self.embedder = embedder
        self._limits = limits or Limits()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._vectors: LRUCache[bytes, Vector] = LRUCache(self._limits.cached_vectors)
        self._counts: LRUCache[bytes, int] = LRUCache(self._limits.cached_counts)
        self._texts: dict[bytes, _Text] = {}  # waiting or running
        self._turns: deque[_Call] = deque()
        self._waiting_texts = 0
        self._waiting_chars = 0
        self._pump: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many texts wait for a batch."""
        return self._waiting_texts

    async def start(self) -> None:
        """Load the model, in the thread: the first question then waits no longer than the others."""
        with permitted(OfNobody()):
            await self._in_thread(self.embedder.load)

    async def embed(self, texts: Sequence[str], permit: Permit | None = None) -> Vectors:
        """Return a unit vector for each text, in order; the array is the caller's to change. A model outside is asked
        with a permit.

        Raises AppError("overloaded") where the queue has no room or the service is closing, and what the model raises.
        A call that alone exceeds the queue's bound is let in when nothing waits. A cancelled call gives its place back.
        """
        loop = asyncio.get_running_loop()
        if not texts:
            with permitted(OfNobody()):
                dimensions = await self._in_thread(lambda: self.embedder.dimensions)
            return np.empty((0, dimensions), np.float32)
        call = _Call(loop.create_future(), [None] * len(texts), 0, permit)
        self._enter(call, [readable(text, self.embedder.max_chars) for text in texts])
        if call.missing:
            try:
                await call.answer
            finally:
                self._give_back(call)
        return np.stack([row for row in call.rows if row is not None])

    async def embed_one(self, text: str, permit: Permit | None = None) -> Vector:
        """Return the unit vector of one text: shape (dimensions,)."""
        row: Vector = (await self.embed([text], permit))[0]
        return row

    def count_tokens(self, text: str) -> int:
        """Count as the embedder does, remembering recent texts; about 2 microseconds a character the first time."""
        key = _key(text)
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = self.embedder.count_tokens(text)
        return count

    async def close(self) -> None:
        """Refuse new calls, finish what waits within `closing_s`, refuse the rest, then close the embedder."""
        self._closed = True
        if (pump := self._pump) is not None:
            await asyncio.wait({pump}, timeout=self._limits.closing_s)
            pump.cancel()
        for text in self._texts.values():
            _fail(text, AppError("overloaded", "the service is closing"))
        self._thread.shutdown(wait=False, cancel_futures=True)
        self.embedder.close()

    def _enter(self, call: _Call, texts: list[str]) -> None:
        """Take what is remembered, join what is on its way, queue the rest; without room for all of it, nothing."""
        keys = [_key(text) for text in texts]
        asked = dict(zip(keys, texts, strict=True))
        new = {key: text for key, text in asked.items() if key not in self._vectors and key not in self._texts}
        self._admit(len(new), sum(map(len, new.values())))
        for place, key in enumerate(keys):
            row = self._vectors.get(key)
            if row is not None:
                call.rows[place] = row
                continue
            call.missing += 1
            if key not in self._texts:
                call.queue.append(self._texts.setdefault(key, _Text(key, new[key])))
            self._texts[key].callers.append((call, place))
        if call.queue:
            self._turns.append(call)
        if self._turns and self._pump is None:
            self._pump = asyncio.create_task(self._run(), name="embedding")

    def _admit(self, texts: int, chars: int) -> None:
        if not texts:
            return
        limits = self._limits
        fits = (
            self._waiting_texts + texts <= limits.waiting_texts and self._waiting_chars + chars <= limits.waiting_chars
        )
        if self._closed or (self._waiting_texts and not fits):
            raise AppError("overloaded", "too many texts wait for the embedder")
        self._waiting_texts += texts
        self._waiting_chars += chars

    async def _run(self) -> None:
        """Embed batch after batch until nothing waits. What the model raises goes to the callers of that batch."""
        try:
            while taken := self._next_batch():
                batch = await self._permitted(taken)
                if not batch:
                    continue
                # What is asked meanwhile for a text that is being sent is answered by the same.
                permits = [call.permit for text in batch for call, _ in text.callers if call.permit is not None]
                with permitted(OfAll(permits)) if permits else nullcontext():
                    work = self._in_thread(partial(self.embedder.embed, [text.text for text in batch]))
                await asyncio.wait({work})
                for text in batch:
                    del self._texts[text.key]
                error = work.exception()
                if error is None and len(work.result()) != len(batch):
                    error = EmbedderUnavailableError(f"{self.embedder.name} left out texts")
                for place, text in enumerate(batch):
                    if error is None:
                        self._deliver(text, work.result()[place])
                    else:
                        _fail(text, error)
        finally:
            self._pump = None

    def _in_thread(self, work: Callable[[], _Result]) -> "asyncio.Future[_Result]":
        # With the permit of who asks: a thread knows nothing of it by itself.
        return asyncio.get_running_loop().run_in_executor(self._thread, copy_context().run, work)

    async def _permitted(self, batch: list[_Text]) -> list[_Text]:
        """Return the texts that may be sent; who isn't permitted to send theirs is told so."""
        calls = {call for text in batch for call, _ in text.callers if call.permit is not None}
        for call in calls:
            try:
                if call.permit is not None:
                    await call.permit.until_s()
            except AppError as error:
                if not call.answer.done():
                    call.answer.set_exception(error)
        for text in batch:
            text.callers = [(call, place) for call, place in text.callers if not call.answer.done()]
            if not text.callers:
                del self._texts[text.key]
        return [text for text in batch if text.callers]

    def _next_batch(self) -> list[_Text]:
        """Return what fits, one text of each call in turn: a question doesn't wait behind a whole document."""
        batch: list[_Text] = []
        chars = 0
        while self._turns and len(batch) < self._limits.batch_texts:
            queue = self._turns[0].queue
            if not queue:
                self._turns.popleft()
                continue
            if batch and chars + len(queue[0].text) > self._limits.batch_chars:
                break
            text = queue.popleft()
            self._leave_queue(text)
            self._turns.rotate(-1)
            if text.wanted():
                batch.append(text)
                chars += len(text.text)
            else:
                del self._texts[text.key]
        return batch

    def _leave_queue(self, text: _Text) -> None:
        self._waiting_texts -= 1
        self._waiting_chars -= len(text.text)

    def _deliver(self, text: _Text, row: Vector) -> None:
        row = row.copy()  # a view would keep the whole batch
        self._vectors[text.key] = row
        for call, place in text.callers:
            call.rows[place] = row
            call.missing -= 1
            if not call.missing and not call.answer.done():
                call.answer.set_result(None)

    def _give_back(self, call: _Call) -> None:
        """Take out of the queue what only a call that is over was waiting for."""
        kept: deque[_Text] = deque()
        for text in call.queue:
            if text.wanted():
                kept.append(text)
            else:
                self._leave_queue(text)
                del self._texts[text.key]
        call.queue = kept


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _fail(text: _Text, error: BaseException) -> None:
    for call, _ in text.callers:
        if not call.answer.done():
            call.answer.set_exception(error)
