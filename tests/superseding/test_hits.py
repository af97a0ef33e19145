"""One change, all stores: what the profile and preferences say no more isn't shown as current, wherever it stands."""

from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from app.infra.embedded.stack import Stack
from tests.conftest import MakeClient, eventually

pytestmark = pytest.mark.usefixtures("worker")

MERGE_PATCH = "application/merge-patch+json"
DOCUMENTS = "/v1/knowledge/documents"
Body = dict[str, Any]  # Any: JSON
OLD, NEW = "old.lin@x.example", "new.lin@x.example"
ENGLISH = (
    "The landlord sends every invoice to old.lin@x.example by the fifth.",
    "Please send the invoice to OLD.LIN@x.example.",
    "where does the invoice go",
    "out of date",
)
CHINESE = (
    "房东在每月五日之前把发票发送到邮箱old.lin@x.example，不得延误。",
    "请把发票发到我的邮箱old.lin@x.example，谢谢。",
    "发票发到哪个邮箱",
    "已过时",
)
LANGUAGES = pytest.mark.parametrize(("contract", "said", "question", "mark"), [ENGLISH, CHINESE], ids=["en", "zh"])


async def patch(caller: httpx.AsyncClient, version: int, **attributes: object) -> Body:
    headers = {"If-Match": f'"{version}"', "Content-Type": MERGE_PATCH}
    answer = await caller.patch("/v1/profile", json={"attributes": attributes}, headers=headers)
    assert answer.status_code == 200, answer.text
    shown: Body = answer.json()
    return shown


async def told(caller: httpx.AsyncClient, contract: str, said: str) -> str:
    """Give a contract, and say something in a session that goes on; return the session."""
    document = await caller.post(DOCUMENTS, json={"text": contract, "doc_type": "contract"})
    done = await caller.get(f"{DOCUMENTS}/{document.json()['id']}/events", params={"wait_s": 30})
    assert done.json()["status"] == "ready"
    session: str = (await caller.post("/v1/sessions", json={"window": 2})).json()["id"]
    messages = [{"role": "assistant", "content": text} for text in (said, "Thanks.", "Good night.", said)]
    answer = await caller.post(f"/v1/sessions/{session}/messages", json={"messages": messages})
    assert answer.status_code == 201, answer.text
    return session


async def post(caller: httpx.AsyncClient, path: str, **body: object) -> Body:
    answer = await caller.post(path, json=body)
    assert answer.status_code == 200, answer.text
    shown: Body = answer.json()
    return shown


async def pin(caller: httpx.AsyncClient) -> str:
    snapshot: str = (await caller.get("/v1/profile")).json()["snapshot"]
    return snapshot


async def superseded(caller: httpx.AsyncClient, question: str) -> list[Body]:
    """Return what every hit that holds the old value is superseded by: of search, then of recall."""
    found = await post(caller, "/v1/knowledge/search", query=question)
    recalled = await post(caller, "/v1/recall", query=question)
    hits = [hit for hit in found["hits"] + recalled["hits"] if OLD in hit["text"].lower()]
    assert len(hits) == 3
    assert len({str(hit["superseded"]) for hit in hits}) == 1
    tags: list[Body] = hits[0]["superseded"]
    return tags


async def context(caller: httpx.AsyncClient, session: str, question: str, **more: object) -> Body:
    return await post(caller, "/v1/context", query=question, session_id=session, budget_tokens=4_000, **more)


def decided(shown: Body) -> dict[str, list[Body]]:
    """Return by kind what is newer than the memories of a context."""
    return {decision["kind"]: decision["superseded"] for decision in shown["decisions"] if decision["superseded"]}


@LANGUAGES
async def test_an_address_that_was_changed_is_nowhere_shown_as_current(
    client: MakeClient, contract: str, said: str, question: str, mark: str
) -> None:
    alice = await client()
    session = await told(alice, contract, said)
    first = await patch(alice, 0, email=OLD)
    assert await superseded(alice, question) == []
    pinned = first["snapshot"]
    before = await context(alice, session, question, snapshot=pinned)

    await patch(alice, 1, email=NEW)
    owner = (await superseded(alice, question))[0]["id"]
    newer = {"kind": "profile", "id": owner, "version": 2}
    assert await superseded(alice, question) == [newer | {"field": "attributes/email", "key": None}]
    shown = await context(alice, session, question)
    assert decided(shown) == {kind: [newer] for kind in ("summary", "messages", "recall", "knowledge")}
    lines = [line for line in shown["prompt"].splitlines() if OLD in line.lower()]
    assert lines
    assert all(f"; {mark}: " in line.split("] ")[0] for line in lines)
    # The log has it for good, in ids.
    log = (await alice.get("/v1/memory-log", params={"session_id": session})).json()["items"]
    assert decided(log[0]) == decided(shown)

    # A task that has pinned its memory sees the flags of then, and of any other moment.
    assert (decided(before), decided(await context(alice, session, question, snapshot=pinned))) == ({}, {})
    changed = await pin(alice)
    back = await alice.post("/v1/profile/rollback", json={"to_version": 1}, headers={"If-Match": '"2"'})
    assert back.status_code == 200, back.text
    assert await superseded(alice, question) == []
    assert decided(await context(alice, session, question)) == {}
    assert decided(await context(alice, session, question, snapshot=changed)) == decided(shown)


