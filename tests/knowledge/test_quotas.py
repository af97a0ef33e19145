"""Quotas: what is over is refused with its number, two at once can't pass, and what is deleted is given back."""

import asyncio
from collections.abc import Awaitable, Sequence

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Scope
from app.core.versions import Anything, Exactly
from app.infra.extraction.extractor import Extractor
from app.infra.segments.cache import IndexCache
from app.infra.segments.store import SegmentStore
from app.knowledge.ingestion import IngestDocument
from app.knowledge.model import PART_BYTES, Description, Document, Failure, Status, Usage
from app.knowledge.quotas import Quotas, Usages
from app.knowledge.service import Documents
from app.knowledge.tables import document_versions
from app.knowledge.uploads import Uploads
from tests.conftest import MakeClient, MakeScope
from tests.knowledge.conftest import NOTE, Knowledge
from tests.knowledge.test_ingestion import EN, CountingEmbedder, counting, long_text

PLENTY = 1_000_000


def documents(knowledge: Knowledge, quotas: Quotas) -> Documents:
    return Documents(knowledge.wiring.db, SegmentStore("chunk", IndexCache(), "counting@1"), quotas)


def ingestion(knowledge: Knowledge, quotas: Quotas) -> IngestDocument:
    segments = SegmentStore("chunk", IndexCache(), "counting@1")
    wired = knowledge.wiring
    return IngestDocument(wired.db, segments, counting(CountingEmbedder()), Extractor(), quotas, wired.registered)


async def used(knowledge: Knowledge, scope: Scope) -> Usage:
    return await knowledge.service(Usages).read(scope)


async def outcomes(attempts: Sequence[Awaitable[Document]]) -> tuple[list[Document], list[AppError]]:
    """Return what was taken and what was refused."""
    ended = await asyncio.gather(*attempts, return_exceptions=True)
    errors = [one for one in ended if isinstance(one, AppError)]
    taken = [one for one in ended if isinstance(one, Document)]
    assert len(errors) + len(taken) == len(ended)
    return taken, errors


