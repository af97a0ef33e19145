"""Which preferences are in force: for which agent, now, at a snapshot and as of a time; and for nobody else."""

import asyncio

import httpx
import pytest

from tests.conftest import MakeClient

ABSENT = {"If-None-Match": "*"}


async def state(caller: httpx.AsyncClient, key: str, value: object, version: int = 0, agent: str | None = None) -> None:
    """Write a value after a version, 0 for the first one."""
    answer = await caller.put(
        f"/v1/preferences/{key}",
        json={"value": value},
        params={"agent_id": agent} if agent else {},
        headers={"If-Match": f'"{version}"'} if version else ABSENT,
    )
    assert answer.is_success, answer.text


async def in_force(caller: httpx.AsyncClient, **params: str) -> dict[str, object]:
    answer = await caller.get("/v1/preferences", params=params)
    assert answer.status_code == 200, answer.text
    return {item["key"]: item["value"] for item in answer.json()["items"]}


async def test_an_agents_own_value_goes_before_the_general_one(client: MakeClient) -> None:
    writer, reviewer = await client(agent="writer"), await client(agent="reviewer")
    nobody = await client()
    await state(nobody, "language", "en")
    await state(nobody, "theme", "dark")
    await state(writer, "language", "zh-CN", agent="writer")
    assert await in_force(writer) == {"language": "zh-CN", "theme": "dark"}
    assert await in_force(writer, agent_id="writer") == {"language": "zh-CN", "theme": "dark"}
    assert await in_force(reviewer) == {"language": "en", "theme": "dark"}
    assert await in_force(nobody) == {"language": "en", "theme": "dark"}
    general = await writer.get("/v1/preferences/language")
    own = await writer.get("/v1/preferences/language", params={"agent_id": "writer"})
    assert [(answer.json()["value"], answer.json()["agent_id"]) for answer in (general, own)] == [
        ("en", None),
        ("zh-CN", "writer"),
    ]


async def test_without_its_own_value_an_agent_is_back_at_the_general_one(client: MakeClient) -> None:
    writer = await client(agent="writer")
    await state(writer, "language", "en")
    await state(writer, "language", "zh-CN", agent="writer")
    await writer.delete("/v1/preferences/language", params={"agent_id": "writer"}, headers={"If-Match": '"1"'})
    assert await in_force(writer) == {"language": "en"}


@pytest.mark.parametrize("claims", [{"agent": "reviewer"}, {}], ids=["by another agent", "by none"])
async def test_another_agents_value_is_not_there(client: MakeClient, claims: dict[str, str]) -> None:
    writer, other = await client(agent="writer"), await client(**claims)
    await state(writer, "language", "zh-CN", agent="writer")
    path, named = "/v1/preferences/language", {"agent_id": "writer"}
    version = {"If-Match": '"1"'}
    answers = [
        await other.get("/v1/preferences", params=named),
        await other.get(path, params=named),
        await other.get(f"{path}/history", params=named),
        await other.put(path, params=named, json={"value": 1}, headers=version),
        await other.put(
            "/v1/preferences",
            params=named,
            json={"items": [{"key": "language", "value": 1, "version": 1}]},
        ),
        await other.delete(path, params=named, headers=version),
        await other.post(f"{path}/rollback", params=named, json={"to_version": 1}, headers=version),
    ]
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert await in_force(other) == {}


async def test_a_snapshot_does_not_change(client: MakeClient) -> None:
    alice = await client()
    await state(alice, "language", "en")
    await state(alice, "theme", "dark")
    pinned = (await alice.get("/v1/preferences")).json()
    await state(alice, "language", "zh-CN", 1)
    await state(alice, "units", "metric")
    then = (await alice.get("/v1/preferences", params={"snapshot": pinned["snapshot"]})).json()
    assert (pinned["changes_since"], then.pop("changes_since")) == (0, 2)
    assert then == {name: value for name, value in pinned.items() if name != "changes_since"}
    assert await in_force(alice) == {"language": "zh-CN", "theme": "dark", "units": "metric"}


async def test_every_snapshot_taken_among_writers_reads_the_same_later(client: MakeClient) -> None:
    alice = await client()
    await state(alice, "count", 0)
    taken: list[dict[str, object]] = []

    async def write(key: str) -> None:
        await state(alice, key, 0)
        for version in range(1, 6):
            await state(alice, key, version, version)

    async def read() -> None:
        taken.extend([(await alice.get("/v1/preferences")).json() for _ in range(10)])

    await asyncio.gather(write("a"), write("b"), write("c"), read(), read())
    for page in taken:
        then = (await alice.get("/v1/preferences", params={"snapshot": str(page["snapshot"])})).json()
        assert then | {"changes_since": 0} == page


async def test_what_was_in_force_at_a_time(client: MakeClient) -> None:
    alice = await client()
    moments = []
    for version, value in enumerate(("en", "zh-CN", "fr")):
        await state(alice, "language", value, version)
        moments.append((await alice.get("/v1/preferences/language")).json()["updated_at"])
    assert [await in_force(alice, as_of=moment) for moment in moments] == [
        {"language": "en"},
        {"language": "zh-CN"},
        {"language": "fr"},
    ]
    assert await in_force(alice, as_of="2001-01-01T00:00:00+08:00") == {}
    page = (await alice.get("/v1/preferences", params={"as_of": moments[1]})).json()
    assert await in_force(alice, snapshot=page["snapshot"]) == {"language": "zh-CN"}


