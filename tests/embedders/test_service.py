"""The service around an embedder: threads, batches, the cache, the bounds, cancellation and the end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import numpy as np
import pytest

from app.core.errors import AppError
from app.infra.embedders.service import EmbeddingService, Limits
from app.infra.embedders.use import UseEmbedder
from tests.embedders.fakes import HashingEmbedder


@asynccontextmanager
async def serving(limits: Limits | None = None) -> AsyncIterator[tuple[EmbeddingService, HashingEmbedder]]:
    model = HashingEmbedder()
    service = EmbeddingService(model, limits)
    try:
        yield service, model
    finally:
        model.gate.set()
        await service.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the condition lies in another thread
            await asyncio.sleep(0.001)


async def held(service: EmbeddingService, model: HashingEmbedder, text: str = "the first") -> asyncio.Task[object]:
    """Start a batch and hold the model in it."""
    model.gate.clear()
    seen = len(model.batches)
    task = asyncio.ensure_future(service.embed_one(text))
    await until(lambda: len(model.batches) > seen)
    return task


async def test_rows_come_in_the_order_of_the_texts() -> None:
    async with serving() as (service, model):
        texts = ["b", "a", "b", "", "c" * 3_000]
        assert np.allclose(await service.embed(texts), model.embed(texts))
        assert np.allclose(await service.embed_one("a"), model.embed(["a"])[0])


async def test_no_text_gives_no_row() -> None:
    async with serving() as (service, model):
        assert (await service.embed([])).shape == (0, model.dimensions)


async def test_the_model_never_runs_in_the_event_loop() -> None:
    async with serving() as (service, model):
        await service.start()
        await asyncio.gather(*(service.embed_one(f"text {number}") for number in range(50)))
        assert model.loads == 1
        assert model.threads
        assert all(name.startswith("embedder") for name in model.threads)
        assert threading.current_thread().name not in model.threads


async def test_the_loop_goes_on_while_the_model_works() -> None:
    async with serving() as (service, model):
        task = await held(service, model)
        for _ in range(100):
            await asyncio.sleep(0)
        assert not task.done()
        model.gate.set()
        await task


async def test_what_waits_goes_in_one_batch() -> None:
    async with serving() as (service, model):
        first = await held(service, model)
        others = [asyncio.ensure_future(service.embed_one(f"text {number}")) for number in range(20)]
        await until(lambda: service.waiting == 20)
        model.gate.set()
        await asyncio.gather(first, *others)
        assert [len(batch) for batch in model.batches] == [1, 20]


async def test_batches_are_bounded_by_items_and_by_characters() -> None:
    async with serving(Limits(batch_texts=8, batch_chars=100)) as (service, model):
        await service.embed([f"{number}" for number in range(20)])
        await service.embed([f"{number}" * 60 for number in range(20, 25)])
        assert max(len(batch) for batch in model.batches) == 8
        assert all(sum(map(len, batch)) <= 100 or len(batch) == 1 for batch in model.batches)


async def test_a_question_doesnt_wait_behind_a_document() -> None:
    async with serving(Limits(batch_texts=4)) as (service, model):
        first = await held(service, model)
        document = asyncio.ensure_future(service.embed([f"chunk {number}" for number in range(100)]))
        await until(lambda: service.waiting == 100)
        question = asyncio.ensure_future(service.embed_one("a question"))
        await until(lambda: service.waiting == 101)
        model.gate.set()
        await asyncio.gather(first, document, question)
        assert "a question" in model.batches[1]


async def test_a_text_is_embedded_once() -> None:
    async with serving() as (service, model):
        first = await held(service, model, "same")
        joined = [asyncio.ensure_future(service.embed(["same", "other"])) for _ in range(5)]
        await until(lambda: service.waiting == 1)
        model.gate.set()
        await asyncio.gather(first, *joined)
        await service.embed(["other", "same", "same"])
        assert model.batches == [["same"], ["other"]]


async def test_the_cache_forgets_what_was_used_longest_ago() -> None:
    async with serving(Limits(cached_vectors=2)) as (service, model):
        for text in ("a", "b", "a", "c", "a", "b"):
            await service.embed_one(text)
        assert [batch[0] for batch in model.batches] == ["a", "b", "c", "b"]


async def test_changing_a_row_doesnt_change_the_cache() -> None:
    async with serving() as (service, _):
        row = await service.embed_one("a")
        before = row.copy()
        row[:] = 7
        assert np.allclose(await service.embed_one("a"), before)


@pytest.mark.parametrize("limits", [Limits(waiting_texts=3), Limits(waiting_chars=12)])
async def test_a_full_queue_is_refused_and_nothing_of_the_call_is_kept(limits: Limits) -> None:
    async with serving(limits) as (service, model):
        first = await held(service, model)
        waits = asyncio.ensure_future(service.embed(["text1", "text2"]))
        await until(lambda: service.waiting == 2)
        with pytest.raises(AppError) as refused:
            await service.embed(["text3", "text4"])
        assert refused.value.code == "overloaded"
        assert service.waiting == 2
        model.gate.set()
        await asyncio.gather(first, waits)
        assert (await service.embed(["text3", "text4"])).shape[0] == 2


async def test_a_call_larger_than_the_queue_is_let_in_when_nothing_waits() -> None:
    async with serving(Limits(waiting_texts=3, batch_texts=2)) as (service, _):
        assert (await service.embed([f"{number}" for number in range(10)])).shape[0] == 10


async def test_what_is_remembered_is_answered_though_the_queue_is_full() -> None:
    async with serving(Limits(waiting_texts=1)) as (service, model):
        await service.embed_one("known")
        first = await held(service, model)
        waits = asyncio.ensure_future(service.embed_one("waits"))
        await until(lambda: service.waiting == 1)
        await service.embed_one("known")
        model.gate.set()
        await asyncio.gather(first, waits)


async def test_a_cancelled_call_leaves_the_batch_whole() -> None:
    async with serving() as (service, model):
        first = await held(service, model)
        others = [asyncio.ensure_future(service.embed_one(f"text {number}")) for number in range(6)]
        await until(lambda: service.waiting == 6)
        others[2].cancel()
        await until(lambda: service.waiting == 5)
        first.cancel()
        model.gate.set()
        rows = await asyncio.gather(*(task for task in others if task is not others[2]))
        assert np.allclose(rows, model.embed([f"text {number}" for number in (0, 1, 3, 4, 5)]))
        assert not any("text 2" in batch for batch in model.batches)


async def test_a_text_that_someone_else_waits_for_outlives_the_call_that_brought_it() -> None:
    async with serving() as (service, model):
        first = await held(service, model)
        brought = asyncio.ensure_future(service.embed(["shared", "mine"]))
        await until(lambda: service.waiting == 2)
        joined = asyncio.ensure_future(service.embed_one("shared"))
        await asyncio.sleep(0)
        brought.cancel()
        await until(lambda: service.waiting == 1)
        model.gate.set()
        await asyncio.gather(first, joined)
        assert model.batches == [["the first"], ["shared"]]


async def test_a_failure_reaches_the_waiters_of_its_batch_only() -> None:
    async with serving(Limits(batch_texts=2)) as (service, model):
        model.poison = "bad"
        first = await held(service, model)
        tasks = [asyncio.ensure_future(service.embed_one(text)) for text in ("good 1", "bad", "good 2", "good 3")]
        await until(lambda: service.waiting == 4)
        model.gate.set()
        await first
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(result, ArithmeticError) for result in results] == [True, True, False, False]
        assert (await service.embed_one("good 1")).shape == (model.dimensions,)


async def test_a_call_that_failed_leaves_nothing_waiting() -> None:
    async with serving(Limits(batch_texts=2)) as (service, model):
        model.poison = "bad"
        with pytest.raises(ArithmeticError):
            await service.embed(["bad", *(f"text {number}" for number in range(50))])
        assert service.waiting == 0
        assert len(model.batches) <= 2


async def test_closing_finishes_what_waits_and_refuses_what_comes() -> None:
    model = HashingEmbedder()
    service = EmbeddingService(model)
    first = await held(service, model)
    waits = asyncio.ensure_future(service.embed_one("waits"))
    await until(lambda: service.waiting == 1)
    closing = asyncio.ensure_future(service.close())
    await asyncio.sleep(0)
    with pytest.raises(AppError) as refused:
        await service.embed_one("late")
    assert refused.value.code == "overloaded"
    model.gate.set()
    await asyncio.gather(closing, first, waits)
    assert model.closed


async def test_closing_doesnt_wait_for_a_stuck_model() -> None:
    model = HashingEmbedder()
    service = EmbeddingService(model, Limits(closing_s=0.05))
    tasks = [await held(service, model), asyncio.ensure_future(service.embed_one("waits"))]
    await until(lambda: service.waiting == 1)
    await service.close()
    for task in tasks:
        with pytest.raises(AppError):
            await task
    model.gate.set()


async def test_counts_are_remembered() -> None:
    async with serving() as (service, model):
        assert service.count_tokens("一 two") == service.count_tokens("一 two") == 3
        assert service.count_tokens("lone \ud800") >= 1
        assert model.counted == ["一 two", "lone \ud800"]


async def test_many_callers_cancelling_at_random_lose_nothing() -> None:
    async with serving(Limits(batch_texts=3, cached_vectors=5)) as (service, model):

        async def caller(number: int) -> None:
            texts = [f"text {(number * 7 + place) % 11}" for place in range(1 + number % 4)]
            task = asyncio.ensure_future(service.embed(texts))
            if number % 3 == 0:
                await asyncio.sleep(0.0005 * (number % 5))
                task.cancel()
            rows = (await asyncio.gather(task, return_exceptions=True))[0]
            if not isinstance(rows, BaseException):
                assert np.allclose(rows, model.embed(texts))

        for _ in range(20):
            await asyncio.gather(*(caller(number) for number in range(30)))
        await until(lambda: service.waiting == 0)
        assert (await service.embed_one("after")).shape == (model.dimensions,)


async def test_the_loop_is_answered_while_the_default_model_works() -> None:
    service = EmbeddingService(UseEmbedder())
    await service.start()
    busy = asyncio.ensure_future(
        service.embed([f"报告第{number}节：必须写明数据来源和日期。" * 10 for number in range(40)])
    )
    turns = 0
    while not busy.done():
        await asyncio.sleep(0.001)
        turns += 1
    await busy
    await service.close()
    assert turns > 20  # in the loop itself: one turn a batch, two in all
