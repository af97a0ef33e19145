"""Any endpoint that speaks OpenAI's protocol for embeddings: its dimensions are learned, and checked."""

import json
import threading
from typing import Any

import numpy as np

from app.infra.embedders.port import EmbedderMisconfiguredError, EmbedderUnavailableError, Vectors
from app.infra.embedders.texts import counted, estimated_tokens, readable
from app.infra.embedders.vectors import unit_rows
from app.infra.served.client import BlockingClient, Endpoint, EndpointError

MAX_CHARS = 6_000  # such models read 8,192 tokens; Chinese has up to 1.3 tokens a character
_TEXTS_PER_REQUEST = 64
_MAX_ANSWER_BYTES = 64 * 1024 * 1024  # 64 texts of 4,096 numbers have 6 MB
_BLANK = "."  # such endpoints refuse a text without a character


class OpenAIEmbedder:
    """A served model. Its dimensions are given, or learned by embedding one word at the first use."""

    max_chars = MAX_CHARS

    def __init__(self, model: str, endpoint: Endpoint, *, dimensions: int | None = None, revision: str = "") -> None:
        """Take the model's name at the endpoint; `revision` is the operator's, since the protocol knows none."""
        self.name = f"openai:{model}"
        self.revision = revision
        self._model = model
        self._dimensions = dimensions
        self._learning = threading.Lock()
        self._client = BlockingClient(endpoint, _MAX_ANSWER_BYTES)

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
        self._client.close()

    def _checked(self, rows: list[list[float]], dimensions: int) -> Vectors:
        if any(len(row) != dimensions for row in rows):
            raise EmbedderMisconfiguredError(
                f"{self.name} answers with {len(rows[0])} dimensions, not with {dimensions}"
            )
        return unit_rows(rows, len(rows), dimensions)

    def _request(self, inputs: list[str]) -> list[list[float]]:
        """Return a row for each input."""
        body: dict[str, Any] = {"model": self._model, "input": inputs, "encoding_format": "float"}  # JSON
        try:
            answer = self._client.post("embeddings", body)
        except EndpointError as error:
            raised = EmbedderMisconfiguredError if error.is_lasting else EmbedderUnavailableError
            raise raised(f"{self.name}: {error}") from error
        return _rows(answer, len(inputs))


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
