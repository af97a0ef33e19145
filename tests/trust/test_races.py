"""Races over HTTP, through several processes of the API: one winner, one order, nothing lost."""

import asyncio
from contextlib import AsyncExitStack

import httpx
import pytest

from tests.trust.connections import connected
from tests.trust.running import MODULE_TIMEOUT_S, Running

WRITERS = 10
APPENDS = 100
PAGE = 30

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


async def test_of_ten_conditional_writes_one_wins_and_nine_are_told_the_version(up: Running, tenant: str) -> None:
    async with AsyncExitStack() as stack:
        clients = await connected(stack, up, tenant, WRITERS)
        path = "/v1/preferences/language"
        created = await clients[0].put(path, json={"value": "none"}, headers={"If-None-Match": "*"})
        assert created.headers["ETag"] == '"1"'
        answers = await asyncio.gather(
            *(
                client.put(path, json={"value": f"writer {number}"}, headers={"If-Match": '"1"'})
                for number, client in enumerate(clients)
            )
        )
        won = [number for number, answer in enumerate(answers) if answer.status_code == 200]
        lost = [answer for answer in answers if answer.status_code == 412]
        assert (len(won), len(lost)) == (1, WRITERS - 1)
        assert {answer.json()["current_version"] for answer in lost} == {2}
        assert {answer.json()["code"] for answer in lost} == {"stale_version"}
        assert {answer.headers["ETag"] for answer in lost} == {'"2"'}
        kept = (await clients[0].get(path)).json()
        assert (kept["value"], kept["version"]) == (f"writer {won[0]}", 2)
        versions = (await clients[1].get(f"{path}/history")).json()["items"]
        assert [each["version"] for each in versions] == [2, 1]


async def test_of_ten_creations_of_one_key_one_wins(up: Running, tenant: str) -> None:
    async with AsyncExitStack() as stack:
        clients = await connected(stack, up, tenant, WRITERS)
        answers = await asyncio.gather(
            *(
                client.put("/v1/preferences/new", json={"value": number}, headers={"If-None-Match": "*"})
                for number, client in enumerate(clients)
            )
        )
        assert sorted(answer.status_code for answer in answers) == [201] + [412] * (WRITERS - 1)


async def test_a_hundred_appends_at_once_are_all_kept_in_one_order(up: Running, tenant: str) -> None:
    async with AsyncExitStack() as stack:
        clients = await connected(stack, up, tenant, APPENDS)
        session_id = (await clients[0].post("/v1/sessions", json={})).json()["id"]
        path = f"/v1/sessions/{session_id}/messages"

        async def append(number: int, client: httpx.AsyncClient) -> dict[int, str]:
            """Send two messages, which stay together; return where they stand."""
            texts = [f"{number} first", f"{number} second"]
            body = {"messages": [{"role": "user", "content": text} for text in texts]}
            answer = await client.post(path, json=body)
            assert answer.status_code == 201, answer.text
            numbers = [message["seq"] for message in answer.json()["messages"]]
            assert numbers[1] == numbers[0] + 1
            return dict(zip(numbers, texts, strict=True))

        told: dict[int, str] = {}
        for stood in await asyncio.gather(*(append(number, client) for number, client in enumerate(clients))):
            told |= stood
        assert sorted(told) == list(range(1, 2 * APPENDS + 1))
        first, second = await asyncio.gather(pages(clients[0], path), pages(clients[-1], path))
        assert first == second == sorted(told.items(), reverse=True)
        session = (await clients[1].get(f"/v1/sessions/{session_id}")).json()
        assert session["message_count"] == 2 * APPENDS


async def pages(client: httpx.AsyncClient, path: str) -> list[tuple[int, str]]:
    """Return the whole record as one reader pages through it, newest first."""
    found: list[tuple[int, str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get(path, params={"limit": PAGE, **cursor})).json()
        found += [(item["seq"], item["content"]) for item in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


async def test_ten_twins_of_one_request_have_one_effect(up: Running, tenant: str) -> None:
    async with AsyncExitStack() as stack:
        clients = await connected(stack, up, tenant, WRITERS)
        session_id = (await clients[0].post("/v1/sessions", json={})).json()["id"]
        body = {"messages": [{"role": "user", "content": "said once"}]}
        answers = await asyncio.gather(
            *(
                client.post(f"/v1/sessions/{session_id}/messages", json=body, headers={"Idempotency-Key": "twin"})
                for client in clients
            )
        )
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.content for answer in answers}) == 1
        assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
        record = (await clients[0].get(f"/v1/sessions/{session_id}/messages")).json()["items"]
        assert [item["seq"] for item in record] == [1]
