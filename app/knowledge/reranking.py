"""The order of what was found, by a model that reads question and passage together; without it, as it was."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from app.core.errors import AppError
from app.core.processing import is_stopped
from app.core.scope import Scope
from app.infra.rerankers.port import Reranker, RerankerUnavailableError
from app.infra.served.permits import Permits, permitted
from app.knowledge.model import Hit, Reranked

# So many hits are read by the model, or as many as are asked for.
READ: Final = 40
# A model that didn't answer isn't asked again for so long: searches don't queue up behind its deadline.
PAUSE_S: Final = 5.0

log = structlog.get_logger("cairn.knowledge")


class Reranking:
    """Puts hits in order. Off where there is no model."""

    def __init__(self, reranker: Reranker | None, permits: Permits) -> None:
        """Take the model, None where none is asked, and what gives the permits that it is asked by."""
        self._reranker = reranker
        self._permits = permits
        self._asked_again_at_s = 0.0

    @property
    def is_on(self) -> bool:
        """Whether there is a model."""
        return self._reranker is not None

    async def ordered(self, scope: Scope, question: str, hits: Sequence[Hit]) -> tuple[Sequence[Hit], Reranked]:
        """Return the hits in the model's order, with its numbers as scores; as they are where it doesn't answer."""
        if self._reranker is None:
            return hits, Reranked.OFF
        if not hits:
            return hits, Reranked.DONE
        if time.monotonic() < self._asked_again_at_s:
            return hits, Reranked.UNAVAILABLE
        try:
            with permitted(self._permits.of(scope)):
                numbers = await self._reranker.rate(question, [hit.passage.text for hit in hits])
        except AppError as error:
            if not is_stopped(error):
                raise
            return hits, Reranked.UNAVAILABLE
        except RerankerUnavailableError as error:
            self._asked_again_at_s = time.monotonic() + PAUSE_S
            log.warning("not_reranked", reason=str(error))
            return hits, Reranked.UNAVAILABLE
        rated = [replace(hit, score=number, rerank=number) for hit, number in zip(hits, numbers, strict=True)]
        return sorted(rated, key=lambda hit: -hit.score), Reranked.DONE
