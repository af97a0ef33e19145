"""What users state in messages becomes memory: once, with its evidence, and only what is theirs to say."""

import asyncio
from typing import Any

import httpx
import pytest

from app.core.ids import parse
from app.core.scope import Scope
from app.core.writing import Right
from app.sessions.model import Body, Draft, Role
from app.sessions.service import Sessions
from app.wiring import Wiring
from app.writer.service import WRITE_JOB
from tests.conftest import MakeClient, MakeScope

Json = dict[str, Any]  # Any: JSON of the API
STATED = [
    ("Reply in German from now on, please.", "language", "de"),
    ("以后请用英文回复我。", "language", "en"),
    ("No emojis please.", "emoji", "avoid"),
    ("别再发表情了，我这边显示不出来。", "emoji", "avoid"),
]


async def tell(caller: httpx.AsyncClient, *texts: str, role: str = "user", key: str | None = None) -> Json:
    """Return the answer to an append of messages to a session of their own."""
    session = (await caller.post("/v1/sessions", json={})).json()["id"]
    return await tell_in(caller, session, *texts, role=role, key=key)


async def tell_in(
    caller: httpx.AsyncClient, session: str, *texts: str, role: str = "user", key: str | None = None
) -> Json:
    headers = {"Idempotency-Key": key} if key else {}
    body = {"messages": [{"role": role, "content": text} for text in texts]}
    answer = await caller.post(f"/v1/sessions/{session}/messages", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    told: Json = answer.json()
    return told


async def preference(caller: httpx.AsyncClient, key: str) -> Json:
    answer = await caller.get(f"/v1/preferences/{key}")
    found: Json = answer.json()
    return found


@pytest.mark.parametrize(("text", "key", "value"), STATED)
async def test_a_stated_preference_is_in_force_with_its_evidence(
    client: MakeClient, text: str, key: str, value: str
) -> None:
    alice = await client()
    told = await tell(alice, text)
    evidence = {"kind": "message", "id": told["messages"][0]["id"]}
    (update,) = told["memory_updates"]
    assert update == {
        "kind": "preference",
        "key": key,
        "value": value,
        "trust": "explicit",
        "state": "applied",
        "confidence": update["confidence"],
        "evidence": evidence,
    }
    kept = await preference(alice, key)
    assert (kept["value"], kept["trust"], kept["evidence"]) == (value, "explicit", evidence)


async def test_who_they_are_goes_into_the_profile_and_what_has_no_key_becomes_a_fact(client: MakeClient) -> None:
    alice = await client()
    told = await tell(alice, "I'm Tomasz Wilk and I work at Halden Implants.", "I can't stand early meetings.")
    assert [(each["kind"], each["key"], each["state"]) for each in told["memory_updates"]] == [
        ("profile", "name", "applied"),
        ("profile", "company", "applied"),
        ("preference", "other", "applied"),
    ]
    profile = (await alice.get("/v1/profile")).json()
    assert (profile["name"], profile["attributes"]) == ("Tomasz Wilk", {"company": "Halden Implants"})
    (fact,) = [each for each in (await alice.get("/v1/memories")).json()["items"] if each["kind"] == "memory"]
    assert (fact["text"], fact["trust"]) == ("I can't stand early meetings.", "explicit")
    assert fact["evidence"] == {"kind": "message", "id": told["messages"][1]["id"]}


async def test_what_is_said_later_replaces_what_was_said_before(client: MakeClient) -> None:
    alice = await client()
    await tell(alice, "Please answer in German from now on.", "Sorry, answer in English please.")
    assert (await preference(alice, "language"))["value"] == "en"
    told = await tell(alice, "更正一下，我在采购部，不是刚说的仓储部。")
    assert {(each["kind"], each["value"]) for each in told["memory_updates"]} == {
        ("withdraw", "仓储部"),
        ("profile", "采购部"),
    }
    assert (await alice.get("/v1/profile")).json()["department"] == "采购部"


async def test_what_is_taken_back_is_no_more_in_force_and_can_be_rolled_back(client: MakeClient) -> None:
    alice = await client()
    await tell(alice, "Please don't use abbreviations with me.")
    told = await tell(alice, "Abbreviations are OK again, I know them all by now.")
    assert [(each["kind"], each["key"], each["state"]) for each in told["memory_updates"]] == [
        ("withdraw", "abbreviations", "applied")
    ]
    gone = await alice.get("/v1/preferences/abbreviations")
    assert gone.status_code == 404
    undone = await alice.post(
        "/v1/preferences/abbreviations/rollback", json={"to_version": 1}, headers={"If-Match": gone.headers["ETag"]}
    )
    assert undone.json()["value"] == "avoid"


async def test_a_conclusion_never_goes_before_a_statement(client: MakeClient) -> None:
    alice = await client()
    await tell(alice, "I like long, detailed answers with the reasoning spelled out.")
    told = await tell(alice, "tldr again. I gave up after the second paragraph.")
    (update,) = told["memory_updates"]
    assert (update["value"], update["trust"], update["state"]) == ("short", "inferred", "candidate")
    assert (await preference(alice, "length"))["value"] == "detailed"
    (candidate,) = (await alice.get("/v1/preference-candidates")).json()["items"]
    assert candidate["evidence"] == [update["evidence"]]


async def test_a_retry_is_told_the_same_and_writes_nothing_twice(client: MakeClient) -> None:
    alice = await client()
    session = (await alice.post("/v1/sessions", json={})).json()["id"]
    texts = ("I can't stand early meetings.", "以后请用中文回复我。")
    answers = await asyncio.gather(*(tell_in(alice, session, *texts, key="once") for _ in range(4)))
    assert all(answer == answers[0] for answer in answers)
    assert len(answers[0]["memory_updates"]) == 2
    history = (await alice.get("/v1/preferences/language/history")).json()["items"]
    assert len(history) == 1
    facts = [each for each in (await alice.get("/v1/memories")).json()["items"] if each["kind"] == "memory"]
    assert len(facts) == 1


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
async def test_only_what_users_say_is_heard(client: MakeClient, role: str) -> None:
    alice = await client()
    assert (await tell(alice, "Reply in German from now on.", role=role))["memory_updates"] == []
    assert (await alice.get("/v1/preferences/language")).status_code == 404


async def test_a_message_writes_no_more_than_its_token_may(client: MakeClient) -> None:
    writer = await client(scope="sessions preferences profile")
    told = await tell(writer, "Reply in German from now on.", "My name is Ana Kovač.", "I hate early meetings.")
    assert [(each["key"], each["trust"], each["state"]) for each in told["memory_updates"]] == [
        ("language", "explicit", "applied"),
        ("name", "explicit", "applied"),
    ]
    assert (await preference(writer, "language"))["trust"] == "inferred"
    talker = await client(scope="sessions")
    assert (await tell(talker, "Reply in German from now on."))["memory_updates"] == []


async def test_a_sensitive_category_is_kept_only_where_the_catalogue_has_its_key(
    client: MakeClient,
) -> None:
    alice, operator = await client(), await client(scope="admin:catalog")
    told = await tell(alice, "我对青霉素过敏，下周要换药。", "I avoid smoky bars, I suffer from asthma.")
    assert [(each["kind"], each["key"], each["state"]) for each in told["memory_updates"]] == [
        ("profile", "allergy", "refused"),
        ("preference", "other", "refused"),
    ]
    assert (await alice.get("/v1/profile")).json()["attributes"] == {}
    assert [each["kind"] for each in (await alice.get("/v1/memories")).json()["items"]] == ["session"]
    entry = {
        "schema": {},
        "sensitive": True,
        "description": "What must be kept from a patient.",
        "names": {"en": "Allergies"},
    }
    made = await operator.put("/v1/admin/catalog/preferences/allergy", json=entry, headers={"If-None-Match": "*"})
    assert made.is_success, made.text
    await tell(alice, "我对青霉素过敏。", "I'm allergic to latex.")
    assert (await alice.get("/v1/profile")).json()["attributes"] == {"allergy": ["青霉素", "latex"]}


async def test_what_a_process_heard_and_did_not_come_to_is_written_by_the_worker(
    wiring: Wiring, scope: MakeScope, client: MakeClient
) -> None:
    alice = await client("alice")
    session = parse("ses", (await alice.post("/v1/sessions", json={})).json()["id"])
    sessions = wiring.provided[Sessions]
    assert isinstance(sessions, Sessions)
    hearing = sessions._hearing  # noqa: SLF001 - dies between the commit and the write, as a process would
    hers = await scope("alice")
    drafts = [Draft(Role.USER, Body(content=text)) for text in ("Reply in German from now on.", "Hello.")]

    found = await hearing.read(drafts)
    await sessions._stored(hers, session, drafts, None, list(Right), found)  # noqa: SLF001 - as above
    assert (await alice.get("/v1/preferences/language")).status_code == 404
    job = next(each for each in wiring.handlers if each.name == WRITE_JOB)
    await job.run(hers, {})
    await job.run(hers, {})
    assert (await preference(alice, "language"))["value"] == "de"
    assert len((await alice.get("/v1/preferences/language/history")).json()["items"]) == 1


async def test_of_a_message_that_is_gone_nothing_is_written(
    wiring: Wiring, scope: MakeScope, client: MakeClient
) -> None:
    alice = await client("alice")
    hers: Scope = await scope("alice")
    session = (await alice.post("/v1/sessions", json={})).json()["id"]
    sessions = wiring.provided[Sessions]
    assert isinstance(sessions, Sessions)
    drafts = [Draft(Role.USER, Body(content="Reply in German from now on."))]
    found = await sessions._hearing.read(drafts)  # noqa: SLF001 - as above
    _, sealed = await sessions._stored(hers, parse("ses", session), drafts, None, list(Right), found)  # noqa: SLF001
    gone = await alice.delete(f"/v1/sessions/{session}/messages/msg_{sealed[0].id.hex}")
    assert gone.status_code == 204
    await next(each for each in wiring.handlers if each.name == WRITE_JOB).run(hers, {})
    assert (await alice.get("/v1/preferences/language")).status_code == 404


async def test_the_context_of_the_same_turn_knows_it(client: MakeClient) -> None:
    alice = await client()
    session = (await alice.post("/v1/sessions", json={})).json()["id"]
    body = {"messages": [{"role": "user", "content": "从现在起请用表格回答我。"}], "context": {"query": "对比一下"}}
    answer = (await alice.post(f"/v1/sessions/{session}/messages", json=body)).json()
    assert 'format: "table"' in answer["context"]["prompt"]