@LANGUAGES
async def test_what_was_erased_leaves_no_mark(
    client: MakeClient, contract: str, said: str, question: str, mark: str
) -> None:
    alice = await client()
    session = await told(alice, contract, said)
    await patch(alice, 0, email=OLD)
    then = await patch(alice, 1, email=NEW)
    assert await superseded(alice, question) != []
    gone = await alice.delete("/v1/profile/fields/attributes/email", headers={"If-Match": '"2"'})
    assert gone.status_code == 204
    assert await superseded(alice, question) == []
    for moment in ({}, {"snapshot": then["snapshot"]}):
        shown = await context(alice, session, question, **moment)
        assert (decided(shown), mark in shown["prompt"]) == ({}, False)


async def test_a_preference_that_changed_is_told_with_its_key_to_its_agent_alone(client: MakeClient) -> None:
    contract, said, question, _ = ENGLISH
    alice, other = await client(agent="mailer"), await client(agent="other")
    session = await told(alice, contract, said)
    path, own = "/v1/preferences/invoice.to", {"agent_id": "mailer"}
    one, two = ({"value": {"to": [value]}} for value in (OLD, NEW))
    stated = await alice.put(path, params=own, json=one, headers={"If-None-Match": "*"})
    assert stated.status_code == 201, stated.text
    first = await pin(alice)
    answer = await alice.put(path, params=own, json=two, headers={"If-Match": '"1"'})
    assert answer.status_code == 200, answer.text
    tag = {"kind": "preference", "id": answer.json()["id"], "field": None, "key": "invoice.to", "version": 2}
    assert await superseded(alice, question) == [tag]
    assert await superseded(other, question) == []
    newer = [{"kind": "preference", "id": tag["id"], "version": 2}]
    then = await pin(alice)
    await patch(alice, 0, city="Oslo")
    for moment in ({}, {"snapshot": then}):
        assert decided(await context(alice, session, question, **moment))["knowledge"] == newer
    assert decided(await context(other, session, question)) == {}
    assert decided(await context(alice, session, question, snapshot=first)) == {}
    assert (await alice.delete(path, params=own, headers={"If-Match": '"2"'})).status_code == 204
    assert await superseded(alice, question) == []


async def test_what_is_in_force_elsewhere_is_current(client: MakeClient) -> None:
    contract, said, question, _ = ENGLISH
    alice = await client()
    await told(alice, contract, said)
    await patch(alice, 0, email=OLD)
    await patch(alice, 1, email=NEW, private_email=OLD)
    assert await superseded(alice, question) == []
    await patch(alice, 2, private_email=None)
    assert [tag["field"] for tag in await superseded(alice, question)] == [
        "attributes/private_email",
        "attributes/email",
    ]
    body = {"value": OLD}
    assert (await alice.put("/v1/preferences/to", json=body, headers={"If-None-Match": "*"})).status_code == 201
    assert await superseded(alice, question) == []


async def test_versions_of_before_the_marks_are_looked_at(client: MakeClient, stack: Stack) -> None:
    contract, said, question, _ = ENGLISH
    alice = await client()
    await told(alice, contract, said)
    owner = (await patch(alice, 0, email=OLD))["id"]
    await patch(alice, 1, email=NEW)
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        unmarked = "UPDATE profile_versions SET supersedes = NULL WHERE usr = $1"
        await connection.execute(unmarked, UUID(hex=owner.removeprefix("usr_")))
    finally:
        await connection.close()
    assert [tag["field"] for tag in await superseded(alice, question)] == ["attributes/email"]


async def read(caller: httpx.AsyncClient, session: str, memory: str) -> dict[str, list[Body]]:
    """Read what holds the old value, without a question; return by where it stands the newer items that are told."""
    shown = {
        "session": (await caller.get(f"/v1/sessions/{session}")).json(),
        "memory": (await caller.get(f"/v1/memories/{memory}")).json(),
    }
    messages = (await caller.get(f"/v1/sessions/{session}/messages")).json()["items"]
    shown |= {f"message {item['seq']}": item for item in messages}
    shown["one message"] = (await caller.get(f"/v1/sessions/{session}/messages/{messages[0]['id']}")).json()
    listed = (await caller.get("/v1/memories")).json()["items"]
    shown |= {f"listed {item['kind']}": item for item in listed}
    return {where: item["superseded"] for where, item in shown.items() if item["superseded"]}


