"""Evidence is a message or a document that exists and is the user's own; anything else is refused."""

from collections.abc import Mapping

import httpx
import pytest

from app.core import ids
from tests.conftest import MakeClient

ABSENT = {"If-None-Match": "*"}


async def message_of(caller: httpx.AsyncClient) -> Mapping[str, str]:
    """Return the evidence of a message that the caller has just sent."""
    session = (await caller.post("/v1/sessions", json={})).json()["id"]
    body = {"messages": [{"role": "user", "content": "I prefer tea. 我喜欢喝茶。"}]}
    appended = await caller.post(f"/v1/sessions/{session}/messages", json=body)
    return {"kind": "message", "id": appended.json()["messages"][0]["id"], "session": session}


async def document_of(caller: httpx.AsyncClient) -> Mapping[str, str]:
    """Return the evidence of a document that the caller has just added."""
    made = await caller.post("/v1/knowledge/documents", json={"text": "Tea at four.", "doc_type": "note"})
    return {"kind": "document", "id": made.json()["id"]}


def named(evidence: Mapping[str, str]) -> dict[str, str]:
    return {name: evidence[name] for name in ("kind", "id")}


async def test_evidence_is_kept_with_the_version_that_it_is_for(client: MakeClient) -> None:
    alice = await client()
    message, document = named(await message_of(alice)), named(await document_of(alice))
    for version, evidence in enumerate((message, document, None)):
        headers = {"If-Match": f'"{version}"'} if version else ABSENT
        answer = await alice.put("/v1/preferences/v", json={"value": 1, "evidence": evidence}, headers=headers)
        assert answer.is_success, answer.text
    history = (await alice.get("/v1/preferences/v/history")).json()["items"]
    assert [entry["evidence"] for entry in history] == [None, document, message]


@pytest.mark.parametrize("kind", ["message", "document"])
async def test_evidence_of_someone_else_is_the_same_as_none(client: MakeClient, kind: str) -> None:
    alice, bob = await client("alice"), await client("bob")
    theirs = named(await (message_of if kind == "message" else document_of)(bob))
    never = {"kind": kind, "id": ids.show(theirs["id"][:3], ids.uuid7())}
    told = []
    for evidence in (theirs, never):
        answer = await alice.put("/v1/preferences/v", json={"value": 1, "evidence": evidence}, headers=ABSENT)
        assert answer.status_code == 422
        assert [error["field"] for error in answer.json()["errors"]] == ["evidence"]
        told.append({name: value for name, value in answer.json().items() if name != "request_id"})
    assert told[0] == told[1]
    assert (await alice.get("/v1/preferences/v")).status_code == 404


async def test_a_document_is_no_message(client: MakeClient) -> None:
    alice = await client()
    document = await document_of(alice)
    wrong = {"kind": "message", "id": document["id"].replace("doc_", "msg_")}
    answer = await alice.put("/v1/preferences/v", json={"value": 1, "evidence": wrong}, headers=ABSENT)
    assert answer.status_code == 422


async def test_a_message_that_was_deleted_is_evidence_no_more(client: MakeClient) -> None:
    alice = await client()
    message = await message_of(alice)
    await alice.put("/v1/preferences/v", json={"value": 1, "evidence": named(message)}, headers=ABSENT)
    gone = await alice.delete(f"/v1/sessions/{message['session']}/messages/{message['id']}")
    assert gone.status_code == 204
    again = await alice.put("/v1/preferences/w", json={"value": 1, "evidence": named(message)}, headers=ABSENT)
    assert again.status_code == 422
    assert (await alice.get("/v1/preferences/v")).json()["evidence"] == named(message)


async def test_a_batch_names_every_item_whose_evidence_is_missing(client: MakeClient) -> None:
    alice = await client()
    there, never = named(await message_of(alice)), {"kind": "document", "id": ids.show("doc", ids.uuid7())}
    items = [
        {"key": key, "value": 1, "version": None, "evidence": evidence}
        for key, evidence in (("a", there), ("b", never), ("c", None), ("d", never))
    ]
    answer = await alice.put("/v1/preferences", json={"items": items})
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["items[1].evidence", "items[3].evidence"]
    assert (await alice.get("/v1/preferences")).json()["items"] == []
    items[1]["evidence"] = items[3]["evidence"] = there
    assert (await alice.put("/v1/preferences", json={"items": items})).status_code == 200
