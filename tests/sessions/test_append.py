"""Appending: atomic, gapless, one order, one effect however often it is sent."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from app.core.ids import parse, show, uuid7
from app.sessions.service import Sessions
from app.settings import Settings
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope
from tests.sessions.talk import append, open_session, read_messages, read_session, said, the

PROCESSES = 2
APPENDS = 100
SECRETS = ("database_url", "database_log_url", "keys_url", "redis_url", "master_key", "auth_secret")

ODD_TEXTS = [
    "",
    " ",
    "不要用表格，谢谢。",
    "👩‍👩‍👧‍👦 and 🇨🇭",
    "e\u0301 is not \u00e9",
    "right to left: \u202eשלום\u202c مرحبا",
    "lines\u2028and\u2029paragraphs\r\n\ttabs\x0b\x1b[31m",
    "\U0001d518\U0002070e\U0010fffd",
    '\'; DROP TABLE messages; -- {"a": 1} \\u0000 %s $1',
    "\ufeffbyte order\ufffe",
]


async def test_messages_are_numbered_in_the_order_sent(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    first = await append(alice, session, said("one"), said("two", "assistant"))
    second = await append(alice, session, said("three"))
    assert [message["seq"] for message in (*first, *second)] == [1, 2, 3]
    record = await read_messages(alice, session)
    assert [(message["id"], message["content"]) for message in record] == [
        (first[0]["id"], "one"),
        (first[1]["id"], "two"),
        (second[0]["id"], "three"),
    ]
    assert record[0]["created_at"] == first[0]["created_at"]


async def test_a_message_keeps_everything_it_came_with(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    call = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": '{"q": "猫"}'}}
    made = await alice.post("/v1/context", json={"query": "What is there?", "include": ["profile"]})
    context_id = made.json()["context_id"]
    sent = [
        said("What is there?", name="Ana", metadata={"channel": "phone", "n": [1, 2.5, None, {"深": True}]}),
        {"role": "assistant", "content": None, "tool_calls": [call], "context_id": context_id},
        {"role": "tool", "content": "", "tool_call_id": "call_1"},
        said("Be brief.", "system", created_at="2024-05-04T12:00:00.123456+02:00"),
    ]
    await append(alice, session, *sent)
    record = await read_messages(alice, session)
    for given, kept in zip(sent, record, strict=True):
        for name in ("role", "content", "name", "tool_calls", "tool_call_id", "context_id"):
            assert kept[name] == given.get(name), name
        assert kept["metadata"] == given.get("metadata", {})
    assert record[3]["created_at"] == "2024-05-04T10:00:00.123456Z"
    assert record[3]["stored_at"] > record[3]["created_at"]


@pytest.mark.parametrize("text", ODD_TEXTS)
async def test_any_text_comes_back_as_it_was(client: MakeClient, text: str) -> None:
    alice = await client()
    session = await open_session(alice, title=text[:200], metadata={"text": text})
    (message,) = await append(alice, session, said(text, metadata={"text": text}))
    answer = await alice.get(f"/v1/sessions/{session['id']}/messages/{message['id']}")
    assert (answer.json()["content"], answer.json()["metadata"]) == (text, {"text": text})
    assert (session["title"], session["metadata"]) == (text, {"text": text})
    await read_session(alice, session)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ('{"role": "user", "content": "a\\u0000b"}', "messages[1].content"),
        ('{"role": "user", "content": "a\\ud800b"}', "messages[1].content"),
        ('{"role": "user", "metadata": {"a": ["\\udfff"]}}', "messages[1].metadata.a[0]"),
        ('{"role": "robot"}', "messages[1].role"),
        ('{"role": "user", "content": 3}', "messages[1].content"),
        ('{"role": "user", "contents": "x"}', "messages[1].contents"),
        ('{"role": "user", "tool_calls": [{"id": "x"}]}', "messages[1]"),
        ('{"role": "user", "tool_call_id": "x"}', "messages[1]"),
        ('{"role": "assistant", "tool_calls": [{"id": NaN}]}', "messages[1].tool_calls[0]"),
        ('{"role": "user", "created_at": "2999-01-01T00:00:00Z"}', "messages[1].created_at"),
        ('{"role": "user", "created_at": "2024-01-01T00:00:00"}', "messages[1].created_at"),
        ('{"role": "user", "context_id": "ses_1"}', "messages[1].context_id"),
    ],
)
async def test_a_batch_is_stored_whole_or_not_at_all(client: MakeClient, message: str, field: str) -> None:
    alice = await client()
    session = await open_session(alice)
    answer = await alice.post(
        f"/v1/sessions/{session['id']}/messages",
        content=f'{{"messages": [{{"role": "user", "content": "fine"}}, {message}]}}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 422, answer.text
    assert field in [error["field"] for error in answer.json()["errors"]]
    assert await read_messages(alice, session) == []
    assert (await read_session(alice, session))["message_count"] == 0


@pytest.mark.parametrize("messages", [[], [said("x")] * 201, [said("x" * 100_001)]])
async def test_what_is_too_much_is_refused(client: MakeClient, messages: list[object]) -> None:
    alice = await client()
    session = await open_session(alice)
    answer = await alice.post(f"/v1/sessions/{session['id']}/messages", json={"messages": messages})
    assert answer.status_code == 422


@pytest.mark.timeout(300)  # processes start
async def test_a_hundred_appends_from_several_processes_are_all_kept_in_one_order(
    wiring: Wiring,
    settings: Settings,
    scope: MakeScope,
    client: MakeClient,
    tenant: str,
) -> None:
    alice = await client("alice")
    session = await open_session(alice, window=5)
    user = await scope("alice")
    environment = {
        "PATH": os.environ["PATH"],
        "CAIRN_DEFAULT_SCOPES": "sessions",
        **{f"CAIRN_{name.upper()}": getattr(settings, name).get_secret_value() for name in SECRETS},
    }
    arguments = [tenant, user.usr.hex, session["id"], str(APPENDS // PROCESSES)]
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.sessions.appending",
            *arguments,
            str(number),
            env=environment,
            cwd=Path(__file__).parents[2],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(PROCESSES)
    ]
    for process in running:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(process.communicate(b"go\n") for process in running))
    assert [process.returncode for process in running] == [0] * PROCESSES
    acknowledged = {line for output, _ in outputs for line in output.decode().splitlines()}
    record = await read_messages(alice, session)
    assert [message["seq"] for message in record] == list(range(1, APPENDS + 1))
    assert {f"{message['seq']} {message['content']}" for message in record} == acknowledged
    assert len(acknowledged) == APPENDS
    # The hot copy, the record and the kept summary tell the same.
    view = await the(wiring, Sessions).view(user, parse("ses", session["id"]))
    assert [show("msg", message.id) for message in view.window] == [message["id"] for message in record[-5:]]


async def test_a_repeated_append_has_one_effect_and_the_first_answer(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    path, body = f"/v1/sessions/{session['id']}/messages", {"messages": [said("once")]}
    first = await alice.post(path, json=body, headers={"Idempotency-Key": "k"})
    again = await alice.post(path, json=body, headers={"Idempotency-Key": "k"})
    other = await alice.post(path, json={"messages": [said("twice")]}, headers={"Idempotency-Key": "k"})
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.json()["code"] == "idempotency_mismatch"
    assert [message["content"] for message in await read_messages(alice, session)] == ["once"]


async def test_of_concurrent_twins_one_appends_and_all_get_its_answer(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    path, body = f"/v1/sessions/{session['id']}/messages", {"messages": [said("a"), said("b")]}
    answers = await asyncio.gather(
        *(alice.post(path, json=body, headers={"Idempotency-Key": "twin"}) for _ in range(10)),
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert [message["content"] for message in await read_messages(alice, session)] == ["a", "b"]


async def test_a_refused_append_is_refused_again_under_its_key(client: MakeClient) -> None:
    alice = await client()
    path = f"/v1/sessions/{show('ses', uuid7())}/messages"
    answers = [
        await alice.post(path, json={"messages": [said("x")]}, headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[1].headers["Idempotent-Replayed"] == "true"