@pytest.mark.parametrize("said", [f"My mail is {OLD}.", f"我的邮箱是{OLD}，谢谢。"], ids=["en", "zh"])
async def test_what_is_read_without_a_question_is_marked_too(client: MakeClient, said: str) -> None:
    alice = await client()
    session: str = (await alice.post("/v1/sessions", json={"window": 1, "title": said})).json()["id"]
    messages = [{"role": "assistant", "content": text} for text in (said, "Thanks.", said)]
    path = f"/v1/sessions/{session}/messages"
    assert (await alice.post(path, json={"messages": messages})).status_code == 201
    memory: str = (await alice.post("/v1/memories", json={"text": said})).json()["id"]
    await patch(alice, 0, email=OLD)
    assert await read(alice, session, memory) == {}
    seen = (await alice.get(f"/v1/sessions/{session}")).headers["etag"]
    assert (await alice.get(f"/v1/sessions/{session}", headers={"If-None-Match": seen})).status_code == 304

    changed = await patch(alice, 1, email=NEW)
    tag = {"kind": "profile", "id": changed["id"], "field": "attributes/email", "key": None, "version": 2}
    places = {"session", "memory", "message 1", "message 3", "one message", "listed memory", "listed session"}
    assert await read(alice, session, memory) == {where: [tag] for where in places}
    # Neither the session nor the fact has another version: who has it already hears of the mark all the same.
    for where in (f"/v1/sessions/{session}", f"/v1/memories/{memory}"):
        assert (await alice.get(where, headers={"If-None-Match": seen})).status_code == 200
        assert (await alice.get(where, headers={"If-None-Match": '"1"'})).status_code == 200
    shown = await context(alice, session, "?", include=["summary", "messages"])
    assert set(decided(shown)) == {"summary", "messages"}

    back = await alice.post("/v1/profile/rollback", json={"to_version": 1}, headers={"If-Match": '"2"'})
    assert back.status_code == 200
    assert await read(alice, session, memory) == {}


async def noted(caller: httpx.AsyncClient) -> list[Body]:
    """Return all that the memory log says of changes, page by page."""
    found: list[Body] = []
    following: Body = {}
    while True:
        answer = await caller.get("/v1/memory-log/changes", params={"limit": 2} | following)
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        if answer.json()["next_cursor"] is None:
            return found
        following = {"cursor": answer.json()["next_cursor"]}


@pytest.mark.parametrize(("contract", "said"), [ENGLISH[:2], CHINESE[:2]], ids=["en", "zh"])
async def test_the_memory_log_tells_what_a_change_has_marked_though_nobody_read_it(
    client: MakeClient, contract: str, said: str
) -> None:
    alice = await client(agent="mailer")
    await told(alice, contract, "Nothing of it.")
    session: str = (await alice.post("/v1/sessions", json={"window": 1})).json()["id"]
    messages = [{"role": "user", "content": text} for text in (f"Never write to {OLD}.", *["Go on."] * 20)]
    # By a token that may only talk: what is said becomes no fact.
    talker = await client(scope="sessions")
    assert (await talker.post(f"/v1/sessions/{session}/messages", json={"messages": messages})).is_success
    document: str = (await alice.get(DOCUMENTS)).json()["items"][0]["id"]
    memory: str = (await alice.post("/v1/memories", json={"text": said})).json()["id"]
    await alice.post("/v1/memories", json={"text": "something else"})
    await patch(alice, 0, email=OLD)
    changed = await patch(alice, 1, email=NEW)
    assert {item["id"] for item in await marked(alice, 3)} == {document, session, memory}
    newer = {"kind": "profile", "id": changed["id"], "version": 2}
    assert all((item["superseded"], item["snapshot"]) == (newer, changed["snapshot"]) for item in await noted(alice))

    # Another change that takes nothing out of force marks nothing; one of the agent's own preference does.
    await patch(alice, 2, city="Oslo")
    own, path = {"agent_id": "mailer"}, "/v1/preferences/invoice.to"
    words = "the landlord sends every invoice" if contract == ENGLISH[0] else "房东在每月五日之前"
    assert (await alice.put(path, params=own, json={"value": words}, headers={"If-None-Match": "*"})).is_success
    second = await alice.put(path, params=own, json={"value": "none"}, headers={"If-Match": '"1"'})
    last = (await marked(alice, 4))[0]
    kept = {"kind": "preference", "id": second.json()["id"], "version": 2}
    assert (last["id"], last["superseded"]) == (document, kept)
    assert await noted(await client("bob")) == []


async def marked(caller: httpx.AsyncClient, count: int) -> list[Body]:
    """Wait for as many marks."""

    async def there() -> bool:
        return len(await noted(caller)) == count

    await eventually(there)
    return await noted(caller)
