"""What a user lets be done: nothing kept, nothing inferred, nothing sent outside, from the answer on."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import httpx
import pytest

from app.core.errors import AppError
from app.core.processing import Processing
from app.core.scope import Scope
from app.core.versions import Exactly
from app.core.writing import Right
from app.infra.served.permits import Permits
from app.knowledge.model import Description, Query, Reranked
from app.knowledge.search import Search
from app.knowledge.service import INGEST_JOB, Documents
from app.memories.indexing import INDEX_JOB as INDEX_MEMORIES
from app.memories.model import Content, Origin, State, Trust
from app.memories.service import Memories
from app.rights.service import Rights
from app.sessions.indexing import INDEX_JOB as INDEX_MESSAGES
from app.sessions.model import Body, Draft, Opening, Recall, Role
from app.sessions.recall import Recalls
from app.sessions.service import Sessions
from app.sessions.summarising import SUMMARY_JOB
from app.wiring import Wiring
from app.writer.service import WRITE_JOB
from tests.conftest import MakeClient, MakeScope
from tests.rights.conftest import sent, usual
from tests.served.endpoint import Recorder, status
from tests.sessions.talk import append, open_session, said, the

PATH = "/v1/users/me/processing"
CREATE = {"If-None-Match": "*"}
ALL = {"remember": True, "infer": True, "external_models": True}


async def choose(client: httpx.AsyncClient, **chosen: bool) -> Mapping[str, Any]:  # Any: JSON
    now = (await client.get(PATH)).headers["etag"]
    answer = await client.put(PATH, json=ALL | chosen, headers={"If-Match": now})
    assert answer.status_code == 200, answer.text
    shown: Mapping[str, Any] = answer.json()
    return shown


async def restrict(wired: Wiring, someone: Scope, version: int = 1, **chosen: bool) -> None:
    await the(wired, Rights).choose(someone, Processing(**chosen), Exactly(frozenset({version})), None)


async def run(wired: Wiring, name: str, someone: Scope, **args: str | int) -> None:
    await next(handler for handler in wired.handlers if handler.name == name).run(someone, args)


async def test_choices_are_versioned_and_shown(client: MakeClient) -> None:
    alice = await client()
    first = await alice.get(PATH)
    assert (first.headers["etag"], first.json()) == ('"1"', {"version": 1, **ALL})
    body = ALL | {"infer": False}
    assert (await alice.put(PATH, json=body)).status_code == 428
    assert (await alice.put(PATH, json={"infer": False}, headers={"If-Match": '"1"'})).status_code == 422
    keyed = {"If-Match": '"1"', "Idempotency-Key": "k"}
    changed = await alice.put(PATH, json=body, headers=keyed)
    assert (changed.status_code, changed.headers["etag"], changed.json()) == (200, '"2"', {"version": 2, **body})
    assert (await alice.put(PATH, json=body, headers=keyed)).headers["idempotent-replayed"] == "true"
    stale = await alice.put(PATH, json=ALL, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["current_version"]) == (412, 2)
    assert (await alice.get(PATH, headers={"If-None-Match": '"2"'})).status_code == 304
    account = (await alice.get("/v1/users/me")).json()
    assert account["processing"] == body
    agent = await client("alice", scope="profile sessions")
    assert (await agent.put(PATH, json=ALL, headers={"If-Match": '"2"'})).status_code == 403
    trail = (await alice.get("/v1/audit", params={"limit": 200})).json()["items"]
    assert ("restrict", "processing") in {(each["action"], each["kind"]) for each in trail}


async def test_nothing_new_is_kept_and_what_is_there_is_read_and_deleted(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    [message, *_] = await append(alice, session, said("My heron sings."))
    await alice.put("/v1/preferences/tone", json={"value": "dry"}, headers=CREATE)
    memory = (await alice.post("/v1/memories", json={"text": "Owns a heron"})).json()
    await choose(alice, remember=False)
    path = f"/v1/sessions/{session['id']}"
    merge = {"Content-Type": "application/merge-patch+json", "If-Match": '"0"'}
    note = {"text": "A note.", "doc_type": "note"}
    refused = [
        await alice.post(f"{path}/messages", json={"messages": [said("And dances.")]}),
        await alice.post("/v1/sessions", json={}),
        await alice.patch(path, json={"title": "Birds"}, headers={"If-Match": "*"}),
        await alice.put("/v1/preferences/tone", json={"value": "wet"}, headers={"If-Match": '"1"'}),
        await alice.post("/v1/preference-proposals", json={"key": "x", "value": 1, "confidence": 0.9}),
        await alice.post("/v1/memories", json={"text": "Owns two"}),
        await alice.patch("/v1/profile", json={"name": "Alice"}, headers=merge),
        await alice.post("/v1/knowledge/documents", json=note),
        await alice.post("/v1/knowledge/uploads", files={"file": b"A note."}, data={"doc_type": "note"}),
    ]
    assert {(each.status_code, each.json()["code"], each.json()["processing"]) for each in refused} == {
        (403, "processing_stopped", "remember")
    }
    context = await alice.post("/v1/context", json={"query": "What does the heron do?"})
    assert (context.status_code, "dry" in context.json()["prompt"]) == (200, True)
    assert (await alice.get("/v1/memory-log")).json()["items"] == [], "the question is kept nowhere"
    assert (await alice.get(f"{path}/messages")).json()["items"][0]["content"] == "My heron sings."
    gone = [
        await alice.delete("/v1/preferences/tone", headers={"If-Match": '"1"'}),
        await alice.delete(f"/v1/memories/{memory['id']}", headers={"If-Match": '"1"'}),
        await alice.delete(f"{path}/messages/{message['id']}"),
        await alice.delete(path, headers={"If-Match": "*"}),
    ]
    assert {each.status_code for each in gone} <= {200, 204}, [each.text for each in gone]
    await choose(alice)
    assert (await alice.post("/v1/memories", json={"text": "Owns two"})).status_code == 201


async def test_nothing_is_inferred(client: MakeClient, wiring: Wiring, scope: MakeScope) -> None:
    alice = await client()
    session = await open_session(alice)
    await choose(alice, infer=False)
    body = {"messages": [said("Please reply in German from now on.")]}
    appended = await alice.post(f"/v1/sessions/{session['id']}/messages", json=body)
    assert (appended.status_code, appended.json()["memory_updates"]) == (201, [])
    proposed = await alice.post("/v1/preference-proposals", json={"key": "x", "value": 1, "confidence": 0.9})
    inferred = await alice.post("/v1/memories", json={"text": "Likes birds", "source": "inferred"})
    field = await alice.post("/v1/profile-proposals", json={"key": "company", "value": "Borg", "confidence": 0.9})
    assert {(each.status_code, each.json()["processing"]) for each in (proposed, inferred, field)} == {(403, "infer")}
    assert (await alice.post("/v1/memories", json={"text": "Likes birds", "source": "explicit"})).status_code == 201
    assert (await alice.get("/v1/preferences")).json()["items"] == []
    # What was heard before and waits for the worker isn't written either, not even when it is allowed again.
    bob = await scope()
    sessions = the(wiring, Sessions)
    opened = (await sessions.open(bob, Opening())).view.session.id
    drafts = [Draft(Role.USER, Body(content="Please reply in German from now on."))]
    [stored] = (await sessions.append(bob, opened, drafts)).messages
    writer = the(wiring, Sessions)._hearing._writing  # noqa: SLF001 - a process that dies after the first of two steps
    await writer.intend(bob, [Right.PREFERENCES, Right.EXPLICIT], [stored.id], [stored.id])
    await restrict(wiring, bob, infer=False)
    await run(wiring, WRITE_JOB, bob)
    await restrict(wiring, bob, 2)
    await run(wiring, WRITE_JOB, bob)
    async with wiring.db.read(bob) as tx:
        assert await tx.change_number() == 0


async def _told(wired: Wiring, someone: Scope, word: str) -> UUID:
    """Have something of each kind that models are asked about."""
    sessions = the(wired, Sessions)
    session = (await sessions.open(someone, Opening(window_size=2))).view.session.id
    drafts = [Draft(Role.USER, Body(content=f"{word} {number} flew by.")) for number in range(40)]
    await sessions.append(someone, session, drafts)
    await the(wired, Memories).add(someone, Content(State.KEPT, f"Loves {word}", Trust.EXPLICIT, Origin.EXPLICIT), None)
    return session


async def test_nothing_is_sent_outside_and_what_is_here_does_what_it_can(
    sending: Wiring, outside: Recorder, scope: MakeScope
) -> None:
    alice, bob = await scope(), await scope()
    sessions = {}
    for someone, word in ((alice, "Quetzal"), (bob, "Toucan")):
        sessions[word] = await _told(sending, someone, word)
    note = await the(sending, Documents).add(alice, "A Quetzal has a tail.", Description("note"), None)
    await restrict(sending, alice, external_models=False)

    ingestion: dict[str, str | int] = {"document_id": str(note.id), "version": 1}
    jobs: list[tuple[str, dict[str, str | int]]] = [(INDEX_MESSAGES, {}), (INDEX_MEMORIES, {}), (INGEST_JOB, ingestion)]
    for name, args in jobs:
        with pytest.raises(AppError, match="processing_stopped"):
            await run(sending, name, alice, **args)
    await run(sending, SUMMARY_JOB, alice, session=str(sessions["Quetzal"]))
    view = await the(sending, Sessions).view(alice, sessions["Quetzal"])
    assert "Quetzal" in view.summary.gist, "rules wrote it"
    assert view.session.summary_seq > 0
    found = await the(sending, Recalls).recall(alice, Recall("Quetzal 7", 3))
    assert "Quetzal 7 flew by." in [hit.message.text for hit in found.hits], "found by its words"
    assert "Quetzal" not in sent(outside)

    # Somebody else's goes its way meanwhile.
    await run(sending, INDEX_MESSAGES, bob)
    await run(sending, SUMMARY_JOB, bob, session=str(sessions["Toucan"]))
    assert (await the(sending, Sessions).view(bob, sessions["Toucan"])).summary.gist == "They spoke of birds."

    await restrict(sending, alice, 2)
    await run(sending, INDEX_MESSAGES, alice)
    await run(sending, INGEST_JOB, alice, document_id=str(note.id), version=1)
    asked = Query("tail", 3, with_details=True, rerank=True)
    assert (await the(sending, Search).search(alice, asked)).reranked is Reranked.DONE
    assert "A Quetzal has a tail." in sent(outside)
    await restrict(sending, alice, 3, external_models=False)
    before = len(outside.bodies)
    again = await the(sending, Search).search(alice, Query("A tail of what?", 3, with_details=True, rerank=True))
    assert (again.reranked, len(again.hits), len(outside.bodies)) == (Reranked.UNAVAILABLE, 1, before)


async def test_no_append_gets_in_once_it_is_answered(client: MakeClient, wiring: Wiring, scope: MakeScope) -> None:
    """Two processes: one appends by ten at a time, the other is told to stop."""
    alice, someone = await client("alice"), await scope("alice")
    sessions = the(wiring, Sessions)
    session = (await sessions.open(someone, Opening())).view.session.id
    stored = 0

    async def talk(name: int) -> str:
        nonlocal stored
        for number in range(10_000):
            try:
                await sessions.append(someone, session, [Draft(Role.USER, Body(content=f"{name} says {number}"))])
            except AppError as error:
                return error.code
            stored += 1
        return "never"

    talking = [asyncio.create_task(talk(name)) for name in range(10)]
    while stored < 20:  # noqa: ASYNC110 - until all of them are at it
        await asyncio.sleep(0)
    now = {"If-Match": '"1"'}
    assert (await alice.put(PATH, json=ALL | {"remember": False}, headers=now)).status_code == 200
    kept = (await sessions.view(someone, session)).session.message_count
    assert set(await asyncio.gather(*talking)) == {"processing_stopped"}
    assert (await sessions.view(someone, session)).session.message_count == kept >= stored


async def test_the_answer_waits_for_a_write_that_is_in_and_for_what_is_permitted(
    client: MakeClient, sending: Wiring, wiring: Wiring, scope: MakeScope
) -> None:
    alice, someone = await client("alice"), await scope("alice")
    async with wiring.db.write(someone):
        body = ALL | {"remember": False}
        asking = asyncio.create_task(alice.put(PATH, json=body, headers={"If-Match": '"1"'}))
        await asyncio.wait({asking}, timeout=0.5)
        assert not asking.done(), "it may still be committed"
    assert (await asking).status_code == 200
    until_s = await Permits(sending.db.choices).of(someone).until_s()
    body = ALL | {"external_models": False}
    assert (await alice.put(PATH, json=body, headers={"If-Match": '"2"'})).status_code == 200
    assert time.monotonic() > until_s


async def test_nothing_leaves_once_it_is_answered(
    client: MakeClient, sending: Wiring, outside: Recorder, scope: MakeScope
) -> None:
    """Two processes: one asks a model outside that fails every other time, the other is told to stop."""
    alice, someone = await client("alice"), await scope("alice")
    recalls = the(sending, Recalls)
    outside.answers += [answer for _ in range(500) for answer in (status(503, retry_after="0"), usual)]

    async def ask(name: int) -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            await recalls.recall(someone, Recall(f"heron {name} {number}", 1))

    stopped = asyncio.Event()
    begun = len(outside.bodies)
    asking = [asyncio.create_task(ask(name)) for name in range(10)]
    while len(outside.bodies) < begun + 10:  # noqa: ASYNC110 - what is waited for happens in another thread
        await asyncio.sleep(0.01)
    answer = await alice.put(PATH, json=ALL | {"external_models": False}, headers={"If-Match": '"1"'})
    assert answer.status_code == 200
    after = len(outside.bodies)
    asked_again = [asyncio.create_task(recalls.recall(someone, Recall(f"crane {number}", 1))) for number in range(10)]
    await asyncio.gather(*asked_again)
    stopped.set()
    await asyncio.gather(*asking)
    assert len(outside.bodies) == after
