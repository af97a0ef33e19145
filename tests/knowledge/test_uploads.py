"""Uploads: streamed and sealed part by part, told by their content, and nothing left of what isn't complete."""

import os
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from app.core.errors import AppError
from app.core.scope import Scope
from app.knowledge.model import PART_BYTES
from app.knowledge.service import SWEEP_JOB
from app.knowledge.tables import document_parts, documents
from app.settings import MEBIBYTE, Settings
from tests.conftest import MakeClient, MakeScope
from tests.knowledge.conftest import NOTE, Knowledge

UPLOADS = "/v1/knowledge/uploads"
DOCUMENTS = "/v1/knowledge/documents"
ZH = "甲方应当在每月五日前向乙方支付租金。逾期支付的，每日按应付金额的千分之一支付违约金。\n"
ZH_HANT = "甲方應當在每月五日前向乙方支付租金。逾期支付的，每日按應付金額的千分之一支付違約金。\n"
EN = "The tenant shall pay the rent on the fifth day of each month.\n"
Body = dict[str, Any]  # Any: JSON


@pytest.fixture
async def alice(client: MakeClient) -> httpx.AsyncClient:
    return await client("alice")


async def upload(client: httpx.AsyncClient, data: bytes, name: str = "lease.txt", **changes: str) -> httpx.Response:
    fields = {"doc_type": "contract", **changes}
    return await client.post(UPLOADS, files={"file": (name, data)}, data=fields)


async def waited(client: httpx.AsyncClient, answer: httpx.Response) -> Body:
    assert answer.status_code == 202, answer.text
    path = f"{answer.headers['location']}/events"
    body: Body = (await client.get(path, params={"wait_s": 30})).json()
    return body


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((EN, encoding) for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")),
        *((ZH, encoding) for encoding in ("utf-8", "utf-8-sig", "utf-16", "gb18030")),
        *((ZH_HANT, encoding) for encoding in ("big5", "utf-16-be")),
    ],
)
async def test_a_file_in_any_usual_encoding_is_found_as_what_it_says(
    alice: httpx.AsyncClient, text: str, encoding: str
) -> None:
    data = text.encode(encoding)
    ready = await waited(alice, await upload(alice, data, "租约.txt", title="Lease", metadata='{"n": 1}'))
    assert (ready["status"], ready["size_bytes"], ready["file_name"]) == ("ready", len(data), "租约.txt")
    assert (ready["title"], ready["metadata"]) == ("Lease", {"n": 1})
    found = (await alice.post("/v1/knowledge/search", json={"query": text[:8]})).json()["hits"]
    assert [hit["text"].lstrip("\ufeff") for hit in found] == [text]
    content = await alice.get(f"{DOCUMENTS}/{ready['id']}/content")
    assert content.content == data
    assert content.content.decode(content.charset_encoding or "").lstrip("\ufeff") == text


@pytest.mark.parametrize(
    ("data", "name", "word"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "lease.docx", "password"),
        (b"{\\rtf1 text}", "lease.docx", "RTF"),
        (b"\x89PNG\r\n\x1a\n" + bytes(500), "lease.txt", "image"),
        (os.urandom(100_000), "lease.txt", "isn't text"),
        (bytes(200_000), "lease.txt", "isn't text"),
    ],
)
async def test_what_is_no_text_is_refused_with_the_reason(
    alice: httpx.AsyncClient, data: bytes, name: str, word: str
) -> None:
    answer = await upload(alice, data, name)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert word in answer.json()["detail"]
    assert (await alice.get(DOCUMENTS)).json()["items"] == []


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
async def test_an_original_with_a_number_that_is_never_stored_is_not_kept(
    alice: httpx.AsyncClient, encoding: str
) -> None:
    text = f"承租人的身份证号码是110101199003070011。\n{ZH}"
    answer = await upload(alice, text.encode(encoding), "承租人 4111 1111 1111 1111.txt")
    ready = await waited(alice, answer)
    assert (ready["status"], ready["original_kept"]) == ("ready", False)
    assert ready["file_name"] == "承租人 [银行卡号已隐去].txt"
    hit = (await alice.post("/v1/knowledge/search", json={"query": "承租人的身份证号码"})).json()["hits"][0]
    assert "承租人的身份证号码是[身份证号码已隐去]。" in hit["text"]
    content = await alice.get(f"{DOCUMENTS}/{ready['id']}/content")
    assert (content.status_code, content.json()["code"]) == (409, "original_not_kept")
    other = await waited(alice, await upload(alice, ZH.encode(encoding)))
    assert other["original_kept"]


