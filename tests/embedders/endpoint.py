"""OpenAI's protocol for embeddings, as a server on loopback answers it."""

import json
from contextlib import AbstractContextManager
from typing import Any

from tests.embedders.fakes import HashingEmbedder
from tests.served.endpoint import Answer, Recorder, status
from tests.served.endpoint import running as serving

__all__ = ["DIMENSIONS", "Answer", "Recorder", "embeddings", "running", "status"]

DIMENSIONS = 256


def embeddings(body: dict[str, Any], dimensions: int = DIMENSIONS) -> Answer:
    """Answer as the protocol says, the rows in reverse: their index tells their place. Blank texts are refused."""
    texts = body["input"]
    if not all(text.strip() for text in texts):
        return 400, {}, b'{"error": {"message": "input must not be blank"}}'
    rows = HashingEmbedder(dimensions).embed(texts)
    data = [{"object": "embedding", "index": i, "embedding": (3 * row).tolist()} for i, row in enumerate(rows)]
    return 200, {}, json.dumps({"object": "list", "data": data[::-1], "model": body["model"]}).encode()


def running() -> AbstractContextManager[Recorder]:
    return serving(embeddings)
