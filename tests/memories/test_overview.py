"""The one list of everything remembered: every kind, the newest first, whole and without repeats whoever writes."""

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.conftest import MakeClient
from tests.memories.facts import Json, add, delete, put

ABSENT = {"If-None-Match": "*"}
KINDS = ["profile", "preference", "memory", "candidate", "document", "session"]


async def pages(client: httpx.AsyncClient, limit: int = 50, **wishes: str) -> list[Json]:
    """Return the whole list, page by page."""
    items: list[Json] = []
    cursor: str | None = None
    while True:
        parameters = {"limit": str(limit), **wishes} | ({"cursor": cursor} if cursor else {})
        answer = await client.get("/v1/memories", params=parameters)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page["items"]) <= limit
        assert page["snapshot"].startswith("snp_")
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


async def furnish(client: httpx.AsyncClient) -> None:
    """Leave something of every kind behind, the oldest first."""
    profile = {"name": "Alice", "attributes": {"城市": "伯尔尼"}}
    headers = {"Content-Type": "application/merge-patch+json", "If-Match": '"0"'}
    session = (await client.post("/v1/sessions", json={"title": "Travel plans"})).json()
    said = {"messages": [{"role": "user", "content": "The tea is ready. 茶泡好了。"}]}
    message = (await client.post(f"/v1/sessions/{session['id']}/messages", json=said)).json()["messages"][0]["id"]
    document = {"text": "A room may cost 165 euros.", "doc_type": "policy", "title": "Travel policy"}
    answers = [
        await client.patch("/v1/profile", json=profile, headers=headers),
        await client.post("/v1/knowledge/documents", json=document),
        await client.put("/v1/preferences/drink", json={"value": "茶"}, headers=ABSENT),
    ]
    assert all(answer.is_success for answer in answers), [answer.text for answer in answers]
    evidence = {"kind": "message", "id": message}
    await add(client, "Is allergic to nuts.", source="explicit", evidence=evidence)
    inferred = {"key": "drink", "value": "咖啡", "confidence": 0.5, "evidence": evidence}
    proposed = await client.post("/v1/preference-proposals", json=inferred)
    assert proposed.json()["state"] == "candidate", proposed.text