async def test_one_key_is_read_as_of_a_time_and_at_a_snapshot(client: MakeClient) -> None:
    alice = await client()
    path = "/v1/preferences/language"
    empty = (await alice.get("/v1/preferences")).json()["snapshot"]
    await state(alice, "language", "en")
    first = (await alice.get(path)).json()
    await state(alice, "language", "zh-CN", 1)
    moments = ({"snapshot": first["snapshot"]}, {"as_of": first["updated_at"]})
    for moment in moments:
        then = (await alice.get(path, params=moment)).json()
        assert then == first | {"changes_since": 1}
    assert (await alice.get(path, params={"snapshot": empty})).status_code == 404
    await alice.delete(path, headers={"If-Match": '"2"'})
    for moment in moments:
        # The client has read this version: that it is erased since is news all the same.
        then = (await alice.get(path, params=moment, headers={"If-None-Match": '"1"'})).json()
        assert [then[name] for name in ("version", "state", "value", "changes_since")] == [1, "erased", None, 2]
    assert (await alice.get(path, params={"snapshot": empty})).json().get("current_version") is None


async def test_an_agents_own_value_goes_before_the_general_one_in_a_snapshot_too(client: MakeClient) -> None:
    writer, nobody = await client(agent="writer"), await client()
    await state(nobody, "language", "en")
    await state(writer, "language", "zh-CN", agent="writer")
    pinned = {"snapshot": (await writer.get("/v1/preferences")).json()["snapshot"]}
    await state(nobody, "language", "fr", 1)
    await writer.delete("/v1/preferences/language", params={"agent_id": "writer"}, headers={"If-Match": '"1"'})
    assert [await in_force(who) for who in (writer, nobody)] == [{"language": "fr"}, {"language": "fr"}]
    then = (await writer.get("/v1/preferences", params=pinned)).json()["items"]
    assert [(item["agent_id"], item["state"]) for item in then] == [("writer", "erased")]
    assert await in_force(nobody, **pinned) == {"language": "en"}


async def test_all_pages_are_of_the_snapshot_of_the_first(client: MakeClient) -> None:
    alice = await client()
    for key in ("a", "b", "c"):
        await state(alice, key, "before")
    first = (await alice.get("/v1/preferences", params={"limit": 1})).json()
    for key in ("a", "b", "c"):
        await state(alice, key, "after", 1)
    rest = {"limit": 2, "cursor": first["next_cursor"]}
    second = (await alice.get("/v1/preferences", params=rest)).json()
    assert [item["value"] for item in first["items"] + second["items"]] == ["before"] * 3
    assert (second["snapshot"], second["changes_since"]) == (first["snapshot"], 3)


async def test_another_users_snapshot_and_a_made_up_one_are_refused(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    await state(alice, "language", "zh-CN")
    await state(bob, "language", "en")
    theirs = (await alice.get("/v1/preferences")).json()["snapshot"]
    number, tag = theirs.split("_")[1:]
    for made in (theirs, f"snp_{int(number) + 1}_{tag}", "snp_1", "1", "", "snp_²_x", "x" * 500):
        answer = await bob.get("/v1/preferences", params={"snapshot": made})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "snapshot")
        assert "zh-CN" not in answer.text


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"as_of": "2026-01-01T00:00:00"}, "as_of"),
        ({"as_of": "yesterday"}, "as_of"),
        ({"as_of": "2026-01-01T00:00:00Z", "snapshot": "snp_1_0"}, "as_of"),
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"cursor": "made-up"}, "cursor"),
        ({"agent": "writer"}, "agent"),
    ],
)
async def test_a_question_that_is_not_valid_is_refused(client: MakeClient, params: dict[str, str], field: str) -> None:
    alice = await client()
    answer = await alice.get("/v1/preferences", params=params)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


async def test_a_list_is_read_page_by_page(client: MakeClient) -> None:
    writer = await client(agent="writer")
    for number in range(5):
        await state(writer, f"key-{number}", number)
    await state(writer, "key-3", "own", agent="writer")
    seen: dict[str, object] = {}
    params: dict[str, str] = {"limit": "2"}
    pages = 0
    while True:
        page = (await writer.get("/v1/preferences", params=params)).json()
        seen |= {item["key"]: item["value"] for item in page["items"]}
        pages += 1
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert pages == 3
    assert seen == {"key-0": 0, "key-1": 1, "key-2": 2, "key-3": "own", "key-4": 4}


async def test_a_history_is_read_page_by_page(client: MakeClient) -> None:
    alice = await client()
    for version in range(4):
        await state(alice, "language", version, version)
    first = (await alice.get("/v1/preferences/language/history", params={"limit": 3})).json()
    rest = {"limit": 3, "cursor": first["next_cursor"]}
    second = (await alice.get("/v1/preferences/language/history", params=rest)).json()
    assert [entry["version"] for entry in first["items"] + second["items"]] == [4, 3, 2, 1]
    assert second["next_cursor"] is None


async def test_another_user_sees_and_touches_nothing(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    await state(alice, "language", "zh-CN")
    version = {"If-Match": '"1"'}
    path = "/v1/preferences/language"
    answers = [
        await bob.get(path),
        await bob.get(f"{path}/history"),
        await bob.delete(path, headers=version),
        await bob.post(f"{path}/rollback", json={"to_version": 1}, headers=version),
    ]
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert (await bob.put(path, json={"value": "en"}, headers=version)).json()["current_version"] == 0
    assert await in_force(bob) == {}
    await state(bob, "language", "en")
    assert await in_force(alice) == {"language": "zh-CN"}


async def test_a_scope_is_needed(client: MakeClient) -> None:
    reader = await client(scope="preferences:read")
    writer = await client(scope="preferences")
    said = await writer.put("/v1/preferences/language", json={"value": "en"}, headers=ABSENT)
    assert (said.status_code, said.json()["scope"]) == (403, "preferences:explicit")
    assert (await reader.get("/v1/preferences")).status_code == 200
    assert (await reader.delete("/v1/preferences/language", headers={"If-Match": '"1"'})).status_code == 403
