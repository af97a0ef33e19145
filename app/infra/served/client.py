"""The client of such an endpoint: bounded waits, few retries, bounded answers, and no text of ours in an error."""

import asyncio
import json
import math
import random
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from app.infra.served.permits import permit

_WORTH_RETRYING: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_FIRST_PAUSE_S: Final = 0.25
_LONGEST_PAUSE_S: Final = 5.0
ENDS_WITHIN_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where models are served. `base_url` ends before the protocol's own path (https://api.openai.com/v1, say).

    `timeout_s` bounds one attempt, `deadline_s` all of them with the pauses between. What is sent to one that is
    `guarded` needs a permit (`app.infra.served.permits`), asked before each attempt: so is every one that users'
    texts go to.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    connect_timeout_s: float = 3.0
    timeout_s: float = 20.0
    deadline_s: float = 45.0
    attempts: int = 3
    guarded: bool = False


class EndpointError(Exception):
    """There is no answer that could be used. `is_lasting`: the endpoint refuses such a request, and will again."""

    def __init__(self, reason: str, *, is_lasting: bool = False) -> None:
        super().__init__(reason)
        self.is_lasting = is_lasting


class Client:
    """Asks one endpoint. `close` ends the pauses of those who are asking."""

    def __init__(self, endpoint: Endpoint, max_answer_bytes: int) -> None:
        self._endpoint = endpoint
        self._max_answer_bytes = max_answer_bytes
        self._closed = asyncio.Event()
        self._http = httpx.AsyncClient(
            base_url=endpoint.base_url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {},
            timeout=httpx.Timeout(endpoint.timeout_s, connect=endpoint.connect_timeout_s),
        )

    async def post(self, path: str, body: dict[str, Any]) -> bytes:
        """Return the answer to a body of JSON; ask again after a pause where that may help.

        Raises EndpointError, and `processing_stopped` where its permit says no.
        """
        try:
            async with asyncio.timeout(self._endpoint.deadline_s):
                return await self._post(path, body)
        except TimeoutError as error:
            raise EndpointError("Timeout of all attempts") from error

    async def close(self) -> None:
        """Close the connections."""
        self._closed.set()
        await self._http.aclose()

    async def _post(self, path: str, body: dict[str, Any]) -> bytes:
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        for attempt in range(1, self._endpoint.attempts + 1):
            try:
                until_s = await permit().until_s() if self._endpoint.guarded else math.inf
                return await self._ask(path, sent, until_s)
            except _AskAgainError as error:
                pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
                if attempt == self._endpoint.attempts or await self._is_closed_within(max(pause_s, error.after_s)):
                    raise EndpointError(f"{error} (attempts: {attempt})") from error
        raise EndpointError("no attempt is allowed")

    async def _ask(self, path: str, body: bytes, until_s: float) -> bytes:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        try:
            # httpx bounds only the wait for the next piece.
            async with (
                asyncio.timeout(self._endpoint.timeout_s),
                self._http.stream("POST", path, content=_sent(body, until_s), headers=headers) as response,
            ):
                if response.status_code in _WORTH_RETRYING:
                    raise _AskAgainError(f"status {response.status_code}", _retry_after_s(response))
                if not response.is_success:
                    # The body may repeat what was sent: it goes into no error and no log.
                    raise EndpointError(f"the endpoint answers with status {response.status_code}", is_lasting=True)
                return await self._read(response)
        except (httpx.TransportError, TimeoutError) as error:
            raise _AskAgainError(type(error).__name__) from error

    async def _read(self, response: httpx.Response) -> bytes:
        answer = bytearray()
        async for piece in response.aiter_bytes():
            answer += piece
            if len(answer) > self._max_answer_bytes:
                raise EndpointError(f"the endpoint answers with more than {self._max_answer_bytes} bytes")
        return bytes(answer)

    async def _is_closed_within(self, wait_s: float) -> bool:
        try:
            async with asyncio.timeout(wait_s):
                return await self._closed.wait()
        except TimeoutError:
            return False


class BlockingClient:
    """The client for who has no event loop: it runs one of its own, in a thread, from the first request on."""

    def __init__(self, endpoint: Endpoint, max_answer_bytes: int) -> None:
        self._client = Client(endpoint, max_answer_bytes)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def post(self, path: str, body: dict[str, Any]) -> bytes:
        """Return the answer to a body of JSON. Raises EndpointError."""
        with self._lock:
            if self._is_closed:
                raise EndpointError("closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(self._loop,), name="endpoint", daemon=True).start()
            asked = asyncio.run_coroutine_threadsafe(self._client.post(path, body), self._loop)
        try:
            return asked.result()
        except CancelledError as error:
            raise EndpointError("closed") from error

    def close(self) -> None:
        """Close the connections and end the thread. Who is asking gets an error."""
        with self._lock:
            loop, self._is_closed, self._loop = self._loop, True, None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(_end(self._client), loop).result()
            loop.call_soon_threadsafe(loop.stop)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _end(client: Client) -> None:
    """Close the client, and let those who are asking end with an error."""
    asking = asyncio.all_tasks() - {asyncio.current_task()}
    await client.close()
    if asking:
        _, hanging = await asyncio.wait(asking, timeout=ENDS_WITHIN_S)
        for task in hanging:
            task.cancel()
        await asyncio.wait(asking)


class _AskAgainError(Exception):
    """What may be gone at the next attempt."""

    def __init__(self, reason: str, after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.after_s = after_s


async def _sent(body: bytes, until_s: float) -> AsyncIterator[bytes]:
    """Yield the body when the connection is made, if it may be sent then."""
    if time.monotonic() >= until_s:
        raise _AskAgainError("the permit ran out before it was sent")
    yield body


def _retry_after_s(response: httpx.Response) -> float:
    value = response.headers.get("retry-after", "")
    return min(_LONGEST_PAUSE_S, float(value)) if value.isascii() and value.isdigit() else 0.0
