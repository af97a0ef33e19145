"""What was acknowledged stays: whichever process is killed, and whatever becomes of the hot copy in Redis."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from redis import Redis

from tests.trust.running import (
    API_PROCESSES,
    GONE_WITHIN_S,
    MODULE_TIMEOUT_S,
    Installation,
    Running,
    becomes_true,
    is_alive,
)

# One user's documents are ingested one after the other: the first is long enough to be interrupted, the others wait.
PARAGRAPHS = (400, 30, 30, 30)
INGESTED_WITHIN_S = 90.0
SETTLED_WITHIN_S = 30.0
APPENDS = 60
CONNECTIONS = 10

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)

Answer = dict[str, Any]  # Any: JSON of the API


def document(number: int) -> str:
    """Return a text with words that no other has."""
    return "\n\n".join(
        f"Paragraph {each} of handbook {number} tells of item {each * 7919 % 1000} and the word marker{number}x{each}."
        for each in range(PARAGRAPHS[number])
    )


def statuses(client: httpx.Client, ids: Sequence[str]) -> list[str]:
    return [client.get(f"/v1/knowledge/documents/{each}").json()["status"] for each in ids]


def test_a_worker_killed_in_the_middle_of_ingestion_loses_nothing(
    installation: Installation, up: Running, tenant: str
) -> None:
    with up.client("alice", tenant) as alice:
        ids = [
            alice.post("/v1/knowledge/documents", json={"text": document(each), "doc_type": "handbook"}).json()["id"]
            for each in range(len(PARAGRAPHS))
        ]
        assert becomes_true(lambda: "processing" in statuses(alice, ids), INGESTED_WITHIN_S)
        up.tree()
        up.child("worker").kill()
        assert "ready" not in statuses(alice, ids[1:]), "nothing was in the middle of anything"
    assert up.await_end() == 1
    assert "worker ended with status -9" in up.text()
    with installation.start().client("alice", tenant) as alice:
        assert becomes_true(lambda: statuses(alice, ids) == ["ready"] * len(ids), INGESTED_WITHIN_S), statuses(
            alice, ids
        )
        for number, (each, paragraphs) in enumerate(zip(ids, PARAGRAPHS, strict=True)):
            query = {"query": f"marker{number}x{paragraphs - 1}", "mode": "lexical", "top_k": 1}
            assert [hit["document_id"] for hit in search(alice, query)] == [each]


def search(client: httpx.Client, query: Answer) -> list[Answer]:
    found: list[Answer] = client.post("/v1/knowledge/search", json=query).json()["hits"]
    return found


def test_an_api_killed_alone_leaves_no_process_behind_and_loses_nothing(
    installation: Installation, up: Running, tenant: str, request: pytest.FixtureRequest
) -> None:
    """Its processes with it, while many write: test_kills.py."""
    if not request.config.getoption("--long"):
        pytest.skip("takes half a minute: test_kills.py kills the API in the short form (`make trust` runs this too)")
    with up.client("alice", tenant) as alice:
        session_id = alice.post("/v1/sessions", json={}).json()["id"]
        acknowledged = [append(alice, session_id, f"message {each}") for each in range(APPENDS)]
        processes = up.tree()
        orphans = up.api_processes()
        assert len(orphans) > 1
        up.child("serve").kill()
    assert becomes_true(lambda: not any(map(is_alive, orphans)), GONE_WITHIN_S), [each.cmdline() for each in orphans]
    assert up.await_end() == 1
    assert "serve ended with status -9" in up.text()
    assert becomes_true(lambda: not any(map(is_alive, processes)), GONE_WITHIN_S)
    assert up.ready_status() is None
    with installation.start().client("alice", tenant) as alice:
        assert record(alice, session_id) == [(each, f"message {each - 1}") for each in range(1, APPENDS + 1)]
        assert acknowledged == list(range(1, APPENDS + 1))
        assert append(alice, session_id, "and on") == APPENDS + 1


def append(client: httpx.Client, session_id: str, content: str) -> int:
    body = {"messages": [{"role": "user", "content": content}]}
    answer = client.post(f"/v1/sessions/{session_id}/messages", json=body)
    assert answer.status_code == 201, answer.text
    seq: int = answer.json()["messages"][0]["seq"]
    return seq


def record(client: httpx.Client, session_id: str) -> list[tuple[int, str]]:
    """Return the whole record, oldest first."""
    found: list[tuple[int, str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get(f"/v1/sessions/{session_id}/messages", params={"limit": 200, **cursor}).json()
        found += [(item["seq"], item["content"]) for item in page["items"]]
        if page["next_cursor"] is None:
            return found[::-1]
        cursor = {"cursor": page["next_cursor"]}


def test_a_session_reads_the_same_after_redis_was_emptied(installation: Installation, up: Running, tenant: str) -> None:
    redis = Redis.from_url(installation.environment()["CAIRN_REDIS_URL"])
    with up.client("alice", tenant) as alice:
        session_id = alice.post("/v1/sessions", json={"title": "a trip"}).json()["id"]
        for each in range(30):
            append(alice, session_id, f"I never eat nuts on day {each}." if each % 10 == 3 else f"Day {each}: a walk.")
        before = settled(alice, session_id)
        assert redis.dbsize() > 0
        redis.flushall()
        assert redis.dbsize() == 0
        assert reading(alice, session_id) == before
        assert reading(alice, session_id) == before  # from what the first reading may have put back
        assert append(alice, session_id, "Day 30: home.") == 31
        redis.flushall()
        assert reading(alice, session_id)[1][0]["content"] == "Day 30: home."
    redis.close()


def reading(client: httpx.Client, session_id: str) -> tuple[Answer, list[Answer], Answer]:
    """Return the session, its messages and a context of it, as they read now."""
    session = client.get(f"/v1/sessions/{session_id}").json()
    messages = client.get(f"/v1/sessions/{session_id}/messages").json()["items"]
    question = {"session_id": session_id, "query": "What may I eat?", "budget_tokens": 2_000}
    assembled = client.post("/v1/context", json=question)
    assert assembled.status_code == 200, assembled.text
    context = {name: value for name, value in assembled.json().items() if name != "context_id"}
    return session, messages, context


def settled(client: httpx.Client, session_id: str) -> tuple[Answer, list[Answer], Answer]:
    """Return what a session reads like once its summary is made and its messages are indexed."""

    def is_indexed() -> bool:
        found = client.post("/v1/recall", json={"query": "nuts"}).json()
        return bool(found["index"]["pending"] == 0)

    assert becomes_true(is_indexed, SETTLED_WITHIN_S)
    last = reading(client, session_id)

    def is_still() -> bool:
        nonlocal last
        before, last = last, reading(client, session_id)
        return before == last

    assert becomes_true(is_still, SETTLED_WITHIN_S)
    assert last[0]["summary"]
    assert "nuts" in last[2]["prompt"]
    return last


def test_a_dead_api_process_is_replaced(up: Running, tenant: str) -> None:
    """One of several may die: the others serve, and another comes in its place."""
    victim = up.api_processes()[0]
    victim.kill()
    assert becomes_true(lambda: not is_alive(victim), GONE_WITHIN_S)
    assert up.ready_status() == 200

    def all_serve() -> bool:
        """Connect until each process has taken some: which one takes a connection is luck."""
        with ExitStack() as stack:
            for _ in range(CONNECTIONS):
                stack.enter_context(up.client("alice", tenant)).get("/readyz").raise_for_status()
            ports = up.client_ports()
        return len(ports) == API_PROCESSES and all(ports)

    assert becomes_true(all_serve, GONE_WITHIN_S)
