"""Says something secret in every field of every kind of memory, over HTTP, and in whatever else a caller may send."""

import json
from typing import Any

import httpx

from tests.extraction.files import docx, paragraph
from tests.trust.running import becomes_true

WORD = "quetzalcoatlus"
SHOWN = "QuetzalCoatlus"
CHINESE = "魑魅魍魉"
# The number of a bank card: stored nowhere, sealed or not.
CARD = "4111111111111111"
IBAN = "GB82 WEST 1234 5698 7654 32"
MASK = "[银行卡号已隐去]"
INDEXED_WITHIN_S = 90.0
ASSEMBLED_WITHIN_S = 30.0

Json = dict[str, Any]  # Any: JSON of the API


def secret(field: str) -> str:
    """Return a text with the words that are looked for, and the field it stands in for whoever finds it."""
    return f"{field}: the {SHOWN} of {field} and {CHINESE}之{field}，卡号{CARD}"


def stated(field: str) -> str:
    """Return such a text without the card."""
    return secret(field).replace(f"，卡号{CARD}", "")


def plant(client: httpx.Client, number: int) -> None:
    """Fill every field of one user's memory. Each write carries an idempotency key of its own and is sent twice."""
    for order, (method, path, body, headers) in enumerate(_writes(client, number)):
        name = "content" if isinstance(body, bytes) else "json"
        key = f"{WORD}-{number}-{order}-{method}-{path[-40:]}"
        sent = [
            client.request(method, path, headers={"Idempotency-Key": key, **headers}, **{name: body}) for _ in range(2)
        ]
        assert all(answer.is_success for answer in sent), (method, path, [answer.text for answer in sent])


def _writes(client: httpx.Client, number: int) -> list[tuple[str, str, Any, dict[str, str]]]:
    session = client.post(
        "/v1/sessions",
        json={"external_id": f"{SHOWN} {CHINESE}", "title": secret("title"), "metadata": {SHOWN: secret("metadata")}},
    )
    document = client.post("/v1/knowledge/documents", json=_document("first"))
    preference = client.put(
        f"/v1/preferences/{WORD}.{number}",
        json={"value": {SHOWN: [stated("value")]}, "reason": secret("reason")},
        headers={"If-None-Match": "*"},
    )
    memories = [client.post("/v1/memories", json=_memory(which)) for which in ("kept", "gone")]
    made = [session, document, preference, *memories]
    assert {answer.status_code for answer in made} == {201, 202}, [answer.text for answer in made]
    session_id, document_id = session.json()["id"], document.json()["id"]
    kept, gone = (f"/v1/memories/{answer.json()['id']}" for answer in memories)
    merge = {"Content-Type": "application/merge-patch+json", "If-Match": '"0"'}
    first, again = {"If-Match": '"1"'}, {"If-Match": '"2"'}
    return [
        ("PATCH", "/v1/profile", json.dumps(_profile()).encode(), merge),
        ("POST", "/v1/profile/rollback", {"to_version": 1, "reason": secret("profile again")}, first),
        ("DELETE", "/v1/profile/fields/department", None, again),
        ("DELETE", f"/v1/profile/fields/attributes/{SHOWN}/gone", None, {"If-Match": '"3"'}),
        ("POST", f"/v1/sessions/{session_id}/messages", {"messages": _messages()}, {}),
        ("PATCH", f"/v1/sessions/{session_id}", {"title": secret("title again")}, {"If-Match": "*"}),
        ("PUT", f"/v1/preferences/{WORD}.{number}", {"value": stated("second value")}, first),
        ("POST", f"/v1/preferences/{WORD}.{number}/rollback", {"to_version": 1}, again),
        ("PUT", "/v1/preferences", {"items": [_item("gone"), _item("kept")]}, {}),
        ("DELETE", f"/v1/preferences/{WORD}.gone", None, first),
        ("POST", "/v1/memories", _memory("third"), {}),
        ("PUT", kept, _memory("second"), first),
        ("DELETE", gone, None, first),
        ("POST", "/v1/preference-proposals", _proposal("inferred"), {}),
        ("POST", "/v1/profile-proposals", {"key": WORD, "value": [stated("role")], "confidence": 0.5}, {}),
        *_decisions(client),
        ("PUT", f"/v1/knowledge/documents/{document_id}", _document("second"), first),
        ("POST", "/v1/users/me/import", _dump(), {"Content-Type": "application/octet-stream"}),
        ("POST", "/v1/knowledge/uploads", *_upload("md", secret("upload's text").encode("utf-16"))),
        ("POST", "/v1/knowledge/uploads", *_upload("docx", docx(paragraph(secret("document's text"))))),
    ]


