"""What people come from is taken: facts and messages, in both languages, as imported, and once."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import httpx
import pytest
from langgraph.store.memory import InMemoryStore

from app.core.scope import Scope
from app.memories.model import MAX_TEXT_CHARS
from app.portability.translating import MAX_FACT_CHARS
from app.wiring import Wiring
from tests.portability.filling import Json, run_job, took

MakeScope = Callable[..., Awaitable[Scope]]
MakeClient = Callable[..., Awaitable[httpx.AsyncClient]]
Take = Callable[..., Awaitable[Json]]

OCTETS = {"Content-Type": "application/octet-stream"}
MEM0: Json = {
    "results": [
        {
            "id": "3c90c3cc-0d44-4b50-8888-8dd25736052a",
            "memory": "Prefers trains to planes",
            "hash": "8d1f",
            "metadata": {"trip": "work"},
            "categories": ["travel"],
            "created_at": "2025-11-07T05:31:56-08:00",
            "updated_at": "2025-12-01T00:00:00-08:00",
            "user_id": "alice",
        },
        {"id": "77777777-0d44-4b50-8888-8dd25736052a", "memory": "对花生过敏", "metadata": None, "user_id": "alice"},
    ]
}
LETTA: Json = {
    "agents": [
        {
            "id": "agent-0",
            "name": "concierge",
            "block_ids": ["block-0", "block-1"],
            "messages": [
                {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are a concierge."}]},
                {
                    "id": "message-1",
                    "role": "user",
                    "content": [{"type": "text", "text": '{"type": "login", "last_login": "Never"}'}],
                    "created_at": "2025-10-31T22:56:00+00:00",
                },
                {
                    "id": "message-2",
                    "role": "user",
                    "content": [{"type": "text", "text": '{"type": "user_message", "message": "Book the 海景 room."}'}],
                    "created_at": "2025-10-31T22:56:56.459100+00:00",
                },
                {
                    "id": "message-3",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "Booked.", "signature": None}],
                    "tool_calls": [
                        {"id": "call-9", "type": "function", "function": {"name": "book", "arguments": "{}"}}
                    ],
                    "created_at": "2025-10-31T22:57:01+00:00",
                },
                {"role": "tool", "content": [{"type": "text", "text": "ok"}], "tool_call_id": "call-9"},
            ],
        }
    ],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "Name: Chad. 住在杭州。", "limit": 20000},
        {"id": "block-1", "label": "persona", "value": "I am Sam."},
    ],
    "files": [],
    "sources": [],
    "tools": [{"id": "tool-0", "name": "conversation_search"}],
}
LINES = [
    {"text": "Drinks oat milk", "metadata": {"from": "notes"}, "created_at": "2025-01-02T03:04:05Z"},
    "喜欢靠窗的座位",
    {"role": "user", "content": "别给我打电话。", "created_at": "2025-01-02T03:04:05Z"},
    {"role": "assistant", "content": "好的。"},
]


@pytest.fixture
def take(wiring: Wiring, scope: MakeScope) -> Take:
    """Import a dump of alice's, with the worker's part done here; return what became of it."""

    async def imported(client: httpx.AsyncClient, data: bytes, **query: str) -> Json:
        sent = await client.post("/v1/users/me/import", content=data, headers=OCTETS, params=query)
        assert sent.status_code == 202, sent.text
        own = await scope("alice")
        await run_job(wiring, own, "import_archive", import_id=sent.json()["id"].removeprefix("imp_"))
        return took(await client.get(sent.headers["Location"]))

    return imported


async def facts(client: httpx.AsyncClient) -> dict[str, Json]:
    listed = took(await client.get("/v1/memories", params={"kind": "memory", "limit": 200}))["items"]
    read = [took(await client.get(item["href"])) for item in listed]
    assert {(each["trust"], each["source"]) for each in read} <= {("imported", "imported")}
    return {each["text"]: each for each in read}


async def said(client: httpx.AsyncClient) -> list[tuple[str, str | None]]:
    (session,) = took(await client.get("/v1/sessions"))["items"]
    messages = took(await client.get(f"/v1/sessions/{session['id']}/messages"))["items"]
    return [(each["role"], each["content"]) for each in reversed(messages)]


@pytest.mark.parametrize("form", [MEM0, MEM0["results"]], ids=["results", "a list"])
async def test_what_mem0_gives_of_a_user_becomes_facts(client: MakeClient, take: Take, form: Json) -> None:
    alice = await client("alice")
    report = await take(alice, json.dumps(form).encode())
    assert (report["source"], report["state"], report["counts"]) == ("mem0", "done", {"memories": {"taken": 2}})
    found = await facts(alice)
    trains = found["Prefers trains to planes"]
    assert trains["metadata"] == {"trip": "work", "categories": ["travel"]}
    assert trains["created_at"] == "2025-11-07T13:31:56Z"
    assert "对花生过敏" in found
    again = await take(alice, json.dumps(form).encode())
    assert again["counts"] == {"memories": {"unchanged": 2}}
    hits = took(await alice.post("/v1/recall", json={"query": "花生"}))["hits"]
    assert hits[0]["text"] == "对花生过敏"


async def test_a_letta_agent_file_becomes_facts_and_a_session(client: MakeClient, take: Take) -> None:
    alice = await client("alice")
    report = await take(alice, json.dumps(LETTA).encode())
    assert (report["source"], report["problems"]) == ("letta", [])
    assert report["counts"] == {
        "sessions": {"taken": 1},
        "messages": {"taken": 3},
        "memories": {"taken": 1},
        "persona": {"left_out": 1},
        "tools": {"left_out": 1},
        "prompts": {"left_out": 2},
    }
    assert list(await facts(alice)) == ["Name: Chad. 住在杭州。"]
    assert await said(alice) == [("user", "Book the 海景 room."), ("assistant", "Booked."), ("tool", "ok")]
    other = json.loads(json.dumps(LETTA))
    other["blocks"][0]["value"] = "Name: Eve."
    other["agents"][0]["messages"][2]["content"][0]["text"] = "Cancel it."
    again = await take(alice, json.dumps(other).encode())
    assert (again["problems"], len(await facts(alice))) == ([], 2)
    assert len(took(await alice.get("/v1/sessions"))["items"]) == 2


async def test_items_of_a_langgraph_store_become_facts(client: MakeClient, take: Take) -> None:
    store = InMemoryStore()
    store.put(("memories", "alice"), "food", {"text": "爱吃川菜", "score": 3})
    store.put(("memories", "alice"), "rules", {"max": 2, "unit": "cups"})
    dump = json.dumps([item.dict() for item in store.search(("memories",))])
    alice = await client("alice")
    report = await take(alice, dump.encode())
    assert (report["source"], report["counts"]) == ("langgraph", {"memories": {"taken": 2}})
    found = await facts(alice)
    assert found["爱吃川菜"]["metadata"] == {
        "namespace": ["memories", "alice"],
        "key": "food",
        "value": {"score": 3},
    }
    assert '{"max": 2, "unit": "cups"}' in found


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
async def test_lines_of_json_become_facts_and_messages(client: MakeClient, take: Take, ending: str) -> None:
    alice = await client("alice")
    dump = ending.join(json.dumps(line, ensure_ascii=False) for line in LINES) + ending + "not json"
    report = await take(alice, dump.encode())
    assert (report["source"], report["counts"]) == (
        "jsonl",
        {"sessions": {"taken": 1}, "messages": {"taken": 2}, "memories": {"taken": 2, "refused": 1}},
    )
    assert [(each["line"], each["reason"]) for each in report["problems"]] == [(5, "invalid")]
    assert {*await facts(alice)} == {"Drinks oat milk", "喜欢靠窗的座位"}
    assert await said(alice) == [("user", "别给我打电话。"), ("assistant", "好的。")]
    (session,) = took(await alice.get("/v1/sessions"))["items"]
    assert took(await alice.get(f"/v1/sessions/{session['id']}"))["constraints"] == ["别给我打电话。"]
    again = await take(alice, dump.encode())
    assert again["counts"]["messages"] == {"unchanged": 2}


async def test_a_text_that_is_too_long_for_a_fact_becomes_several(client: MakeClient, take: Take) -> None:
    assert MAX_FACT_CHARS == MAX_TEXT_CHARS
    alice = await client("alice")
    sentences = "".join(f"第{number}条：不要在周末开会。" for number in range(1_200))
    report = await take(alice, json.dumps([{"text": sentences}]).encode())
    assert report["counts"] == {"memories": {"taken": 3}}
    assert max(map(len, await facts(alice))) <= MAX_TEXT_CHARS
    assert sum(map(len, await facts(alice))) == len(sentences)


@pytest.mark.parametrize(
    ("dump", "query", "failure"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), {}, "unrecognised"),
        (b"17", {}, "unrecognised"),
        (b'{"results": [{"id": 1}]}', {}, "malformed"),
        (b'["a", "b"]', {"source": "mem0"}, "malformed"),
        (b"{} x", {"source": "letta"}, "malformed"),
        (
            b'{"agents": [{"messages": [{"role": "user", "content": "x"}]}], "blocks": [{"label": "human"}]}',
            {},
            "malformed",
        ),
        (b"[" * 200_000, {"source": "langgraph"}, "malformed"),
        (b" " * (17 * 1024 * 1024) + b"[]", {"source": "mem0"}, "too_large_at_once"),
    ],
    ids=["a picture", "a number", "no memory", "texts", "not json", "no value", "deep", "large"],
)
async def test_what_is_no_dump_fails_and_says_why(
    client: MakeClient, take: Take, dump: bytes, query: dict[str, str], failure: str
) -> None:
    report = await take(await client("alice"), dump, **query)
    assert (report["state"], report["failure"], report["counts"]) == ("failed", failure, {})


async def test_a_time_that_lies_ahead_or_is_none_is_the_time_of_the_import(client: MakeClient, take: Take) -> None:
    alice = await client("alice")
    ahead = {"role": "user", "content": "Later.", "created_at": "2999-01-01T00:00:00Z"}
    await take(alice, json.dumps([ahead, {"text": "Undated.", "created_at": "yesterday"}]).encode())
    (session,) = took(await alice.get("/v1/sessions"))["items"]
    (message,) = took(await alice.get(f"/v1/sessions/{session['id']}/messages"))["items"]
    assert datetime.fromisoformat(message["created_at"]) <= datetime.now(UTC)
    undated = (await facts(alice))["Undated."]
    assert datetime.fromisoformat(undated["created_at"]) <= datetime.now(UTC)
    await take(alice, json.dumps([{"text": "Undated.", "created_at": "yesterday"}]).encode())
    assert (await facts(alice))["Undated."] == undated