async def test_the_bytes_of_a_masked_upload_are_gone_when_it_is_ready(knowledge: Knowledge, scope: MakeScope) -> None:
    caller = await scope("alice")
    async with knowledge.uploads.receive(caller) as received:
        await received.write(b"card 4111 1111 1111 1111. " + EN.encode() * (PART_BYTES // len(EN) + 1))
        document = await received.finish(NOTE, None)
    assert document.original_kept
    ready = await knowledge.ingest(caller, document)
    assert not ready.original_kept
    async with knowledge.wiring.db.read(caller) as tx:
        assert await tx.scalar(select(func.count()).select_from(document_parts).filter_by(usr=caller.usr)) == 0
    with pytest.raises(AppError, match="original_not_kept"):
        await knowledge.documents.content(caller, document.id)


@pytest.mark.usefixtures("worker")
async def test_the_name_of_a_file_decides_nothing(alice: httpx.AsyncClient) -> None:
    assert (await waited(alice, await upload(alice, EN.encode(), "photo.png")))["media_type"] == "text/plain"
    markdown = await upload(alice, b"# Lease\n\nThe rent.", "C:\\docs\\lease.pdf")
    assert (await waited(alice, markdown))["media_type"] == "text/markdown"
    assert markdown.json()["file_name"] == "lease.pdf"


async def test_an_empty_file_is_refused(alice: httpx.AsyncClient) -> None:
    answer = await upload(alice, b"")
    assert (answer.status_code, answer.json()["errors"]) == (422, [{"field": "file", "message": "is empty"}])


@pytest.mark.usefixtures("worker")
async def test_a_file_of_white_space_fails_with_a_reason(alice: httpx.AsyncClient) -> None:
    failed = await waited(alice, await upload(alice, b" \n\t\n" * 50))
    assert (failed["status"], failed["reason"], failed["searched_version"]) == ("failed", "no_text", None)


@pytest.mark.usefixtures("worker")
async def test_a_file_that_turns_out_to_be_no_text_fails_with_a_reason(alice: httpx.AsyncClient) -> None:
    failed = await waited(alice, await upload(alice, EN.encode() * 3_000 + os.urandom(50_000)))
    assert failed["status"] == "failed"
    assert failed["reason"] in {"not_text", "unknown_encoding"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"doc_type": ""}, "doc_type"),
        ({"metadata": "[1]"}, "metadata"),
        ({"metadata": "{"}, "metadata"),
        ({"title": ""}, "title"),
        ({"colour": "red"}, "colour"),
        ({"doc_type": "a\x00b"}, "doc_type"),
    ],
)
async def test_a_field_that_is_not_valid_is_named(
    alice: httpx.AsyncClient, changes: dict[str, str], field: str
) -> None:
    answer = await upload(alice, EN.encode() * 40_000, **changes)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, [field])
    assert (await alice.get(DOCUMENTS)).json()["items"] == []


