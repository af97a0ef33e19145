"""The memory log: found by session, message, context and time; replayed; marked; and gone with what it holds."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.conftest import USER_SCOPES

MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]
Json = dict[str, Any]  # Any: JSON of the API

CREATE = {"If-None-Match": "*"}
WINDOW = 2


async def opened(client: httpx.AsyncClient) -> str:
    """Make a session with a small window: what is said leaves it soon."""
    answer = await client.post("/v1/sessions", json={"window": WINDOW})
    session_id: str = answer.json()["id"]
    return session_id


async def say(client: httpx.AsyncClient, session_id: str, *messages: Json) -> list[str]:
    answer = await client.post(f"/v1/sessions/{session_id}/messages", json={"messages": list(messages)})
    assert answer.status_code == 201, answer.text
    return [message["id"] for message in answer.json()["messages"]]


def by_user(text: str) -> Json:
    return {"role": "user", "content": text}


async def assembled(client: httpx.AsyncClient, **body: object) -> Json:
    answer = await client.post("/v1/context", json={"query": "how?", **body})
    assert answer.status_code == 200, answer.text
    made: Json = answer.json()
    return made


async def line_of(client: httpx.AsyncClient, context_id: str) -> Json:
    answer = await client.get(f"/v1/memory-log/{context_id}")
    assert answer.status_code == 200, answer.text
    line: Json = answer.json()
    return line


async def found(client: httpx.AsyncClient, **wanted: str) -> list[str]:
    answer = await client.get("/v1/memory-log", params=wanted)
    assert answer.status_code == 200, answer.text
    return [line["context_id"] for line in answer.json()["items"]]


async def replayed(client: httpx.AsyncClient, context_id: str) -> Json:
    answer = await client.get(f"/v1/memory-log/{context_id}/replay")
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    return told


async def test_a_line_tells_what_was_shown_and_by_whom(client: MakeClient) -> None:
    alice = await client(agent="helper")
    session = await opened(alice)
    await say(alice, session, *(by_user(f"Never use tables. Point {number}.") for number in range(5)))
    made = await assembled(alice, session_id=session, include=["summary", "messages"])
    line = await line_of(alice, made["context_id"])
    assert line["prompt_sha256"] == hashlib.sha256(made["prompt"].encode()).hexdigest()
    assert line["snapshot"] == made["snapshot"]
    assert (line["agent"], line["include"], line["complete"]) == ("helper", ["messages", "summary"], True)
    assert line["revisions"].keys() == {"embedder", "router"}
    shown = [block["text"] for block in made["blocks"] if block["kind"] in {"constraints", "summary"}]
    assert shown
    assert line["summary"] == "\n".join(shown)
    without = await client(scope=USER_SCOPES.replace("sessions ", ""))
    assert (await line_of(without, made["context_id"]))["summary"] is None


async def test_lines_are_found_by_session_context_message_and_time(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    session = await opened(alice)
    made = [await assembled(alice, session_id=session, include=["messages"]) for _ in range(3)]
    first, second, third = (each["context_id"] for each in made)
    answer = {"role": "assistant", "content": "So.", "context_id": second}
    asked, answered = await say(alice, session, by_user("What is this?"), answer)
    times = [(await line_of(alice, each))["created_at"] for each in (first, second, third)]
    assert await found(alice, session_id=session) == [third, second, first]
    assert await found(alice, context_id=first) == [first]
    assert await found(alice, message_id=answered) == [second]
    assert await found(alice, message_id=answered, context_id=first) == []
    assert await found(alice, message_id=asked) == []
    assert await found(alice, **{"from": times[1], "to": times[2]}) == [second]
    assert (await line_of(alice, second))["message_ids"] == [asked, answered]
    for wanted in ({"message_id": answered}, {"context_id": first}):
        assert await found(bob, **wanted) == []
    for wrong in ({"from": "Tuesday"}, {"before": times[0]}):
        assert (await alice.get("/v1/memory-log", params=wrong)).status_code == 422


@pytest.mark.parametrize("of", ["nobody", "bob"])
async def test_a_message_is_tied_to_a_context_of_its_own_users_alone(client: MakeClient, of: str) -> None:
    alice, bob = await client("alice"), await client("bob")
    session = await opened(alice)
    theirs = (await assembled(bob, include=["profile"]))["context_id"] if of == "bob" else "ctx_" + "0" * 31 + "1"
    said = [by_user("one"), {"role": "assistant", "content": "two", "context_id": theirs}]
    sent = await alice.post(f"/v1/sessions/{session}/messages", json={"messages": said})
    assert (sent.status_code, sent.json()["errors"][0]["field"]) == (422, "messages[1].context_id")
    assert (await alice.get(f"/v1/sessions/{session}/messages")).json()["items"] == []


async def test_a_line_tells_what_its_turn_has_changed(client: MakeClient) -> None:
    alice = await client()
    session = await opened(alice)
    (before,) = await say(alice, session, by_user("An earlier turn."))
    await say(alice, session, {"role": "assistant", "content": "Yes."})
    (asked,) = await say(alice, session, by_user("A word on that: teacher, Oslo, short."))
    made = (await assembled(alice, session_id=session))["context_id"]
    await say(alice, session, {"role": "assistant", "content": "Yes.", "context_id": made})
    evidence = {"kind": "message", "id": asked}
    stated = {"value": "short", "evidence": evidence}
    assert (await alice.put("/v1/preferences/length", json=stated, headers=CREATE)).status_code == 201
    proposal = {"key": "length", "value": "long", "confidence": 0.5, "evidence": evidence}
    waits = (await alice.post("/v1/preference-proposals", json=proposal)).json()["candidate"]
    fact = {"text": "Lives in Oslo.", "source": "explicit", "evidence": evidence}
    assert (await alice.post("/v1/memories", json=fact)).status_code == 201
    merge = {"Content-Type": "application/merge-patch+json", "If-Match": '"0"'}
    profile = {"role": "teacher", "evidence": evidence}
    assert (await alice.patch("/v1/profile", json=profile, headers=merge)).status_code == 200
    other = {"value": "formal", "evidence": {"kind": "message", "id": before}}
    assert (await alice.put("/v1/preferences/tone", json=other, headers=CREATE)).status_code == 201
    updates = (await line_of(alice, made))["updates"]
    told = {(each["kind"], each["version"], each["trust"], each["message_id"]) for each in updates}
    assert told == {
        ("preference", 1, "explicit", asked),
        ("candidate", waits["version"], "inferred", asked),
        ("memory", 1, "explicit", asked),
        ("profile", 1, "explicit", asked),
    }
    assert len(updates) == len(told)


async def test_a_replay_says_what_the_same_call_would_load_now(client: MakeClient) -> None:
    alice = await client()
    for key in ("kept", "changed", "gone"):
        await alice.put(f"/v1/preferences/{key}", json={"value": f"is {key}"}, headers=CREATE)
    at_snapshot = await assembled(alice, snapshot=(await assembled(alice))["snapshot"])
    made = await assembled(alice)
    same = await replayed(alice, made["context_id"])
    assert (same["differences"], same["same_prompt"], same["complete"]) == ([], True, True)
    before = len(await found(alice))
    await alice.put("/v1/preferences/changed", json={"value": "other"}, headers={"If-Match": '"1"'})
    await alice.delete("/v1/preferences/gone", headers={"If-Match": '"1"'})
    await alice.put("/v1/preferences/added", json={"value": "new"}, headers=CREATE)
    told = await replayed(alice, made["context_id"])
    assert not told["same_prompt"]
    changes = [(each["change"], each["then"] and each["then"]["version"]) for each in told["differences"]]
    assert sorted(changes, key=str) == [("added", None), ("gone", 1), ("version", 1)]
    assert len(await found(alice)) == before
    # What was deleted is out of every version: the snapshot shows that, and nothing else.
    then = await replayed(alice, at_snapshot["context_id"])
    assert [(each["change"], each["now"]["reason"]) for each in then["differences"]] == [("reason", "erased")]


async def test_a_replay_is_of_the_agent_that_asked(client: MakeClient) -> None:
    asking, other = await client(agent="one"), await client(agent="two")
    own = {"value": "own"}
    await asking.put("/v1/preferences/tone?agent_id=one", json=own, headers=CREATE)
    made = await assembled(asking)
    assert "own" in made["prompt"]
    assert (await replayed(other, made["context_id"]))["differences"] == []


async def test_feedback_stands_with_its_line_and_rises_in_version(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    await alice.put("/v1/preferences/tone", json={"value": "formal"}, headers=CREATE)
    made = await assembled(alice)
    (item,) = [item for block in made["blocks"] for item in block["items"]]
    path = f"/v1/context/{made['context_id']}/feedback"
    said = {"useful": True, "items": [{"id": item["id"], "useful": False}], "correction": "Say du."}
    key = {"Idempotency-Key": "once"}
    first = await alice.post(path, json=said, headers=key)
    again = await alice.post(path, json=said, headers=key)
    assert (first.status_code, first.json()["version"]) == (200, 1)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")
    kept = (await line_of(alice, made["context_id"]))["feedback"]
    mark = {"kind": "preferences", "id": item["id"], "version": 1, "useful": False}
    assert (kept["useful"], kept["items"], kept["correction"]) == (True, [mark], "Say du.")
    second = await alice.post(path, json={"useful": False})
    assert (second.json()["version"], second.json()["items"]) == (2, [])
    assert (await line_of(alice, made["context_id"]))["feedback"]["correction"] is None
    assert (await bob.post(path, json={"useful": True})).status_code == 404
    strange = await alice.post(path, json={"useful": True, "items": [{"id": "prf_1", "useful": True}]})
    assert (strange.status_code, strange.json()["errors"][0]["field"]) == (422, "items[0].id")
    assert (await alice.post(path, json={"useful": "yes"})).status_code == 422
    reader = await client("alice", scope="context:read preferences:read profile:read")
    assert (await reader.post(path, json={"useful": True})).status_code == 403


async def test_a_deleted_message_leaves_no_words_of_it_in_the_log(client: MakeClient) -> None:
    alice = await client()
    session = await opened(alice)
    before = await assembled(alice, session_id=session, include=["summary"], query="What else?")
    ids = await say(alice, session, *(by_user(f"I must never eat mango number {number}.") for number in range(5)))
    said = "I must  never eat MANGO number 0."
    after = await assembled(alice, session_id=session, include=["summary"], query="What now?")
    elsewhere = await assembled(alice, include=["profile"], query=said)
    assert "mango number 0" in (await line_of(alice, after["context_id"]))["summary"]
    gone = await alice.delete(f"/v1/sessions/{session}/messages/{ids[0]}")
    assert gone.status_code == 204
    lines = [await line_of(alice, each["context_id"]) for each in (before, after, elsewhere)]
    assert "mango" not in str(lines).lower()
    assert [(line["query"], line["is_cut"]) for line in lines] == [
        ("What else?", False),
        ("What now?", True),
        (None, True),
    ]
    refused = await alice.get(f"/v1/memory-log/{elsewhere['context_id']}/replay")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert (await replayed(alice, after["context_id"]))["complete"]


@pytest.mark.parametrize(
    ("lacks", "kinds", "reads"),
    [
        ("knowledge", ["knowledge"], {}),
        ("sessions", ["messages", "recall", "summary"], {}),
        ("memories", ["memories"], {}),
        ("preferences", ["preferences"], {"require": []}),
        ("profile", ["profile"], {"require": ["preferences"]}),
    ],
)
async def test_what_the_token_may_not_read_is_left_out_and_told(
    client: MakeClient, lacks: str, kinds: list[str], reads: Json
) -> None:
    alice = await client()
    await alice.put("/v1/preferences/tone", json={"value": "formal"}, headers=CREATE)
    await alice.post("/v1/memories", json={"text": "The bicycle is red."})
    scopes = [scope for scope in USER_SCOPES.split() if scope != lacks]
    agent = await client(scope=" ".join(scopes))
    made = await assembled(agent, query="What about the red bicycle?", **reads)
    # Facts come along with what was said before: nobody has asked for them by name.
    assert (made["missing"], made["complete"]) == (([], True) if lacks == "memories" else (kinds, False))
    told = [each["kind"] for each in made["decisions"] if each["reason"] == "no_scope"]
    assert told == kinds
    assert ("formal" in made["prompt"]) == (lacks != "preferences")
    assert ("bicycle is red" in made["prompt"]) == (lacks != "memories")
    # Nobody is given a prompt without the user's constraints unless they have said so.
    refused = await agent.post("/v1/context", json={"query": "how?"})
    required = lacks in {"preferences", "profile"}
    assert (refused.status_code, refused.json().get("scope")) == ((403, f"{lacks}:read") if required else (200, None))
