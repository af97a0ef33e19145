"""Files of every kind, from their upload to what search shows: found by what they say, with where it stands."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from app import wiring as product
from app.core.memory import Question
from app.infra.extraction.model import Refusal
from app.knowledge.failures import FAILURE_TEXTS
from app.knowledge.model import Description, Failure
from app.knowledge.search import Search
from app.knowledge.source import KIND, KnowledgeSource
from app.settings import Settings
from tests.conftest import MakeClient, MakeScope
from tests.extraction.files import docx, heading, paragraph, pdf, table
from tests.extraction.nasty import encrypted, macro_type, pages_in_a_circle, with_password
from tests.knowledge.conftest import Knowledge

UPLOADS = "/v1/knowledge/uploads"
SEARCH = "/v1/knowledge/search"
LEASE = heading("租赁合同") + heading("押金", "2") + paragraph("押金为两个月租金，合同终止后三十日内退还。")
ROWS = [["Item", "Price", "Due"], ["Parking", "75 euros", "monthly"], ["Cleaning", "40 euros", "weekly"]]
FEES = heading("Fees") + table(ROWS)
DELETED = "<w:p><w:del><w:r><w:delText>110101199003070011</w:delText></w:r></w:del></w:p>"
PRICES = "品名,单价,产地\n龙井茶,320元,杭州\n普洱茶,210元,云南\n".encode("gb18030")
PAGE = b"<html><body><h1>Manual</h1><h2>Filter</h2><p>Clean the filter of the dishwasher every month.</p></body></html>"
PDF = pdf([["Introduction to the manual."], ["The boiler is serviced in October."], ["附录：锅炉每年十月保养一次。"]])
Body = dict[str, Any]  # Any: JSON


@pytest.fixture
async def alice(client: MakeClient) -> httpx.AsyncClient:
    return await client("alice")


async def settled(client: httpx.AsyncClient, data: bytes) -> Body:
    answer = await client.post(UPLOADS, files={"file": ("file.txt", data)}, data={"doc_type": "note"})
    assert answer.status_code == 202, answer.text
    body: Body = (await client.get(f"{answer.headers['location']}/events", params={"wait_s": 50})).json()
    return body


async def best(client: httpx.AsyncClient, question: str) -> Body:
    hit: Body = (await client.post(SEARCH, json={"query": question})).json()["hits"][0]
    return hit


@pytest.mark.usefixtures("worker")
async def test_a_file_of_each_kind_is_found_with_where_it_says_so(alice: httpx.AsyncClient) -> None:
    ready = [await settled(alice, data) for data in (docx(LEASE), docx(FEES), PRICES, PAGE, PDF)]
    assert {document["status"] for document in ready} == {"ready"}
    assert [document["media_type"].rpartition("/")[2].rpartition(".")[2] for document in ready] == [
        *("document", "document", "csv", "html", "pdf"),
    ]
    assert [document["encoding"] for document in ready] == [None, None, "gb18030", "utf-8", None]
    deposit = await best(alice, "押金什么时候退还？")
    assert deposit["location"]["headings"] == ["租赁合同", "押金"]
    assert "三十日内退还" in deposit["text"]
    assert "Item: Parking | Price: 75 euros" in (await best(alice, "price of parking"))["text"]
    assert "品名: 普洱茶 | 单价: 210元 | 产地: 云南" in (await best(alice, "普洱茶的单价"))["text"]
    assert (await best(alice, "clean the dishwasher filter"))["location"]["headings"] == ["Manual", "Filter"]
    boiler = (await best(alice, "when is the boiler serviced"))["location"]
    assert (boiler["page"], boiler["end_page"]) == (1, 3)
    content = await alice.get(f"/v1/knowledge/documents/{ready[4]['id']}/content")
    assert (content.content, content.headers["content-type"]) == (PDF, "application/pdf")


@pytest.mark.usefixtures("worker")
async def test_what_can_not_be_read_fails_with_a_reason_and_the_next_document_is_read(alice: httpx.AsyncClient) -> None:
    refused = {
        Failure.ENCRYPTED: with_password(),
        Failure.MACROS: macro_type(),
        Failure.MALFORMED: pages_in_a_circle(),
        Failure.NO_TEXT: b"<html><body><script>nothing()</script></body></html>",
        Failure.UNSUPPORTED: b"PK\x05\x06" + bytes(18),
    }
    for failure, data in refused.items():
        failed = await settled(alice, data)
        assert (failed["status"], failed["reason"], failed["reason_text"]) == (
            *("failed", failure.value),
            FAILURE_TEXTS[failure],
        )
    assert (await settled(alice, encrypted("secret")))["reason"] == "encrypted"
    assert (await settled(alice, docx(LEASE)))["status"] == "ready"


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    "data",
    [
        docx(paragraph("身份证号码是110101199003070011。") + heading("押金") + paragraph("押金为两个月租金。")),
        "<html><p>身份证号码是110101199003070011。</p><h1>押金</h1><p>押金为两个月租金。</p></html>".encode(),
        "<html><!-- 110101199003070011 --><h1>押金</h1><p>押金为两个月租金。</p></html>".encode(),
        docx(heading("押金") + DELETED + paragraph("租金")),
    ],
    ids=["DOCX", "HTML", "a comment", "deleted"],
)
async def test_a_number_that_is_never_stored_is_masked_and_its_file_is_not_kept(
    alice: httpx.AsyncClient, data: bytes
) -> None:
    ready = await settled(alice, data)
    assert (ready["status"], ready["original_kept"]) == ("ready", False)
    hits = (await alice.post(SEARCH, json={"query": "押金 身份证号码", "top_k": 9})).json()["hits"]
    assert not any("110101199003070011" in hit["text"] for hit in hits)
    assert ["押金"] in [hit["location"]["headings"] for hit in hits]


async def test_how_much_a_file_may_take_is_a_setting(settings: Settings, scope: MakeScope) -> None:
    someone = await scope()
    small = {"file_pages": 2, "file_unpacked_bytes": 1_024, "file_text_bytes": 1_024}
    refused = {
        Failure.TOO_MANY_PAGES: PDF,
        Failure.UNPACKS_TOO_LARGE: docx(LEASE),
        Failure.TOO_MUCH_TEXT: b"<html><p>" + b"Clean the filter. " * 100,
    }
    async with product.build(settings.model_copy(update=small)) as wired:
        knowledge = Knowledge(wired)
        for failure, data in refused.items():
            async with knowledge.uploads.receive(someone) as received:
                await received.write(data)
                document = await received.finish(Description("note"), None)
            assert (await knowledge.ingest(someone, document)).failure is failure


async def test_a_context_quotes_a_passage_with_its_pages_and_headings(knowledge: Knowledge, scope: MakeScope) -> None:
    someone = await scope()
    clauses = "".join(f"第{number}条 锅炉每年十月保养一次，费用由出租人承担，编号{number}。" for number in range(1, 60))
    lines = [clauses[start : start + 30] for start in range(0, len(clauses), 30)]
    pages = pdf([["第二章 锅炉", *lines[:30]], lines[30:]])
    async with knowledge.uploads.receive(someone) as received:
        await received.write(pages)
        document = await received.finish(Description("manual", "Manual"), None)
    assert (await knowledge.ingest(someone, document)).status == "ready"
    question = Question("锅炉保养的费用 编号59", None, frozenset({KIND}), datetime.now(UTC), limit=1)
    labels = (await KnowledgeSource(knowledge.service(Search)).gather(someone, question))[0].labels
    assert (labels["title"], labels["pages"], labels["headings"]) == ("Manual", "p. 2", "第二章 锅炉")


def test_every_refusal_of_a_file_is_a_reason_and_every_reason_has_a_text() -> None:
    assert {each.value for each in Refusal} < {each.value for each in Failure}
    assert set(FAILURE_TEXTS) == set(Failure)