def _document(which: str) -> Json:
    return {
        "text": f"# {secret('heading')}\n\n" + "\n\n".join(secret(f"{which} paragraph {each}") for each in range(20)),
        "doc_type": f"{SHOWN} type",
        "title": secret("document title"),
        "metadata": {SHOWN: [secret("document metadata")]},
    }


def _memory(which: str) -> Json:
    return {"text": secret(f"{which} fact"), "metadata": {SHOWN: [secret("fact's metadata")]}}


def _item(name: str) -> Json:
    return {"key": f"{WORD}.{name}", "value": stated(name), "reason": secret("reason"), "version": None}


def _proposal(name: str) -> Json:
    return {"key": f"{WORD}.{name}", "value": [stated(name)], "confidence": 0.5, "reason": secret("inferred reason")}


def _decisions(client: httpx.Client) -> list[tuple[str, str, Any, dict[str, str]]]:
    """Return what the user says to two inferences that have waited; a third goes on waiting."""
    answer = client.put(f"/v1/preferences/{WORD}.said", json={"value": stated("said")}, headers={"If-None-Match": "*"})
    assert answer.status_code == 201, answer.text
    made = []
    for value in (stated("waits"), [stated("is rejected")], {SHOWN: stated("is accepted")}):
        answer = client.post("/v1/preference-proposals", json=_proposal("said") | {"value": value})
        made.append((f"/v1/preference-candidates/{answer.json()['candidate']['id']}", answer.json()["candidate"]))
    (_, _), (rejected, first), (accepted, second) = made
    return [
        ("POST", f"{rejected}/reject", None, {"If-Match": f'"{first["version"]}"'}),
        ("POST", f"{accepted}/accept", None, {"If-Match": f'"{second["version"]}"'}),
    ]


def _profile() -> Json:
    said: Json = {name: secret(name) for name in ("name", "role", "department")}
    attributes = {SHOWN: {"deep": [secret("attribute")], "gone": secret("erased attribute")}}
    return said | {"attributes": attributes, "reason": secret("reason of the profile")}


