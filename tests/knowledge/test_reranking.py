"""Reranking: off by default, a served model's order where there is one, and the fused order wherever it fails."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from app import wiring as product
from app.infra.rerankers.http import HttpReranker
from app.infra.rerankers.port import RerankerUnavailableError
from app.infra.served.permits import OfNobody, permitted
from app.knowledge import reranking
from app.knowledge.model import Found, Query, Reranked
from app.knowledge.search import Search
from app.settings import Settings
from tests.conftest import MakeScope
from tests.knowledge.conftest import Knowledge
from tests.served.endpoint import Answer, Recorder, running, status

TEXTS = ("The rent is due.", "The rent of the garage.", "Rent, rent, rent.", "What the rent is for.")
QUESTION = "rent"
Body = dict[str, Any]  # Any: JSON


def ranked(numbers: Sequence[float]) -> Answer:
    best_first = sorted(enumerate(numbers), key=lambda one: -one[1])
    results = [{"index": place, "relevance_score": number} for place, number in best_first]
    return 200, {}, json.dumps({"id": "x", "results": results}).encode()


def by_length(body: Body) -> Answer:
    """The longest text first: no order that words or meaning would give."""
    return ranked([len(text) / 100 for text in body["documents"]])


@pytest.fixture
def endpoint() -> Iterator[Recorder]:
    with running(by_length) as recorder:
        yield recorder


@pytest_asyncio.fixture
async def reranked(settings: Settings, endpoint: Recorder) -> AsyncIterator[Knowledge]:
    """The product with a reranker."""
    asked = {"rerank_base_url": endpoint.url, "rerank_model": "cross", "rerank_deadline_s": 20}
    async with product.build(settings.model_copy(update=asked)) as wired:
        yield Knowledge(wired)


async def found(knowledge: Knowledge, someone: Any, top_k: int = 2) -> Found:  # noqa: ANN401 - a Scope
    return await knowledge.service(Search).search(someone, Query(QUESTION, top_k, with_details=True, rerank=True))


async def test_hits_come_in_the_order_of_the_model_or_in_the_fused_one_and_the_answer_says_which(
    knowledge: Knowledge, reranked: Knowledge, endpoint: Recorder, scope: MakeScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = await scope()
    for text in TEXTS:
        await knowledge.ready(someone, text)
    fused = await found(knowledge, someone, 4)
    assert (fused.reranked, len(fused.hits), endpoint.bodies) == (Reranked.OFF, 4, [])
    by_model = await found(reranked, someone)
    assert by_model.reranked is Reranked.DONE
    assert [hit.passage.text for hit in by_model.hits] == sorted(TEXTS, key=len, reverse=True)[:2]
    assert [hit.score for hit in by_model.hits] == [hit.rerank for hit in by_model.hits]
    assert {hit.passage.text: hit.fused for hit in by_model.hits}.items() <= {
        hit.passage.text: hit.score for hit in fused.hits
    }.items()
    [asked] = endpoint.bodies
    assert (asked["model"], asked["query"], sorted(asked["documents"])) == ("cross", QUESTION, sorted(TEXTS))

    for pause_s, then in ((0, Reranked.DONE), (600, Reranked.UNAVAILABLE)):
        monkeypatch.setattr(reranking, "PAUSE_S", pause_s)
        endpoint.answers.append(status(500))
        fallen = await found(reranked, someone, 4)
        assert (fallen.reranked, fallen.hits) == (Reranked.UNAVAILABLE, fused.hits)
        assert (await found(reranked, someone)).reranked is then
    assert len(endpoint.bodies) == 4, "who didn't answer isn't asked at once again"
    assert (await found(reranked, await scope())).hits == []


def hangs(recorder: Recorder) -> Answer:
    recorder.released.wait(20)
    return 200, {}, b"{}"


@pytest.mark.parametrize(
    "answer",
    [
        (200, {}, b"no json"),
        (200, {}, b"[]"),
        (200, {}, b'{"results": null}'),
        (200, {}, b'{"results": [{"index": 0}]}'),
        (200, {}, b'{"results": [{"index": "x", "relevance_score": 1}]}'),
        (200, {}, b'{"results": [{"index": 0, "relevance_score": null}]}'),
        ranked([0.5]),
        ranked([0.5, 0.4, 0.3]),
        ranked([0.5, float("nan")]),
        (200, {}, b'{"results": [{"index": 1, "relevance_score": 1}, {"index": 1, "relevance_score": 1}]}'),
        (200, {}, b" " * 9 * 1024 * 1024),
        (302, {"location": "http://127.0.0.1:1/"}, b""),
        (401, {}, b""),
        (503, {}, b""),
    ],
)
async def test_what_is_no_answer_is_no_order(endpoint: Recorder, answer: Answer) -> None:
    reranker = HttpReranker("cross", endpoint.url, "a key", 5)
    try:
        endpoint.answers.append(lambda _: answer)
        with permitted(OfNobody()):
            with pytest.raises(RerankerUnavailableError):
                await reranker.rate("rent", ["one", "two"])
            assert await reranker.rate("rent", ["one", "three"]) == [0.03, 0.05]
    finally:
        await reranker.close()
    assert {headers["authorization"] for headers in endpoint.headers} == {"Bearer a key"}


async def test_a_model_that_hangs_is_waited_for_no_longer_than_its_deadline(endpoint: Recorder) -> None:
    reranker = HttpReranker("cross", endpoint.url, None, 0.1)
    endpoint.answers.append(lambda _: hangs(endpoint))
    async with asyncio.timeout(15):
        with permitted(OfNobody()), pytest.raises(RerankerUnavailableError):
            await reranker.rate("rent", ["one"])
    await reranker.close()
