"""What a user reads of their memory, and archives that were tampered with."""

import io
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import httpx

from tests.portability.filling import Json, took


async def exported(client: httpx.AsyncClient) -> bytes:
    return (await client.get("/v1/users/me/export")).content


def changed(archive: bytes, change: Callable[[str, bytes], bytes | None], *, again: bool = False) -> bytes:
    """Return an archive with other bytes in its files; None leaves a file out."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as before, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            data = change(name, before.read(name))
            if data is not None:
                after.writestr(name, data)
                if again and name == "memories.jsonl":
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # that is what is tried
                        after.writestr(name, data)
    return made.getvalue()


async def read_all(client: httpx.AsyncClient) -> Json:
    """Return what a user reads of their memory, without what differs between installations: ids, and how often
    something was written here.
    """
    sessions = took(await client.get("/v1/sessions"))["items"]
    keys = [item["key"] for item in took(await client.get("/v1/preferences"))["items"]]
    facts = took(await client.get("/v1/memories", params={"kind": "memory"}))["items"]
    documents = took(await client.get("/v1/knowledge/documents"))["items"]
    found: Json = {
        "profile": took(await client.get("/v1/profile")),
        "profile history": took(await client.get("/v1/profile/history"))["items"],
        "preferences": took(await client.get("/v1/preferences"))["items"],
        "histories": [took(await client.get(f"/v1/preferences/{key}/history"))["items"] for key in keys],
        "candidates": took(await client.get("/v1/preference-candidates"))["items"],
        "facts": [took(await client.get(item["href"])) for item in facts],
        "sessions": [took(await client.get(f"/v1/sessions/{item['id']}")) for item in sessions],
        "messages": [took(await client.get(f"/v1/sessions/{item['id']}/messages"))["items"] for item in sessions],
        "documents": documents,
        "bytes": [(await client.get(f"/v1/knowledge/documents/{each['id']}/content")).content for each in documents],
        "searched": took(await client.post("/v1/knowledge/search", json={"query": "hotel budget 预算"}))["hits"],
        "recalled": took(await client.post("/v1/recall", json={"query": "马路 nine dog 狗"}))["hits"],
    }
    for session in found["sessions"]:
        session.pop("version")
    for hit in found["searched"]:
        hit.pop("created_at")
    for document in found["documents"]:
        document.pop("updated_at")
    cleaned: Json = _clean(found)
    return cleaned


# What differs between installations: ids, numbers of changes, and what is told of the order of found things.
OWN = {
    "id",
    "memory_id",
    "message_id",
    "scores",
    "explanation",
    "session_id",
    "document_id",
    "chunk_id",
    "evidence",
    "snapshot",
    "changes_since",
    "href",
    "score",
}


def _clean(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items() if name not in OWN}
    return [_clean(each) for each in value] if isinstance(value, list) else value
