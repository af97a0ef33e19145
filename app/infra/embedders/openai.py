"""Any endpoint that speaks OpenAI's protocol for embeddings: bounded waits, few retries, dimensions checked."""

import json
import random
import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import httpx
import numpy as np

from app.infra.embedders.port import EmbedderMisconfiguredError, EmbedderUnavailableError, Vectors
from app.infra.embedders.texts import counted, estimated_tokens, readable
from app.infra.embedders.vectors import unit_rows

MAX_CHARS = 6_000  # such models read 8,192 tokens; Chinese has up to 1.3 tokens a character
_TEXTS_PER_REQUEST = 64
_MAX_ANSWER_BYTES = 64 * 1024 * 1024  # 64 texts of 4,096 numbers have 6 MB
_BLANK = "."  # such endpoints refuse a text without a character
_WORTH_RETRYING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is served. `base_url` ends before `/embeddings` (https://api.openai.com/v1, say)."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    connect_timeout_s: float = 3.0
    timeout_s: float = 20.0
    attempts: int = 3


class OpenAIEmbedder:
    """A served model. Its dimensions are given, or learned by embedding one word at the first use."""

    max_chars = MAX_CHARS

    def __init__(self, model: str, endpoint: Endpoint, *, dimensions: int | None = None, revision: str = "") -> None:
        """Take the model's name at the endpoint; `revision` is the operator's, since the protocol knows none."""
        self.name = f"openai:{model}"
        self.revision = revision
        self._model = model
        self._endpoint = endpoint
        self._dimensions = dimensions
        self._learning = threading.Lock()
        self._closed = threading.Event()
        self._client = httpx.Client(
            base_url=endpoint.base_url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {},
            timeout=httpx.Timeout(endpoint.timeout_s, connect=endpoint.connect_timeout_s),
        )

    @property
    def dimensions(self) -> int:
        with self._learning:
            if self._dimensions is None:
                self._dimensions = len(self._request(["dimensions"])[0])
            return self._dimensions

    def load(self) -> None:
        """Ask once, where the dimensions aren't given, so that a wrong address or key shows at the start."""
        _ = self.dimensions

    def embed(self, texts: list[str]) -> Vectors:
        dimensions = self.dimensions
        inputs = [text if text.strip() else _BLANK for text in (readable(text, MAX_CHARS) for text in texts)]
        parts = [
            self._checked(self._request(inputs[start : start + _TEXTS_PER_REQUEST]), dimensions)
            for start in range(0, len(inputs), _TEXTS_PER_REQUEST)
        ]
        return np.concatenate(parts) if parts else np.empty((0, dimensions), np.float32)

    def count_tokens(self, text: str) -> int:
        """Estimate: the tokenizer stays with the endpoint, and a request for a number would not be cheap."""
        return counted(text, estimated_tokens)

    def close(self) -> None:
        self._closed.set()
        self._client.close()

    def _checked(self, rows: list[list[float]], dimensions: int) -> Vectors:
        if any(len(row) != dimensions for row in rows):
            raise EmbedderMisconfiguredError(
                f"{self.name} answers with {len(rows[0])} dimensions, not with {dimensions}"
            )
        return unit_rows(rows, len(rows), dimensions)

    def _request(self, inputs: list[str]) -> list[list[float]]:
        """Return a row for each input; try again after a pause where that may help, `attempts` times in all."""
        for attempt in range(1, self._endpoint.attempts + 1):
            pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
            try:
                return self._ask(inputs)
            except _AskAgainError as error:
                if attempt == self._endpoint.attempts or self._closed.wait(max(pause_s, error.after_s)):
                    raise EmbedderUnavailableError(f"{self.name}: {error} (attempts: {attempt})") from error
        raise EmbedderUnavailableError(f"{self.name}: no attempt is allowed")

    def _ask(self, inputs: list[str]) -> list[list[float]]:
        body: dict[str, Any] = {"model": self._model, "input": inputs, "encoding_format": "float"}  # JSON
        deadline = monotonic() + self._endpoint.timeout_s
        try:
            with self._client.stream("POST", "embeddings", json=body) as response:
                if response.status_code in _WORTH_RETRYING:
                    raise _AskAgainError(f"status {response.status_code}", _retry_after_s(response))
                if not response.is_success:
                    # The body may repeat the texts: it goes into no error and no log.
                    raise EmbedderMisconfiguredError(
                        f"{self.name}: the endpoint answers with status {response.status_code}"
                    )
                answer = _read(response, deadline)
        except httpx.TransportError as error:
            raise _AskAgainError(type(error).__name__) from error
        return _rows(answer, len(inputs))


class _AskAgainError(Exception):
    """What may be gone at the next attempt."""

    def __init__(self, reason: str, after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.after_s = after_s


def _retry_after_s(response: httpx.Response) -> float:
    value = response.headers.get("retry-after", "")
    return min(_LONGEST_PAUSE_S, float(value)) if value.isascii() and value.isdigit() else 0.0


def _read(response: httpx.Response, deadline: float) -> bytes:
    """Read the body, bounded in size and in time: httpx bounds only the wait for the next piece."""
    answer = bytearray()
    for piece in response.iter_bytes():
        answer += piece
        if monotonic() > deadline:
            raise _AskAgainError("the answer is too slow")
        if len(answer) > _MAX_ANSWER_BYTES:
            raise EmbedderUnavailableError(f"the endpoint answers with more than {_MAX_ANSWER_BYTES} bytes")
    return bytes(answer)


def _rows(answer: bytes, count: int) -> list[list[float]]:
    """Return the rows in the order of the inputs (the protocol numbers them)."""
    try:
        rows = {
            int(item.get("index", place)): [float(number) for number in item["embedding"]]
            for place, item in enumerate(json.loads(answer)["data"])
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise EmbedderUnavailableError("the endpoint's answer isn't one of OpenAI's protocol") from error
    if rows.keys() != set(range(count)):
        raise EmbedderUnavailableError(f"the endpoint answers with {len(rows)} rows for {count} texts")
    return [rows[place] for place in range(count)]
