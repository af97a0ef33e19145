"""Documents over HTTP: what is answered, under which preconditions, and to whom alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.conftest import MakeClient

pytestmark = pytest.mark.usefixtures("worker")

DOCUMENTS = "/v1/knowledge/documents"
SEARCH = "/v1/knowledge/search"
Body = dict[str, Any]  # Any: JSON
TEXT = "# Lease\n\nThe rent is due on the fifth."
LEASE: Body = {"text": TEXT, "doc_type": "contract", "title": "Lease", "metadata": {"n": 1}}


@pytest.fixture
async def alice(client: MakeClient) -> httpx.AsyncClient:
    return await client("alice")


@pytest.fixture
async def bob(client: MakeClient) -> httpx.AsyncClient:
    return await client("bob")


async def settled(client: httpx.AsyncClient, document_id: str) -> Body:
    answer = await client.get(f"{DOCUMENTS}/{document_id}/events", params={"wait_s": 30})
    assert answer.status_code == 200
    body: Body = answer.json()
    assert body["status"] in {"ready", "failed"}
    return body


async def added(client: httpx.AsyncClient, **changes: object) -> Body:
    answer = await client.post(DOCUMENTS, json={**LEASE, **changes})
    assert answer.status_code == 202
    body: Body = answer.json()
    return body


async def hits(client: httpx.AsyncClient, query: str, **filters: object) -> list[Body]:
    answer = await client.post(SEARCH, json={"query": query, **filters})
    assert answer.status_code == 200
    found: list[Body] = answer.json()["hits"]
    return found


async def test_a_text_is_taken_and_followed_until_it_is_ready(alice: httpx.AsyncClient) -> None:
    answer = await alice.post(DOCUMENTS, json=LEASE)
    body = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"{DOCUMENTS}/{body['id']}"
    assert answer.headers["etag"] == '"1"'
    assert body["status"] == "queued"
    assert (body["title"], body["doc_type"], body["metadata"]) == ("Lease", "contract", {"n": 1})
    ready = await settled(alice, body["id"])
    assert (ready["status"], ready["progress"], ready["reason"]) == ("ready", 1.0, None)
    assert (ready["media_type"], ready["size_bytes"]) == ("text/markdown", len(TEXT))
    [hit] = await hits(alice, "when is the rent due")
    assert hit["document_id"] == body["id"]
    assert hit["location"] == {"start": 0, "end": 38, "headings": ["Lease"], "page": None, "end_page": None}
    assert hit["superseded"] == []
    assert set(hit) == {
        "chunk_id",
        "document_id",
        "version",
        "title",
        "doc_type",
        "text",
        "score",
        "scores",
        "explanation",
        "highlights",
        "created_at",
        "location",
        "superseded",
    }


async def test_a_settled_document_is_not_sent_twice_and_one_that_changes_is(alice: httpx.AsyncClient) -> None:
    document = await added(alice)
    early = await alice.get(f"{DOCUMENTS}/{document['id']}")
    if early.json()["status"] in {"queued", "processing"}:
        assert early.headers["etag"] == 'W/"1"'
    await settled(alice, document["id"])
    again = await alice.get(f"{DOCUMENTS}/{document['id']}", headers={"If-None-Match": 'W/"1"'})
    assert (again.status_code, again.json()["status"]) == (200, "ready")
    same = await alice.get(f"{DOCUMENTS}/{document['id']}", headers={"If-None-Match": again.headers["etag"]})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", '"1"')


async def test_a_new_version_needs_the_current_one(alice: httpx.AsyncClient) -> None:
    document = await added(alice)
    await settled(alice, document["id"])
    path = f"{DOCUMENTS}/{document['id']}"
    new = {"text": "The rent is due on the tenth.", "doc_type": "contract"}
    assert (await alice.put(path, json=new)).status_code == 428
    assert (await alice.put(path, json=new, headers={"If-Match": "*"})).status_code == 422
    stale = await alice.put(path, json=new, headers={"If-Match": '"7"'})
    assert (stale.status_code, stale.json()["current_version"], stale.headers["etag"]) == (412, 1, '"1"')
    taken = await alice.put(path, json=new, headers={"If-Match": 'W/"1"'})
    assert (taken.status_code, taken.json()["version"], taken.json()["searched_version"]) == (202, 2, 1)
    ready = await settled(alice, document["id"])
    assert (ready["version"], ready["searched_version"], ready["title"]) == (2, 2, None)
    assert [hit["text"] for hit in await hits(alice, "rent", top_k=9)] == [new["text"]]
    assert (await alice.get(f"{path}/content")).text == new["text"]


async def test_a_document_is_deleted_at_its_version_or_whatever_it_is(alice: httpx.AsyncClient) -> None:
    one, other = await added(alice), await added(alice, text="Another text.")
    await settled(alice, one["id"])
    assert (await alice.delete(f"{DOCUMENTS}/{one['id']}")).status_code == 428
    assert (await alice.delete(f"{DOCUMENTS}/{one['id']}", headers={"If-Match": '"2"'})).status_code == 412
    for document, match in ((one, '"1"'), (other, "*")):
        gone = await alice.delete(f"{DOCUMENTS}/{document['id']}", headers={"If-Match": match})
        assert (gone.status_code, gone.content) == (204, b"")
        for path in ("", "/content", "/events", "/events?wait_s=0"):
            assert (await alice.get(f"{DOCUMENTS}/{document['id']}{path}")).status_code == 404
        assert (await alice.delete(f"{DOCUMENTS}/{document['id']}", headers={"If-Match": "*"})).status_code == 404
    assert await hits(alice, "rent text") == []
    assert (await alice.get(DOCUMENTS)).json()["items"] == []


async def test_what_is_someone_elses_does_not_exist(alice: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
    document = await added(alice)
    await settled(alice, document["id"])
    path, match = f"{DOCUMENTS}/{document['id']}", {"If-Match": "*"}
    new = {"text": "Mine.", "doc_type": "contract"}
    refused = [
        await bob.get(path),
        await bob.get(f"{path}/content"),
        await bob.get(f"{path}/events"),
        await bob.get(f"{path}/events", params={"wait_s": 1}),
        await bob.put(path, json=new, headers={"If-Match": '"1"'}),
        await bob.put(path, json=new, headers={"If-None-Match": "*"}),
        await bob.delete(path, headers=match),
        await bob.get(f"{DOCUMENTS}/doc_{'0' * 32}"),
        await bob.get(f"{DOCUMENTS}/nonsense"),
    ]
    assert [answer.status_code for answer in refused] == [404] * len(refused)
    assert {answer.json()["code"] for answer in refused} == {"not_found"}
    assert await hits(bob, "rent") == []
    assert await hits(bob, "rent", document_ids=[document["id"]]) == []
    assert (await bob.get(DOCUMENTS)).json() == {"items": [], "next_cursor": None}
    assert (await alice.get(path)).json()["status"] == "ready"
    assert len(await hits(alice, "rent", document_ids=[document["id"]])) == 1


async def test_filters_narrow_and_never_widen(alice: httpx.AsyncClient) -> None:
    rent = await added(alice, text="The rent is 500.", doc_type="contract")
    memo = await added(alice, text="The rent was discussed.", doc_type="memo")
    await asyncio.gather(settled(alice, rent["id"]), settled(alice, memo["id"]))

    async def found(**filters: object) -> set[str]:
        return {hit["document_id"] for hit in await hits(alice, "rent", **filters)}

    assert await found() == {rent["id"], memo["id"]}
    assert await found(doc_type=["memo"]) == {memo["id"]}
    assert await found(doc_type=["memo", "contract"]) == {rent["id"], memo["id"]}
    assert await found(document_ids=[rent["id"]]) == {rent["id"]}
    assert await found(document_ids=[rent["id"]], doc_type=["memo"]) == set()
    assert await found(doc_type=[]) == await found(document_ids=[]) == await found(doc_type=["Memo"]) == set()
    for mode in ("hybrid", "dense", "lexical"):
        assert await found(mode=mode, doc_type=["memo"]) == {memo["id"]}
    for wrong in ({"doc_types": ["memo"]}, {"document_ids": ["memo"]}, {"mode": "fast"}, {"top_k": 0}, {"query": " "}):
        answer = await alice.post(SEARCH, json={"query": "rent", **wrong})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


async def test_equal_passages_are_shown_once(alice: httpx.AsyncClient) -> None:
    for document in [await added(alice, title=f"Copy {number}") for number in range(4)]:
        await settled(alice, document["id"])
    other = await added(alice, text="The rent of the garage is due on the ninth.")
    await settled(alice, other["id"])
    found = await hits(alice, "when is the rent due", top_k=3)
    assert sorted(hit["text"] for hit in found) == sorted([TEXT, "The rent of the garage is due on the ninth."])


async def test_a_user_with_nothing_gets_an_empty_list(client: MakeClient) -> None:
    nobody = await client("nobody")
    answer = await nobody.post(SEARCH, json={"query": "anything"})
    assert answer.status_code == 200
    assert answer.json() == {"hits": [], "mode": "hybrid", "rerank": "off", "index": {"pending": 0}}


async def test_lists_are_paged_newest_first(alice: httpx.AsyncClient) -> None:
    ids = [(await added(alice, text=f"Text {number}."))["id"] for number in range(5)]
    seen: list[str] = []
    cursor: str | None = None
    while len(seen) < 5:
        page = (await alice.get(DOCUMENTS, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert (seen, cursor) == (ids[::-1], None)


async def test_a_repeated_post_has_one_effect(alice: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "once"}
    first, again = [await alice.post(DOCUMENTS, json=LEASE, headers=headers) for _ in range(2)]
    assert (again.status_code, again.content, again.headers["location"]) == (
        202,
        first.content,
        first.headers["location"],
    )
    assert again.headers["idempotent-replayed"] == "true"
    assert (await alice.post(DOCUMENTS, json={**LEASE, "title": "x"}, headers=headers)).json()[
        "code"
    ] == "idempotency_mismatch"
    assert len((await alice.get(DOCUMENTS)).json()["items"]) == 1


async def test_a_kept_answer_is_forgotten_with_its_document(alice: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "once"}
    first = await alice.post(DOCUMENTS, json=LEASE, headers=headers)
    gone = {"Idempotency-Key": "gone", "If-Match": "*"}
    for _ in range(2):
        assert (await alice.delete(first.headers["location"], headers=gone)).status_code == 204
    again = await alice.post(DOCUMENTS, json=LEASE, headers=headers)  # a late retry brings nothing back
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
    assert (await alice.get(DOCUMENTS)).json()["items"] == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n\t"}, "text"),
        ({"text": "a\x00b"}, "text"),
        ({"text": 5}, "text"),
        ({"doc_type": ""}, "doc_type"),
        ({"doc_type": "x" * 65}, "doc_type"),
        ({"title": "x" * 501}, "title"),
        ({"metadata": []}, "metadata"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_body_that_is_not_valid_names_the_field(alice: httpx.AsyncClient, changes: Body, field: str) -> None:
    answer = await alice.post(DOCUMENTS, json={**LEASE, **changes})
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, [field])


async def test_a_document_is_followed_by_events(alice: httpx.AsyncClient) -> None:
    document = await added(alice, text="The rent is due. " * 400)
    async with alice.stream("GET", f"{DOCUMENTS}/{document['id']}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [event async for event in _events(answer.aiter_lines())]
    statuses = [json.loads(event["data"])["status"] for event in events if "data" in event]
    assert statuses[-1] == "ready"
    assert set(statuses) <= {"queued", "processing", "ready"}
    last = {"Last-Event-ID": events[-1]["id"]}
    assert (await alice.get(f"{DOCUMENTS}/{document['id']}/events", headers=last)).status_code == 204


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, str]]:
    event: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            yield event
            event = {}


async def test_reading_needs_its_scope_and_writing_its_own(client: MakeClient) -> None:
    reader = await client("alice", scope="knowledge:read")
    writer = await client("alice", scope="knowledge:write")
    assert (await reader.post(DOCUMENTS, json=LEASE)).json()["code"] == "missing_scope"
    assert (await writer.get(DOCUMENTS)).json()["code"] == "missing_scope"
    assert (await writer.post(SEARCH, json={"query": "rent"})).json()["code"] == "missing_scope"
    assert (await writer.post(DOCUMENTS, json=LEASE)).status_code == 202


async def test_the_bytes_come_back_as_they_were_given(alice: httpx.AsyncClient) -> None:
    text = "Zeile\r\n\ufeffnoch eine 汉字 \U0001f600\n" * 60_000
    document = await added(alice, text=text)
    answer = await alice.get(f"{DOCUMENTS}/{document['id']}/content")
    assert answer.content == text.encode()
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["content-type"].startswith("text/plain")
