"""The same bytes are the same document, whoever of two comes first, and what failed may be tried again."""

import asyncio

import pytest

from app.core.errors import AppError
from app.core.versions import Anything, Exactly
from app.knowledge.model import Description, Document, Failure, Status
from tests.conftest import MakeClient, MakeScope
from tests.knowledge.conftest import NOTE, Knowledge

TEXT = "The key of the cellar hangs behind the door."
WRONG = "The key is \u0001\u0002\u0003\u0004\u0005."
DOCUMENTS = "/v1/knowledge/documents"


async def test_of_ten_uploads_of_the_same_bytes_at_once_there_is_one_document(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone, other = await scope(), await scope()

    async def upload(number: int) -> Document:
        async with knowledge.uploads.receive(someone) as received:
            await received.write(TEXT.encode())
            return await received.finish(Description("note", file_name=f"copy ({number}).txt"), None)

    texts = [knowledge.documents.add(someone, TEXT, NOTE, None) for _ in range(5)]
    found = await asyncio.gather(*(upload(number) for number in range(5)), *texts)
    assert len({document.id for document in found}) == 1
    assert len((await knowledge.documents.page(someone, None, 9)).items) == 1
    ready = await knowledge.ingest(someone, found[0])
    again = await knowledge.documents.add(someone, TEXT, NOTE, None)
    assert (again.id, again.version, again.status) == (ready.id, 1, Status.READY), "nothing is ingested once more"
    assert (await knowledge.documents.add(other, TEXT, NOTE, None)).id != ready.id


@pytest.mark.parametrize("said", [Description("memo"), Description("note", "T"), Description("note", None, {"n": 1})])
async def test_what_is_said_otherwise_of_the_same_bytes_is_kept_beside_it(
    knowledge: Knowledge, scope: MakeScope, said: Description
) -> None:
    someone = await scope()
    one = await knowledge.documents.add(someone, TEXT, NOTE, None)
    other = await knowledge.documents.add(someone, TEXT, said, None)
    assert one.id != other.id
    assert (await knowledge.documents.add(someone, TEXT, said, None)).id == other.id


async def test_bytes_that_were_deleted_or_replaced_are_new_again(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    first = await knowledge.ready(someone, TEXT)
    await knowledge.documents.delete(someone, first.id, Anything(), None)
    second = await knowledge.ready(someone, TEXT)
    assert second.id != first.id
    await knowledge.documents.replace(someone, second.id, "Other words.", NOTE, Exactly(frozenset({1})), None)
    assert (await knowledge.documents.add(someone, TEXT, NOTE, None)).id not in {first.id, second.id}


async def test_who_uploads_what_failed_has_it_tried_again(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    failed = await knowledge.ingest(someone, await knowledge.documents.add(someone, WRONG, NOTE, None))
    assert (failed.status, failed.failure) == (Status.FAILED, Failure.NOT_TEXT)
    again = await knowledge.documents.add(someone, WRONG, NOTE, None)
    assert (again.id, again.status, again.failure) == (failed.id, Status.QUEUED, None)
    assert (await knowledge.ingest(someone, again)).failure is Failure.NOT_TEXT


async def test_a_retry_is_for_what_failed_and_names_the_version(knowledge: Knowledge, scope: MakeScope) -> None:
    someone, other = await scope(), await scope()
    ready = await knowledge.ready(someone, TEXT)
    failed = await knowledge.ingest(someone, await knowledge.documents.add(someone, WRONG, NOTE, None))
    for scope_, document, version, code in (
        (someone, ready, 1, "conflict"),
        (someone, failed, 2, "stale_version"),
        (other, failed, 1, "not_found"),
    ):
        with pytest.raises(AppError, match=code):
            await knowledge.documents.retry(scope_, document.id, Exactly(frozenset({version})), None)
    retries = [knowledge.documents.retry(someone, failed.id, Exactly(frozenset({1})), None) for _ in range(5)]
    ended = await asyncio.gather(*retries, return_exceptions=True)
    assert sorted(type(one).__name__ for one in ended) == [*["AppError"] * 4, "Document"]


@pytest.mark.usefixtures("worker")
async def test_a_document_that_failed_is_tried_again_over_http(client: MakeClient) -> None:
    alice = await client("alice")
    made = await alice.post(DOCUMENTS, json={"text": WRONG, "doc_type": "note"})
    path, wait = made.headers["location"], {"wait_s": 30}
    assert (await alice.get(f"{path}/events", params=wait)).json()["reason"] == "not_text"
    assert (await alice.post(f"{path}/retry")).status_code == 428
    headers = {"If-Match": made.headers["etag"], "Idempotency-Key": "again"}
    first, second = [await alice.post(f"{path}/retry", headers=headers) for _ in range(2)]
    assert (first.status_code, first.json()["status"], first.headers["location"]) == (202, "queued", path)
    assert (second.content, second.headers["idempotent-replayed"]) == (first.content, "true")
    assert (await alice.get(f"{path}/events", params=wait)).json()["status"] == "failed"