def _messages() -> list[Json]:
    call = {"id": f"call-{WORD}", "type": "function", "function": {"name": SHOWN, "arguments": secret("arguments")}}
    said: list[Json] = [
        {"role": "user", "content": f"I never eat {SHOWN} and I must have {CHINESE}.", "name": SHOWN},
        {
            "role": "user",
            "content": f"我从不吃{CHINESE}，请一直用中文回答。",
            "metadata": {SHOWN: secret("of message")},
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": secret("tool's result"), "tool_call_id": f"call-{WORD}"},
        {"role": "system", "content": secret("system")},
    ]
    return said + [{"role": "user", "content": secret(f"turn {each}")} for each in range(30)]


def _dump() -> bytes:
    lines: list[Json] = [
        {"id": f"{SHOWN} {CHINESE}", "text": secret("imported fact"), "metadata": {SHOWN: secret("imported metadata")}},
        {"role": "user", "content": secret("imported message"), "name": SHOWN},
        {"text": [secret("what is refused")]},
    ]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()


def _upload(kind: str, data: bytes) -> tuple[bytes, dict[str, str]]:
    fields = {"doc_type": f"{SHOWN} uploaded", "title": secret("upload"), "metadata": json.dumps({SHOWN: CHINESE})}
    files = {"file": (f"{SHOWN}-{CHINESE}.{kind}", data)}
    request = httpx.Request("POST", "http://cairn.test", data=fields, files=files)
    return request.read(), {"Content-Type": request.headers["Content-Type"]}


def ask(client: httpx.Client) -> None:
    """Ask every question that a caller can put words into, and check that the memory answers with what was planted."""
    session_id = client.get("/v1/sessions").json()["items"][0]["id"]
    question = {"query": f"What of the {SHOWN} and {CHINESE}?"}
    body = question | {"session_id": session_id, "budget_tokens": 4_000}

    def is_assembled() -> bool:
        """Right after a start on a busy machine a context may be refused for its deadline."""
        context = client.post("/v1/context", json=body)
        assert context.status_code in {200, 503}, context.text
        return context.status_code == 200 and SHOWN in context.json()["prompt"]

    assert becomes_true(is_assembled, ASSEMBLED_WITHIN_S)
    made = client.get("/v1/memory-log").json()["items"][0]["context_id"]
    marked = {"useful": False, "correction": secret("correction")}
    assert client.post(f"/v1/context/{made}/feedback", json=marked).status_code == 200
    assert SHOWN in client.get(f"/v1/memory-log/{made}").json()["feedback"]["correction"]
    found = client.post("/v1/knowledge/search", json=question | {"doc_type": [f"{SHOWN} type", f"{SHOWN} uploaded"]})
    assert SHOWN in found.json()["hits"][0]["text"]
    recalled = client.post("/v1/recall", json=question)
    assert SHOWN in recalled.json()["hits"][0]["text"]
    assert {hit["kind"] for hit in recalled.json()["hits"]} == {"message", "memory"}
    assert SHOWN in client.get("/v1/memory-log").json()["items"][0]["query"]
    assert SHOWN in client.get(f"/v1/sessions/{session_id}").json()["title"]
    assert SHOWN in client.get("/v1/memories", params={"kind": "memory"}).json()["items"][0]["text"]
    assert SHOWN in client.get("/v1/profile").json()["name"]
    assert SHOWN in client.get("/v1/preference-candidates").json()["items"][0]["value"]
    assert SHOWN in client.get("/v1/profile-candidates").json()["items"][0]["value"][0]


def read_all(client: httpx.Client) -> str:
    """Return what a user sees of their memory, opened: every list, and what each of its items is in full."""
    candidates = ("preference-candidates", "profile-candidates", "memory-candidates")
    lists = ("sessions", "memories", "preferences", *candidates, "knowledge/documents", "memory-log")
    shown = [client.get("/v1/profile").text, client.get("/v1/profile/history").text]
    for name in lists:
        answer = client.get(f"/v1/{name}", params={"limit": 100})
        assert answer.status_code == 200, answer.text
        shown.append(answer.text)
    sessions = [f"sessions/{item['id']}/messages" for item in client.get("/v1/sessions").json()["items"]]
    versions = [f"preferences/{item['key']}/history" for item in client.get("/v1/preferences").json()["items"]]
    shown += [client.get(f"/v1/{name}", params={"limit": 100}).text for name in (*sessions, *versions)]
    for document in client.get("/v1/knowledge/documents").json()["items"]:
        shown.append(client.get(f"/v1/knowledge/documents/{document['id']}/content").text)
    return "\n".join(shown)


def provoke(client: httpx.Client) -> None:
    """Put the words where they are refused: what is wrong is told, and written down nowhere."""
    refused = [
        client.get("/v1/preferences", params={SHOWN: CHINESE}),
        client.get("/v1/preferences", params={"agent_id": WORD}),
        client.get("/v1/preferences", params={"as_of": SHOWN, "snapshot": CHINESE}),
        client.get("/v1/profile", params={"snapshot": SHOWN}),
        client.post("/v1/profile/rollback", json={"to_version": 1, "reason": [SHOWN]}, headers={"If-Match": '"0"'}),
        client.delete(f"/v1/profile/fields/attributes/{SHOWN}/{CHINESE}", headers={"If-Match": '"4"'}),
        client.get("/v1/sessions", params={"cursor": SHOWN}),
        client.get(f"/v1/{SHOWN}/{CHINESE}"),
        client.get(f"/v1/sessions/{SHOWN}"),
        client.get(f"/v1/preferences/{WORD}.never"),
        client.get(f"/v1/memories/{SHOWN}"),
        client.get("/v1/memories", params={"kind": SHOWN}),
        client.post("/v1/memories", json={"text": SHOWN, "source": WORD}),
        client.post("/v1/memories", json={"text": SHOWN, "evidence": {"kind": "message", "id": WORD}}),
        client.post("/v1/preference-proposals", json={"key": SHOWN, "value": CHINESE, "confidence": 0.5}),
        client.get(f"/v1/preference-candidates/cnd_{SHOWN}"),
        client.post("/v1/profile-proposals", json={"key": SHOWN, "value": CHINESE, "confidence": 0.5}),
        client.get(f"/v1/profile-candidates/cnd_{SHOWN}"),
        client.get(f"/v1/preferences/{SHOWN} {CHINESE}"),
        client.post("/v1/sessions", json={SHOWN: CHINESE, "title": [SHOWN]}),
        client.post("/v1/sessions", content=f'{{"title": "{SHOWN} {CHINESE}'.encode(), headers=JSON),
        client.post("/v1/sessions", json={"title": f"{SHOWN}\x00"}),
        client.post("/v1/sessions", json={"external_id": f"{SHOWN}{CHINESE}{CARD}"}),
        client.put(f"/v1/preferences/{WORD}.card", json={"value": f"IBAN {IBAN}"}, headers={"If-None-Match": "*"}),
        client.post("/v1/verifications", json={"type": "bank_card", "value": CARD}),
        client.post("/v1/verifications/check", json={"token": SHOWN}),
        client.put(f"/v1/preferences/{CARD}", json={"value": SHOWN}, headers={"If-None-Match": "*"}),
        client.post("/v1/sessions", json={}, headers={"Idempotency-Key": f"{SHOWN} {WORD}"}),
        client.post("/v1/context", json={"query": SHOWN, "session_id": f"ses_{SHOWN}"}),
        client.post("/v1/context", json={"query": SHOWN, "snapshot": WORD}),
        client.post("/v1/knowledge/uploads", content=SHOWN.encode(), headers={"Content-Type": f"text/{WORD}"}),
        client.get("/v1/preferences", headers={"Authorization": f"Bearer {SHOWN}.{WORD}.{WORD}"}),
    ]
    assert all(400 <= answer.status_code < 500 for answer in refused), [answer.status_code for answer in refused]
    masked = client.put(f"/v1/preferences/{WORD}.masked", json={"value": CARD}, headers={"If-None-Match": "*"})
    assert (masked.status_code, CARD in masked.text) == (201, False)
    taken = client.get("/v1/profile", headers={"User-Agent": SHOWN, "Referer": WORD, "X-User-Id": WORD, "Cookie": WORD})
    assert taken.status_code == 200
    binary = {"file": (f"{SHOWN}.bin", b"\x00\x01\x02" + SHOWN.encode() + bytes(200))}
    assert client.post("/v1/knowledge/uploads", data={"doc_type": SHOWN}, files=binary).status_code in {202, 415, 422}


JSON = {"Content-Type": "application/json"}


def await_indexed(client: httpx.Client) -> None:
    """Wait until the worker has done everything: the words have been through all that it does."""

    def is_done() -> bool:
        documents = client.get("/v1/knowledge/documents").json()["items"]
        pending = [
            client.post(path, json={"query": "anything"}).json()["index"]["pending"]
            for path in ("/v1/knowledge/search", "/v1/recall")
        ]
        return all(each["status"] in {"ready", "failed"} for each in documents) and pending == [0, 0]

    assert becomes_true(is_done, INDEXED_WITHIN_S)
