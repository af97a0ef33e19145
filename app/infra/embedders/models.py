"""The model whose vectors are wanted, and the one before it while a change of models is under way."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from app.core.assembly import Reason
from app.core.errors import AppError
from app.core.processing import is_stopped
from app.core.scope import Scope
from app.infra.embedders.port import (
    EmbedderLateError,
    EmbedderMisconfiguredError,
    EmbedderUnavailableError,
    Vectors,
)
from app.infra.embedders.service import EmbeddingService
from app.infra.served.permits import Permit, Permits

Vector = NDArray[np.float32]
_Result = TypeVar("_Result")
_Work = Callable[[EmbeddingService, Permit | None], Awaitable[_Result]]

# A question that one of two models has answered waits so long for the other's answer.
WAIT_S: Final = 1.0
# A model of two that didn't answer isn't asked for so long.
REST_S: Final = 30.0

log = structlog.get_logger("cairn.embedding")


@dataclass(frozen=True, slots=True)
class Model:
    """A model under its name with its revision: vectors compare where that is equal."""

    name: str
    service: EmbeddingService
    # Whether what it is asked leaves the installation.
    is_outside: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's vector by each model that has answered. Where none did, `lacks` says why."""

    vectors: Mapping[str, Vector]
    lacks: Reason | None = None


class Models:
    """Asks one model, or two while one takes the other's place: everything then has vectors of both, each searched with
    the question's vector by the same model. Where one of two fails the other goes on alone, and who fails has a rest.
    """

    def __init__(
        self,
        wanted: Model,
        before: Model | None = None,
        deadline_s: float | None = None,
        permits: Permits | None = None,
    ) -> None:
        """Take the models, how long a question waits for its vector (without that as long as it takes), and what gives
        the permits that those outside are asked by.
        """
        self._permits = permits
        self._deadline_s = deadline_s
        self.wanted = wanted
        self._all = [wanted] if before is None or before.name == wanted.name else [wanted, before]
        self._rests_until_s: dict[str, float] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names, the wanted one's first."""
        return tuple(model.name for model in self._all)

    async def start(self) -> None:
        """Load them. One of two that can't be is asked again when it is needed."""
        await asyncio.gather(*(model.service.start() for model in self._all), return_exceptions=len(self._all) > 1)

    async def ask(self, scope: Scope, question: str, until_s: float | None = None) -> Asked:
        """Return the question's vector by each model that answers, and why there is none where none does.

        It is waited for until `until_s` (time.monotonic), where that is given.
        """
        within_s = self._deadline_s if until_s is None else max(until_s - time.monotonic(), 0.0)
        try:
            return Asked(await self._each(scope, lambda service, permit: service.embed_one(question, permit), within_s))
        except (EmbedderUnavailableError, EmbedderMisconfiguredError, AppError) as error:
            is_late = isinstance(error, EmbedderLateError)
            log.warning("searched_by_words_alone", error=type(error).__name__, waited_s=within_s)
            return Asked({}, Reason.SOURCE_LATE if is_late else Reason.SOURCE_FAILED)

    async def embed(self, scope: Scope, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the texts' vectors by each model that answers, a row a text. Raises as `ask` does."""
        return await self._each(scope, lambda service, permit: service.embed(texts, permit), None)

    async def embed_wanted(self, scope: Scope, texts: Sequence[str]) -> Vectors:
        """Return the texts' vectors by the wanted one."""
        return await self.wanted.service.embed(texts, self._permit(scope, self.wanted))

    def _permit(self, scope: Scope, model: Model) -> Permit | None:
        return self._permits.of(scope) if model.is_outside and self._permits is not None else None

    def count_tokens(self, text: str) -> int:
        """Count as the wanted one does."""
        return self.wanted.service.count_tokens(text)

    async def _each(self, scope: Scope, work: _Work[_Result], within_s: float | None) -> Mapping[str, _Result]:
        """Ask all and wait so long; None is as long as it takes. Once one has answered, the other has WAIT_S."""
        if len(self._all) == 1:
            try:
                async with asyncio.timeout(within_s):
                    return {self.wanted.name: await work(self.wanted.service, self._permit(scope, self.wanted))}
            except TimeoutError as error:
                raise EmbedderLateError(self.wanted.name) from error
        until = None if within_s is None else time.monotonic() + within_s
        now = time.monotonic()
        awake = [model for model in self._all if self._rests_until_s.get(model.name, 0.0) <= now] or self._all
        asked = {model.name: asyncio.create_task(_tried(model, work, self._permit(scope, model))) for model in awake}
        try:
            await asyncio.wait(asked.values(), return_when=asyncio.FIRST_COMPLETED, timeout=within_s)
            left = None if until is None else max(until - time.monotonic(), 0.0)
            is_answered = any(task.done() and task.result().made is not None for task in asked.values())
            await asyncio.wait(asked.values(), timeout=min(left, WAIT_S) if is_answered and left is not None else left)
        finally:
            late = [name for name, task in asked.items() if not task.done()]
            for name in late:
                asked[name].cancel()
        answers = {name: task.result() for name, task in asked.items() if name not in late}
        made = {name: answer.made for name, answer in answers.items() if answer.made is not None}
        # What its user doesn't let a model be shown says nothing of the model.
        refused = {name for name, answer in answers.items() if is_stopped(answer.error)}
        for name in asked.keys() - made.keys() - refused:
            self._rests_until_s[name] = time.monotonic() + REST_S
        if not made:
            raise next((answer.error for answer in answers.values() if answer.error), EmbedderLateError(late))
        return made


@dataclass(frozen=True, slots=True)
class _Answer(Generic[_Result]):
    made: _Result | None
    error: Exception | None = None


async def _tried(model: Model, work: _Work[_Result], permit: Permit | None) -> _Answer[_Result]:
    try:
        return _Answer(await work(model.service, permit))
    except (EmbedderUnavailableError, EmbedderMisconfiguredError, AppError) as error:
        log.warning("model_does_not_answer", model=model.name, error=type(error).__name__)
        return _Answer(None, error)
