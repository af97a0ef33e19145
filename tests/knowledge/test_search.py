"""Search: what limits it, how its scores are explained, and that a document is never there twice nor missing."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from app.core.scope import Scope
from app.core.versions import Exactly
from app.knowledge.metadata import matches
from app.knowledge.model import Description, Document, Limits, Mode
from tests.conftest import MakeClient, MakeScope
from tests.knowledge.conftest import NOTE, Knowledge

VERSIONS, VERSIONS_IN_SHORT = 20, 4
SEARCHERS = 2
SEARCH = "/v1/knowledge/search"
Body = dict[str, Any]  # Any: JSON


@pytest.mark.parametrize(
    ("there", "wanted", "found"),
    [
        ({"n": 1}, {}, True),
        ({"n": 1}, {"n": 1}, True),
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 1}, {"n": True}, False),
        ({"n": 1}, {"n": "1"}, False),
        ({"n": None}, {"n": None}, True),
        ({}, {"n": None}, False),
        ({"tags": ["a", "b"]}, {"tags": "b"}, True),
        ({"tags": ["a", "b"]}, {"tags": ["a", "b"]}, True),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, False),
        ({"tags": [["a"], "b"]}, {"tags": ["a"]}, True),
        ({"tags": [True]}, {"tags": 1}, False),
        ({"name": "abc"}, {"name": "b"}, False),
        ({"at": {"x": 1, "y": [2]}}, {"at": {"y": [2], "x": 1}}, True),
        ({"at": {"x": 1, "y": 2}}, {"at": {"x": 1}}, False),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, False),
    ],
)
def test_metadata_is_compared_as_json(there: Body, wanted: Body, found: bool) -> None:  # noqa: FBT001 - a table
    assert matches(there, wanted) is found


async def test_documents_are_limited_by_what_was_said_of_them_and_by_time(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone = await scope()
    lease = Description("contract", "Lease", {"department": "legal", "tags": ["rent", "2026"], "signed": True})
    memo = Description("memo", "Memo", {"department": "sales", "tags": ["rent"]})
    one = await knowledge.ready(someone, "The rent of the office is 500.", lease)
    between = datetime.now(UTC)
    other = await knowledge.ready(someone, "The rent of the garage is 70.", memo)

    async def found(mode: Mode = Mode.HYBRID, **limits: Any) -> set[UUID]:  # noqa: ANN401 - of any kind
        hits = (await knowledge.find(someone, "rent", 9, mode, Limits(**limits))).hits
        return {hit.passage.document_id for hit in hits}

    for mode in Mode:
        assert await found(mode, metadata={"tags": "rent"}) == {one.id, other.id}
        assert await found(mode, metadata={"department": "legal"}) == {one.id}
        assert await found(mode, after=between) == {other.id}
        assert await found(mode, before=between) == {one.id}
    assert await found(metadata={"tags": "rent", "signed": True}) == {one.id}
    assert await found(metadata={"signed": 1}) == await found(metadata={"absent": 1}) == set()
    assert await found(metadata={"department": "legal"}, doc_types=frozenset({"memo"})) == set()
    assert await found(after=between, before=between) == set()
    assert await found(after=between - timedelta(days=1), before=between + timedelta(days=1)) == {one.id, other.id}


@pytest.mark.usefixtures("worker")
async def test_a_hit_shows_where_the_words_are_and_what_its_score_is_made_of(client: MakeClient) -> None:
    alice = await client("alice")
    texts = ("\U0001f600 The rent is due.", "租金应当在每月五日前支付。", "Bees make honey.", "The garage is rented.")
    for text in texts:
        await _ready(alice, text=text, metadata={"n": 1})

    async def hits(query: str, **more: object) -> list[Body]:
        answer = await alice.post(SEARCH, json={"query": query, "top_k": 9, "metadata": {"n": 1}, **more})
        assert answer.status_code == 200, answer.text
        found: list[Body] = answer.json()["hits"]
        return found

    for mode in Mode:
        found = await hits("rent", mode=mode.value)
        assert [hit["score"] for hit in found] == sorted((hit["score"] for hit in found), reverse=True)
        for hit in found:
            assert (hit["explanation"]["rerank"], hit["explanation"]["fused"]) == (None, hit["score"])
            halves = {name: half for name in ("lexical", "dense") if (half := hit["explanation"][name]) is not None}
            assert set(halves) == {"lexical", "dense"} if mode is Mode.HYBRID else {mode.value}
            made = sum(half["score"] * half["weight"] for half in halves.values())
            assert made == pytest.approx(hit["score"], abs=1e-5)
    [best, *_] = await hits("rent")
    assert [best["text"][mark["start"] : mark["end"]] for mark in best["highlights"]] == ["rent"]
    assert best["highlights"] == [{"start": 6, "end": 10}], "an emoji is one character"
    chinese = next(hit for hit in await hits("每月租金") if hit["text"] == texts[1])
    assert [chinese["text"][mark["start"] : mark["end"]] for mark in chinese["highlights"]] == ["租金", "每月"]
    moment = best["created_at"]
    assert await hits("rent", before="2020-01-01T00:00:00Z") == []
    assert len(await hits("rent", after=moment, before="2100-01-01T00:00:00+08:00")) == len(texts)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"metadata": {str(number): 1 for number in range(17)}}, "metadata"),
        ({"metadata": ["n"]}, "metadata"),
        ({"metadata": {"n": "x" * 20_000}}, "metadata"),
        ({"after": "yesterday"}, "after"),
        ({"before": "2026-01-01T00:00:00"}, "before"),
    ],
)
async def test_a_limit_that_is_not_valid_is_named(client: MakeClient, more: Body, field: str) -> None:
    answer = await (await client("alice")).post(SEARCH, json={"query": "rent", **more})
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, [field])


async def _ready(alice: httpx.AsyncClient, **document: object) -> None:
    made = await alice.post("/v1/knowledge/documents", json={"doc_type": "note", **document})
    settled = await alice.get(f"{made.headers['location']}/events", params={"wait_s": 30})
    assert settled.json()["status"] == "ready"


@pytest.mark.parametrize(("searched", "mode"), [("knowledge", Mode.HYBRID), ("by_chroma", Mode.DENSE)])
async def test_while_versions_replace_each_other_every_search_finds_one_of_them(
    knowledge: Knowledge,
    by_chroma: Knowledge,
    scope: MakeScope,
    searched: str,
    mode: Mode,
    request: pytest.FixtureRequest,
) -> None:
    """Never the old one beside the new, never neither, and never an older one than before."""
    versions = VERSIONS if request.config.getoption("--long") else VERSIONS_IN_SHORT
    someone = await scope()
    product = {"knowledge": knowledge, "by_chroma": by_chroma}[searched]
    await product.ready(someone, "The canteen is on the ground floor.")
    document = await product.ready(someone, _room(1))
    done = asyncio.Event()

    async def search() -> int:
        seen: list[int] = []
        while not done.is_set():
            hits = (await product.find(someone, "the meeting room's name", 9, mode)).hits
            found = [hit.passage.version for hit in hits if hit.passage.document_id == document.id]
            assert len(found) == 1, found
            seen += found
        assert seen == sorted(seen)
        return len(seen)

    searching = [asyncio.create_task(search()) for _ in range(SEARCHERS)]
    try:
        await _replaced(product, someone, document, versions)
    finally:
        done.set()
    assert min(await asyncio.gather(*searching)) >= versions


async def _replaced(knowledge: Knowledge, scope: Scope, document: Document, last: int) -> None:
    for version in range(2, last + 1):
        precondition = Exactly(frozenset({version - 1}))
        new = await knowledge.documents.replace(scope, document.id, _room(version), NOTE, precondition, None)
        assert (await knowledge.ingest(scope, new)).indexed_version == version
        await knowledge.index(scope)


def _room(version: int) -> str:
    return f"The meeting room is called {'Nautilus' if version % 2 else 'Pequod'} {version}."
