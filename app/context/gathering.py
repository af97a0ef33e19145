"""Every source at once, under one deadline: what is late or broken costs the answer its kinds and nothing else."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import structlog

from app.context.metering import Asked
from app.core.assembly import Decision, Reason
from app.core.errors import AppError
from app.core.memory import Candidate, Question, Source
from app.core.scope import Scope

T = TypeVar("T")

# How much longer than the deadline a required kind is waited for.
REQUIRED_EXTRA_S: Final = 2.0
US_PER_S: Final = 1_000_000
# Codes that are the answer to the whole call; anything else costs the answer only the kinds of the source that met it.
_FOR_THE_CALLER: Final = frozenset({"not_found", "erasing", "erased"})

log = structlog.get_logger("cairn.context")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the sources gave, a decision for each kind that they didn't give, and how long each was asked."""

    candidates: Sequence[Candidate]
    failures: Sequence[Decision]
    asked: Sequence[Asked]


async def gather(
    sources: Sequence[Source],
    scope: Scope,
    question: Question,
    require: frozenset[str],
    deadline_s: float,
) -> Gathered:
    """Ask the sources of what the question includes. Those of required kinds are waited for longer."""
    asked = [source for source in sources if source.kinds & question.include]
    began = time.perf_counter()
    ended: dict[int, float] = {}
    tasks = [asyncio.create_task(_ask(source, scope, question)) for source in asked]
    for place, task in enumerate(tasks):
        task.add_done_callback(partial(_note_end, ended, place))
    if tasks:
        await asyncio.wait(tasks, timeout=deadline_s)
    # Without what is required there is no answer: so it is given more time than the rest.
    needed = [task for source, task in zip(asked, tasks, strict=True) if source.kinds & require and not task.done()]
    if needed:
        await asyncio.wait(needed, timeout=REQUIRED_EXTRA_S)
    candidates: list[Candidate] = []
    failures: list[Decision] = []
    for source, task in zip(asked, tasks, strict=True):
        result = task.result() if task.done() else Reason.SOURCE_LATE
        task.cancel()
        if isinstance(result, Reason):
            failures += [unread(kind, result) for kind in sorted(source.kinds & question.include)]
        else:
            candidates += result
    end = time.perf_counter()
    took = [int((ended.get(place, end) - began) * US_PER_S) for place in range(len(asked))]
    return Gathered(candidates, failures, [Asked(each.kinds, us) for each, us in zip(asked, took, strict=True)])


def unread(kind: str, reason: Reason) -> Decision:
    """Return the decision on a whole kind that wasn't read."""
    return Decision(kind, "", 0, loaded=False, reason=reason, tokens=0)


async def within(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return what the work returns. Raises `store_unavailable` where it takes longer: it is cancelled, and nobody waits
    for how it takes that. A connection to a server that hangs can't be closed in good order.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        is_done = task.done()
        task.cancel()
    if not is_done:
        raise AppError("store_unavailable", headers={"Retry-After": "1"})
    return task.result()


def _note_end(ended: dict[int, float], place: int, _: object) -> None:
    ended.setdefault(place, time.perf_counter())


async def _ask(source: Source, scope: Scope, question: Question) -> Sequence[Candidate] | Reason:
    try:
        return await source.gather(scope, question)
    except AppError as error:
        if error.code in _FOR_THE_CALLER:
            raise
        log.warning("source_failed", kinds=sorted(source.kinds), code=error.code)
    except Exception as error:  # noqa: BLE001 - the per-source guard: one broken kind mustn't cost the others
        log.warning("source_failed", kinds=sorted(source.kinds), error=type(error).__name__)
    return Reason.SOURCE_FAILED