async def test_everything_is_in_the_list_and_says_where_it_is_and_by_whose_word(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    await furnish(alice)
    items = await pages(alice)
    shown = [(item["kind"], item["text"], item["source"], item["trust"]) for item in items]
    assert shown == [
        ("profile", 'name: "Alice"\n城市: "伯尔尼"', "statement", "explicit"),
        ("candidate", 'drink: "咖啡"', "proposal", "inferred"),
        ("memory", "Is allergic to nuts.", "explicit", "explicit"),
        ("preference", 'drink: "茶"', "statement", "explicit"),
        ("document", "Travel policy", "document", None),
        ("session", "Travel plans", "conversation", None),
    ]
    for item in items:
        own = await alice.get(item["href"])
        assert (own.status_code, own.json()["id"]) == (200, item["id"])
    assert [item["evidence"] is not None for item in items] == [False, True, True, False, False, False]
    assert [item["expires_at"] is not None for item in items] == [False] * 5 + [True]
    candidate = items[1]
    await alice.post(
        f"{candidate['href']}/reject", headers={"If-Match": (await alice.get(candidate["href"])).headers["etag"]}
    )
    assert [item["kind"] for item in await pages(alice)] == ["profile", "memory", "preference", "document", "session"]
    assert await pages(bob) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_pages_of_any_size_make_the_same_list(client: MakeClient, limit: int) -> None:
    alice = await client()
    for round_number in range(3):
        await add(alice, f"Fact {round_number}.")
        await alice.put(f"/v1/preferences/key-{round_number}", json={"value": 1}, headers=ABSENT)
    await furnish(alice)
    whole = await pages(alice)
    assert len(whole) == 12
    assert await pages(alice, limit) == whole
    for kind in KINDS:
        of_kind = await pages(alice, limit, kind=kind)
        assert of_kind == [item for item in whole if item["kind"] == kind]
        assert of_kind


async def test_what_is_gone_or_of_another_agent_is_not_in_the_list(client: MakeClient) -> None:
    alice = await client()
    gone, changed = await add(alice, "Gone."), await add(alice, "Before.")
    await delete(alice, gone)
    await put(alice, changed, "After.")
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    held = await add(alice, "For an hour.", expires_at=soon)
    agents = [await client(agent=name) for name in ("clerk", "bot")]
    for number, agent in enumerate(agents):
        parameters = {"agent_id": ("clerk", "bot")[number]}
        await agent.put("/v1/preferences/tone", json={"value": number}, headers=ABSENT, params=parameters)
    await alice.put("/v1/preferences/tone", json={"value": "general"}, headers=ABSENT)
    await alice.put("/v1/preferences/old", json={"value": 1}, headers=ABSENT)
    await alice.delete("/v1/preferences/old", headers={"If-Match": '"1"'})
    texts = [[item["text"] for item in await pages(each)] for each in (alice, *agents)]
    assert texts == [
        ['tone: "general"', "For an hour.", "After."],
        ['tone: "general"', "tone: 0", "For an hour.", "After."],
        ['tone: "general"', "tone: 1", "For an hour.", "After."],
    ]
    clerks = next(item for item in await pages(agents[0]) if item["text"] == "tone: 0")
    assert (await agents[0].get(clerks["href"])).json()["value"] == 0
    assert [item["expires_at"] for item in await pages(alice, kind="memory")] == [held["expires_at"], None]


async def test_a_token_sees_the_kinds_that_it_may_read_and_is_told_which(client: MakeClient) -> None:
    alice = await client()
    await furnish(alice)
    assert sorted((await alice.get("/v1/memories")).json()["kinds"]) == sorted(KINDS)
    narrow = await client(scope="memories:read knowledge:read")
    page = (await narrow.get("/v1/memories")).json()
    assert sorted(page["kinds"]) == ["candidate", "document", "memory"]
    assert [item["kind"] for item in page["items"]] == ["memory", "document"]
    refused = await narrow.get("/v1/memories", params={"kind": "profile"})
    assert (refused.status_code, refused.json()["scope"]) == (403, "profile:read")
    none = await client(scope="profile preferences")
    assert (await none.get("/v1/memories")).json()["scope"] == "memories:read"


@pytest.mark.parametrize(
    "wish", [{"kind": "secrets"}, {"limit": "0"}, {"limit": "201"}, {"cursor": "x"}, {"user": "bob"}]
)
async def test_what_the_list_does_not_know_is_refused(client: MakeClient, wish: dict[str, str]) -> None:
    alice = await client()
    answer = await alice.get("/v1/memories", params=wish)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


async def test_whoever_writes_meanwhile_what_stays_is_listed_once(client: MakeClient) -> None:
    alice = await client()
    stays: set[str] = set()
    for number in range(12):
        stays.add((await add(alice, f"Fact {number}."))["id"])
        put_one = await alice.put(f"/v1/preferences/stays-{number}", json={"value": number}, headers=ABSENT)
        stays.add(put_one.json()["id"])
        stays.add((await alice.post("/v1/sessions", json={"title": f"Session {number}"})).json()["id"])
    done = asyncio.Event()

    async def write() -> None:
        """Add, change and delete until the reader is done."""
        number = 0
        while not done.is_set():
            memory = await add(alice, "Comes and goes.")
            await alice.put(f"/v1/preferences/new-{number}", json={"value": 1}, headers=ABSENT)
            await put(alice, memory, "Changes.")
            await delete(alice, await put(alice, await add(alice, "Goes."), "Goes at once."))
            number += 1

    async def read() -> list[list[Json]]:
        try:
            return [await pages(alice, limit) for limit in (3, 5, 7)]
        finally:
            done.set()

    lists, _ = await asyncio.gather(read(), write())
    for items in lists:
        ids = [item["id"] for item in items]
        assert len(ids) == len(set(ids))
        assert stays <= set(ids)