async def test_a_form_without_its_type_or_file_is_refused(alice: httpx.AsyncClient) -> None:
    no_type = await alice.post(UPLOADS, files={"file": ("a.txt", EN.encode())})
    assert [error["field"] for error in no_type.json()["errors"]] == ["doc_type"]
    no_file = await alice.post(UPLOADS, files={"doc_type": (None, b"note")})
    assert no_file.json()["errors"] == [{"field": "file", "message": "is required"}]
    two = await alice.post(UPLOADS, files=[("file", ("a", b"a")), ("file", ("b", b"b"))], data={"doc_type": "note"})
    assert two.json()["errors"] == [{"field": "file", "message": "must come once"}]


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/json", b'{"text": "x"}', 415),
        ("multipart/form-data", b"x", 415),
        ("multipart/form-data; boundary=b", b"", 422),
        ("multipart/form-data; boundary=b", b"nonsense", 422),
        (f"multipart/form-data; boundary={'b' * 257}", b"nonsense", 422),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nbroken of',
            422,
        ),
        ("multipart/form-data; boundary=b", b"--b\r\n" + b"X: " + b"y" * 100_000, 422),
    ],
)
async def test_what_is_no_form_is_refused(
    alice: httpx.AsyncClient, content_type: str, body: bytes, status: int
) -> None:
    answer = await alice.post(UPLOADS, content=body, headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_file_over_the_limit_is_refused_and_leaves_nothing(
    alice: httpx.AsyncClient, settings: Settings
) -> None:
    data = EN.encode() * (settings.max_upload_bytes // len(EN) + 1)
    answer = await upload(alice, data)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")

    async def chunked() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for start in range(0, len(data), MEBIBYTE):
            yield data[start : start + MEBIBYTE]

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = await alice.post(UPLOADS, content=chunked(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert (await alice.get(DOCUMENTS)).json()["items"] == []


async def test_a_large_file_comes_back_as_it_was_given_wherever_its_fields_stand(alice: httpx.AsyncClient) -> None:
    data = os.urandom(8).hex().encode() + (EN.encode() * 60_000)
    form = [("file", ("long.txt", data)), ("title", (None, b"Long")), ("doc_type", (None, b"contract"))]
    answer = await alice.post(UPLOADS, files=form)
    assert answer.status_code == 202
    assert (answer.json()["title"], answer.json()["size_bytes"]) == ("Long", len(data))
    assert (await alice.get(f"{answer.headers['location']}/content")).content == data


async def test_a_repeated_upload_has_one_effect_though_its_boundary_differs(alice: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "once"}

    async def send(data: bytes) -> httpx.Response:
        form = {"file": ("a.txt", data), "doc_type": (None, b"note")}
        return await alice.post(UPLOADS, files=form, headers=headers)

    first, again, other = await send(EN.encode()), await send(EN.encode()), await send(ZH.encode())
    assert (first.status_code, again.status_code, again.content) == (202, 202, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    large = await send(EN.encode() * 40_000)
    assert large.json()["code"] == "idempotency_mismatch"
    assert [item["id"] for item in (await alice.get(DOCUMENTS)).json()["items"]] == [first.json()["id"]]


async def rows_of(knowledge: Knowledge, scope: Scope) -> tuple[int, int]:
    async with knowledge.wiring.db.read(scope) as tx:
        return (
            await tx.scalar(select(func.count()).select_from(documents).filter_by(usr=scope.usr)),
            await tx.scalar(select(func.count()).select_from(document_parts).filter_by(usr=scope.usr)),
        )


async def test_an_upload_that_breaks_off_leaves_nothing(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()

    async def break_off() -> None:
        async with knowledge.uploads.receive(someone) as received:
            await received.write(EN.encode() * 60_000)
            assert await rows_of(knowledge, someone) == (1, 3)
            assert (await knowledge.documents.page(someone, None, 9)).items == []
            raise ConnectionError

    with pytest.raises(ConnectionError):
        await break_off()
    assert await rows_of(knowledge, someone) == (0, 0)


async def test_what_is_uploaded_is_never_held_whole(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    tracemalloc.start()
    try:
        async with knowledge.uploads.receive(someone) as received:
            await received.write(b"%PDF-1.7\n")
            for _ in range(16 * 16):
                await received.write(os.urandom(MEBIBYTE // 16))
            document = await received.finish(NOTE, None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert document.size_bytes > 16 * MEBIBYTE
    assert peak < 12 * MEBIBYTE


async def test_an_upload_that_a_crash_broke_off_is_swept_and_a_whole_one_is_not(
    knowledge: Knowledge, scope: MakeScope
) -> None:
    someone = await scope()
    crashed = knowledge.uploads.receive(someone)
    received = await crashed.__aenter__()
    await received.write(EN.encode() * (PART_BYTES // len(EN) + 1))
    async with knowledge.uploads.receive(someone) as whole:
        await whole.write(EN.encode() * (PART_BYTES // len(EN) + 2))
        document = await whole.finish(NOTE, None)
    for document_id in (received.id, document.id):
        await knowledge.job(SWEEP_JOB, someone, document_id=str(document_id))
    assert (await rows_of(knowledge, someone))[0] == 1
    assert (await knowledge.documents.read(someone, document.id)).size_bytes == document.size_bytes
    with pytest.raises(AppError, match="conflict"):
        await received.finish(NOTE, None)


async def test_nothing_of_a_file_is_readable_in_the_database(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    secret = b"the combination is 17-4-92"
    async with knowledge.uploads.receive(someone) as received:
        await received.write(secret * 50_000)
        await received.finish(NOTE, None)
    async with knowledge.wiring.db.read(someone) as tx:
        bodies = [row.body_sealed for row in await tx.rows(select(document_parts).filter_by(usr=someone.usr))]
    assert len(bodies) == 2
    assert not any(secret in body or b"combination" in body for body in bodies)
