"""Any endpoint that speaks the protocol of Cohere and Jina for reranking, as vLLM and others do too."""

import json
import math
from collections.abc import Sequence
from typing import Any, Final

from app.infra.rerankers.port import RerankerUnavailableError
from app.infra.served.client import Client, Endpoint, EndpointError

MAX_TEXT_CHARS: Final = 8_000
# Some answer with the texts beside their numbers.
_MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024


class HttpReranker:
    """A served model. It is asked once and for so long: who searches waits for it."""

    def __init__(self, model: str, base_url: str, api_key: str | None, deadline_s: float) -> None:
        """Take the model's name at the endpoint, and how long an answer may take."""
        self._model = model
        endpoint = Endpoint(
            base_url,
            api_key,
            connect_timeout_s=deadline_s,
            timeout_s=deadline_s,
            deadline_s=deadline_s,
            attempts=1,
            guarded=True,
        )
        self._client = Client(endpoint, _MAX_ANSWER_BYTES)

    async def rate(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a number for each text. What goes wrong is a RerankerUnavailableError."""
        body: dict[str, Any] = {  # Any: JSON
            "model": self._model,
            "query": question[:MAX_TEXT_CHARS],
            "documents": [text[:MAX_TEXT_CHARS] for text in texts],
            "top_n": len(texts),
        }
        try:
            answer = await self._client.post("rerank", body)
        except EndpointError as error:
            raise RerankerUnavailableError(str(error)) from error
        return _numbers(answer, len(texts))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _numbers(answer: bytes, count: int) -> Sequence[float]:
    """Return the numbers in the order of the texts: the protocol gives them best first, each with its place."""
    try:
        found = {int(one["index"]): float(one["relevance_score"]) for one in json.loads(answer)["results"]}
    except (ValueError, TypeError, KeyError) as error:
        raise RerankerUnavailableError("the endpoint's answer isn't one of the protocol") from error
    if found.keys() != set(range(count)) or not all(map(math.isfinite, found.values())):
        raise RerankerUnavailableError(f"the endpoint answers with {len(found)} usable numbers for {count} texts")
    return [found[place] for place in range(count)]
