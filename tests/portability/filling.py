"""A user with some of every kind of data, in English and Chinese."""

import io
import json
import zipfile
from typing import Any

import httpx

from app.core.scope import Scope
from app.wiring import Wiring
from tests.extraction.files import docx, paragraph

Json = dict[str, Any]  # Any: JSON of the API

MERGE = "application/merge-patch+json"
NEW = {"If-None-Match": "*"}
TEXT = (
    "# Travel policy\n\nA hotel room may cost up to 165 euros a night.\n\n出差住宿标准为每晚一千元，超出部分需要审批。"
)
SAID: list[Json] = [
    {"role": "user", "content": "Never call me before nine.", "name": "Alice", "created_at": "2026-03-01T08:00:00Z"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call-1", "type": "function", "function": {"name": "book", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "Booked the Harbour Hotel.", "tool_call_id": "call-1"},
    {"role": "user", "content": "千万不要给我订靠近马路的房间，我睡眠很浅。", "metadata": {"渠道": "微信"}},
]


def took(answer: httpx.Response) -> Json:
    """Return what was answered to a request that must have succeeded."""
    assert answer.is_success, (answer.status_code, answer.text)
    found: Json = answer.json() if answer.content else {}
    return found


async def fill(client: httpx.AsyncClient) -> Json:
    """Say something of every kind; return the ids that a test needs."""
    session = took(
        await client.post(
            "/v1/sessions", json={"external_id": "thread-7", "title": "Reise 旅行", "metadata": {"app": "travel"}}
        )
    )
    at = f"/v1/sessions/{session['id']}"
    said = took(await client.post(f"{at}/messages", json={"messages": SAID}))["messages"]
    took(await client.patch(at, json={"pinned": True}, headers={"If-Match": "*"}))
    evidence = {"kind": "message", "id": said[0]["id"]}
    await _remember(client, evidence)
    document = took(
        await client.post(
            "/v1/knowledge/documents",
            json={"text": TEXT, "doc_type": "policy", "title": "Travel 差旅", "metadata": {"year": 2026}},
        )
    )
    files = {"file": ("预算.docx", docx(paragraph("The budget of 2027 is nine million. 预算为九百万。")))}
    upload = took(await client.post("/v1/knowledge/uploads", files=files, data={"doc_type": "budget"}))
    context = took(
        await client.post("/v1/context", json={"query": "Which hotel? 哪家酒店？", "session_id": session["id"]})
    )
    marked = {"useful": True, "correction": "The Harbour one."}
    took(await client.post(f"/v1/context/{context['context_id']}/feedback", json=marked))
    return {"session": session["id"], "messages": said, "documents": [document, upload]}


async def _remember(client: httpx.AsyncClient, evidence: Json) -> None:
    current = took(await client.get("/v1/profile"))["version"]
    patches: list[Json] = [{"name": "李雷", "role": "Buyer"}, {"role": None, "attributes": {"城市": "杭州"}}]
    for number, patch in enumerate(patches):
        headers = {"If-Match": f'"{current + number}"', "Content-Type": MERGE}
        body = json.dumps(patch | {"reason": "asked 问过", "evidence": evidence})
        took(await client.patch("/v1/profile", content=body, headers=headers))
    tone = {"value": {"tone": "正式"}, "reason": "in the contract", "evidence": evidence}
    took(await client.put("/v1/preferences/tone", json=tone, headers=NEW))
    took(await client.put("/v1/preferences/tone", json={"value": "casual"}, headers={"If-Match": '"1"'}))
    took(await client.put("/v1/preferences/gone", json={"value": "secret"}, headers=NEW))
    took(await client.delete("/v1/preferences/gone", headers={"If-Match": '"1"'}))
    proposal = {"key": "tone", "value": "terse", "confidence": 0.5, "reason": "short questions", "evidence": evidence}
    took(await client.post("/v1/preference-proposals", json=proposal))
    took(await client.post("/v1/profile-proposals", json={"key": "company", "value": "海德", "confidence": 0.5}))
    took(await client.post("/v1/preference-proposals", json={"key": "units", "value": "公制", "confidence": 0.9}))
    fact = took(await client.post("/v1/memories", json={"text": "Has a dog named Ruff.", "metadata": {"pet": True}}))
    again = {"text": "有一只叫Ruff的狗。", "source": "explicit", "evidence": evidence}
    took(await client.put(f"/v1/memories/{fact['id']}", json=again, headers={"If-Match": '"1"'}))
    gone = took(await client.post("/v1/memories", json={"text": "Lived in Lyon."}))
    took(await client.delete(f"/v1/memories/{gone['id']}", headers={"If-Match": '"1"'}))


async def ingest(wiring: Wiring, scope: Scope, documents: list[Json]) -> None:
    """Do what the worker is owed for documents, and for what is searched."""
    for document in documents:
        args = {"document_id": _hex(document["id"]), "version": document["version"]}
        await run_job(wiring, scope, "ingest_document", **args)
    for name in ("index_chunks", "index_messages", "index_memories"):
        await run_job(wiring, scope, name)


async def run_job(wiring: Wiring, scope: Scope, name: str, **args: str | int) -> None:
    """Run one of the worker's jobs."""
    handler = next(handler for handler in wiring.handlers if handler.name == name)
    await handler.run(scope, args)


def opened(archive: bytes) -> zipfile.ZipFile:
    """Return an archive that is whole."""
    found = zipfile.ZipFile(io.BytesIO(archive))
    assert found.testzip() is None
    return found


def lines(archive: zipfile.ZipFile, name: str) -> list[Json]:
    """Return the records of a file."""
    return [json.loads(line) for line in archive.read(f"{name}.jsonl").splitlines()]


def _hex(shown: str) -> str:
    return shown.partition("_")[2]