async def test_of_ten_uploads_at_once_no_more_are_taken_than_there_is_room_for(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone, quotas = await scope(), Quotas(3, PLENTY, PLENTY)
    uploads, texts = Uploads(knowledge.wiring.db, quotas), documents(knowledge, quotas)

    async def upload(number: int) -> Document:
        async with uploads.receive(someone) as received:
            await received.write(f"Upload number {number}.".encode())
            return await received.finish(NOTE, None)

    attempts = [upload(number) for number in range(5)]
    attempts += [texts.add(someone, f"Text number {number}.", NOTE, None) for number in range(5)]
    taken, refused = await outcomes(attempts)
    assert len(taken) == 3
    assert {(error.code, error.extra["quota"], error.extra["limit"]) for error in refused} == {
        ("quota_exceeded", "documents", 3)
    }
    assert (await used(knowledge, someone)).documents == 3
    await texts.delete(someone, taken[0].id, Anything(), None)
    assert (await texts.add(someone, "There is room again.", NOTE, None)).status is Status.QUEUED


async def test_bytes_are_counted_together_and_a_replaced_version_is_not_counted_beside_its_next(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone, quotas = await scope(), Quotas(PLENTY, 100, PLENTY)
    texts = documents(knowledge, quotas)
    taken, refused = await outcomes([texts.add(someone, letter * 40, NOTE, None) for letter in "abcdef"])
    assert (len(taken), {error.extra["quota"] for error in refused}) == (2, {"bytes"})
    assert (await used(knowledge, someone)).size_bytes == 80
    one = taken[0]
    larger = await texts.replace(someone, one.id, "x" * 60, NOTE, Exactly(frozenset({1})), None)
    assert (larger.version, (await used(knowledge, someone)).size_bytes) == (2, 100)
    with pytest.raises(AppError, match="quota_exceeded"):
        await texts.replace(someone, one.id, "x" * 61, NOTE, Exactly(frozenset({2})), None)
    assert (await texts.read(someone, one.id)).version == 2, "what is refused changes nothing"


async def test_a_large_upload_is_refused_before_it_is_received_whole(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    async with Uploads(knowledge.wiring.db, Quotas(PLENTY, PART_BYTES + 1, PLENTY)).receive(someone) as received:
        await received.write(b"x" * PART_BYTES)
        with pytest.raises(AppError, match="quota_exceeded"):
            await received.write(b"x" * PART_BYTES)
    assert await used(knowledge, someone) == Usage(0, 0, 0)


async def test_a_document_of_too_many_chunks_fails_with_the_reason_and_is_ready_after_room_was_made(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone = await scope()
    free = documents(knowledge, Quotas(PLENTY, PLENTY, PLENTY))
    long, other = [
        await free.add(someone, long_text(EN, chars), Description("note", str(chars)), None)
        for chars in (12_000, 11_000)
    ]
    alone = ingestion(knowledge, Quotas(PLENTY, PLENTY, PLENTY))
    await alone.run(someone, {"document_id": str(long.id), "version": 1})
    made = (await used(knowledge, someone)).chunks
    assert made > 5
    tight = ingestion(knowledge, Quotas(PLENTY, PLENTY, made + 3))
    await tight.run(someone, {"document_id": str(other.id), "version": 1})
    failed = await free.read(someone, other.id)
    assert (failed.status, failed.failure) == (Status.FAILED, Failure.QUOTA_EXCEEDED)
    assert (await used(knowledge, someone)).chunks == made, "nothing is left of what didn't fit"
    await free.delete(someone, long.id, Anything(), None)
    again = await free.retry(someone, other.id, Exactly(frozenset({1})), None)
    assert (again.status, again.failure, again.progress) == (Status.QUEUED, None, 0)
    await tight.run(someone, {"document_id": str(other.id), "version": 1})
    assert (await free.read(someone, other.id)).status is Status.READY


async def test_two_ingestions_at_once_can_not_pass_the_quota_of_chunks_together(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone = await scope()
    free = documents(knowledge, Quotas(PLENTY, PLENTY, PLENTY))
    added = [await free.add(someone, f"{number}. {long_text(EN, 9_000)}", NOTE, None) for number in range(4)]
    one = ingestion(knowledge, Quotas(PLENTY, PLENTY, PLENTY))
    await one.run(someone, {"document_id": str(added[0].id), "version": 1})
    limit = 2 * (await used(knowledge, someone)).chunks + 2
    tight = ingestion(knowledge, Quotas(PLENTY, PLENTY, limit))
    await asyncio.gather(*(tight.run(someone, {"document_id": str(each.id), "version": 1}) for each in added[1:]))
    states = [(await free.read(someone, each.id)).status for each in added]
    assert states.count(Status.READY) == 2
    assert (await used(knowledge, someone)).chunks <= limit


async def test_what_code_of_before_has_made_ready_is_counted_and_says_so_with_the_next_document(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone, entry = await scope(), AuditEntry("test", "document")
    first = await knowledge.ready(someone, long_text(EN, 5_000))
    await knowledge.ready(someone, long_text(EN, 2_500))
    whole = await used(knowledge, someone)
    of_first = update(document_versions).filter_by(usr=someone.usr, document_id=first.id).values(chunk_count=None)
    async with knowledge.wiring.db.write(someone) as tx:
        await tx.change(of_first, entry)
    assert whole.chunks > 5
    assert await used(knowledge, someone) == whole
    last = await knowledge.ready(someone, "And this.")
    async with knowledge.wiring.db.read(someone) as tx:
        said = await tx.rows(select(document_versions.c.chunk_count).filter_by(usr=someone.usr))
    assert None not in {row.chunk_count for row in said}
    assert (await used(knowledge, someone)).chunks == sum(row.chunk_count for row in said) == whole.chunks + 1
    for document in (first, last):
        await knowledge.documents.delete(someone, document.id, Anything(), None)
    assert 0 < (await used(knowledge, someone)).chunks < whole.chunks


@pytest.mark.parametrize(
    ("quotas", "named"), [(Quotas(1, PLENTY, PLENTY), "documents"), (Quotas(PLENTY, 40, PLENTY), "bytes")]
)
async def test_who_is_told_that_a_quota_is_full_is_told_which_and_how_much(
    app: FastAPI, knowledge: Knowledge, client: MakeClient, monkeypatch: pytest.MonkeyPatch, quotas: Quotas, named: str
) -> None:
    monkeypatch.setitem(app.state.provided, Documents, documents(knowledge, quotas))
    limit = min(quotas.documents, quotas.size_bytes)
    alice = await client("alice")
    bodies = [{"text": f"{number}. The rent is due on the third.", "doc_type": "note"} for number in range(2)]
    taken, refused = [await alice.post("/v1/knowledge/documents", json=body) for body in bodies]
    assert (taken.status_code, refused.status_code) == (202, 403)
    told = refused.json()
    assert (told["code"], told["quota"], told["limit"]) == ("quota_exceeded", named, limit)
    assert str(limit) in told["detail"]
    assert (await alice.delete(taken.headers["location"], headers={"If-Match": "*"})).status_code == 204
    assert (await alice.post("/v1/knowledge/documents", json=bodies[1])).status_code == 202


async def test_usage_is_shown_to_its_user_alone(knowledge: Knowledge, client: MakeClient, scope: MakeScope) -> None:
    del scope, knowledge
    alice, bob = await client("alice"), await client("bob")
    text = "The rent is due on the fifth."
    made = await alice.post("/v1/knowledge/documents", json={"text": text, "doc_type": "note"})
    shown = (await alice.get("/v1/knowledge/usage")).json()
    assert {name: share["used"] for name, share in shown.items()} == {
        "documents": 1,
        "bytes": len(text),
        "chunks": 0,
    }
    assert all(share["limit"] > share["used"] for share in shown.values())
    assert {share["used"] for share in (await bob.get("/v1/knowledge/usage")).json().values()} == {0}
    await alice.delete(made.headers["location"], headers={"If-Match": "*"})
    assert {share["used"] for share in (await alice.get("/v1/knowledge/usage")).json().values()} == {0}


@pytest.mark.usefixtures("worker")
async def test_what_is_told_stays_true_while_documents_come_and_go_at_once(client: MakeClient) -> None:
    alice = await client("alice")

    async def live(number: int) -> None:
        """Upload a document, wait until it is ready, and delete every second one."""
        body = {"text": f"{number}. {long_text(EN, 3_000)}", "doc_type": "note"}
        made = (await alice.post("/v1/knowledge/documents", json=body)).raise_for_status()
        path = made.headers["location"]
        told = (await alice.get(f"{path}/events", params={"wait_s": 30})).json()
        assert told["status"] == "ready", told
        if number % 2:
            (await alice.delete(path, headers={"If-Match": "*"})).raise_for_status()

    await asyncio.gather(*(live(number) for number in range(4)))
    kept = (await alice.get("/v1/knowledge/documents")).json()["items"]
    quotas = (await alice.get("/v1/users/me")).json()["quotas"]
    assert len(kept) == quotas["documents"]["used"] == 2
    assert quotas["bytes"]["used"] == sum(each["size_bytes"] for each in kept)
    assert quotas["chunks"]["used"] > 2
    for each in kept:
        await alice.delete(f"/v1/knowledge/documents/{each['id']}", headers={"If-Match": "*"})
    quotas = (await alice.get("/v1/users/me")).json()["quotas"]
    assert {quotas[name]["used"] for name in ("documents", "bytes", "chunks")} == {0}
