"""Facts: added, read, changed after the version that was read, deleted for good; each version says who said it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import MakeClient
from tests.memories.facts import add, delete, put

FIRST = {"If-Match": '"1"'}


async def test_a_fact_is_kept_as_it_was_said(client: MakeClient) -> None:
    alice = await client()
    session = (await alice.post("/v1/sessions", json={})).json()["id"]
    said = {"messages": [{"role": "user", "content": "My cat is called Quetzal."}]}
    message = (await alice.post(f"/v1/sessions/{session}/messages", json=said)).json()["messages"][0]["id"]
    body = {
        "text": "The user's cat is called Quetzal. 猫叫Quetzal。",
        "source": "inferred",
        "confidence": 0.8,
        "evidence": {"kind": "message", "id": message},
        "metadata": {"topic": ["cats"]},
        "expires_at": (datetime.now(UTC) + timedelta(days=30)).isoformat(),
    }
    added = await alice.post("/v1/memories", json=body)
    assert (added.status_code, added.headers["etag"]) == (201, '"1"')
    assert added.headers["location"] == f"/v1/memories/{added.json()['id']}"
    read = await alice.get(added.headers["location"])
    assert (read.status_code, read.headers["etag"]) == (200, '"1"')
    shown = read.json()
    assert added.json().items() <= shown.items()
    beside = {"snapshot", "changes_since", "superseded"}
    assert (shown.keys() - added.json().keys(), shown["changes_since"]) == (beside, 0)
    assert {name: shown[name] for name in ("text", "source", "confidence", "evidence", "metadata")} == {
        name: body[name] for name in ("text", "source", "confidence", "evidence", "metadata")
    }
    assert (shown["state"], shown["trust"], shown["version"]) == ("kept", "inferred", 1)
    unchanged = await alice.get(added.headers["location"], headers={"If-None-Match": '"1"'})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


async def test_a_fact_that_nobody_is_said_to_have_said_is_inferred(client: MakeClient) -> None:
    alice = await client()
    trusts = [(await add(alice, "Likes tea."))["trust"]]
    trusts += [(await add(alice, "Likes tea.", source=source))["trust"] for source in ("explicit", "imported")]
    assert trusts == ["inferred", "explicit", "imported"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": " \n\t"}, "text"),
        ({"text": "x" * 8_001}, "text"),
        ({"text": "nul \x00"}, "text"),
        ({"text": 5}, "text"),
        ({"text": "x", "source": "operator"}, "source"),
        ({"text": "x", "confidence": 1.5}, "confidence"),
        ({"text": "x", "source": "explicit", "confidence": 0.5}, "confidence"),
        ({"text": "x", "evidence": {"kind": "message", "id": "doc_" + "0" * 32}}, "evidence"),
        ({"text": "x", "evidence": "msg_" + "0" * 32}, "evidence"),
        ({"text": "x", "metadata": {"a": "b" * 20_000}}, "metadata"),
        ({"text": "x", "metadata": ["a"]}, "metadata"),
        ({"text": "x", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"text": "x", "expires_at": "tomorrow"}, "expires_at"),
        ({"text": "x", "user_id": "bob"}, "user_id"),
    ],
)
async def test_what_is_no_fact_is_refused_by_its_field(client: MakeClient, body: dict[str, object], field: str) -> None:
    alice = await client()
    answer = await alice.post("/v1/memories", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert [error["field"].partition(".")[0] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("kind", ["message", "document"])
async def test_evidence_that_is_not_the_users_own_is_refused(client: MakeClient, kind: str) -> None:
    alice, bob = await client("alice"), await client("bob")
    session = (await bob.post("/v1/sessions", json={})).json()["id"]
    said = {"messages": [{"role": "user", "content": "I like tea."}]}
    message = (await bob.post(f"/v1/sessions/{session}/messages", json=said)).json()["messages"][0]["id"]
    document = (await bob.post("/v1/knowledge/documents", json={"text": "Tea.", "doc_type": "note"})).json()["id"]
    evidence = {"kind": kind, "id": message if kind == "message" else document}
    memory = await add(alice, "Likes tea.")
    body = {"text": "Likes tea a lot.", "evidence": evidence}
    answers = [
        await alice.post("/v1/memories", json=body),
        await alice.put(f"/v1/memories/{memory['id']}", json=body, headers=FIRST),
    ]
    for answer in answers:
        assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, ["evidence"])
    assert (await alice.get(f"/v1/memories/{memory['id']}")).json()["version"] == 1
    assert (await bob.post("/v1/memories", json=body)).status_code == 201


async def test_a_change_needs_the_version_that_was_read(client: MakeClient) -> None:
    alice = await client()
    memory = await add(alice, "Lives in Bern.")
    path = f"/v1/memories/{memory['id']}"
    changed = await alice.put(path, json={"text": "Lives in Basel."}, headers=FIRST)
    assert (changed.status_code, changed.headers["etag"], changed.json()["text"]) == (200, '"2"', "Lives in Basel.")
    for method, body in (("PUT", {"text": "Lives in Chur."}), ("DELETE", None)):
        blind = await alice.request(method, path, json=body)
        stale = await alice.request(method, path, json=body, headers=FIRST)
        any_version = await alice.request(method, path, json=body, headers={"If-Match": "*"})
        new = await alice.request(method, path, json=body, headers={"If-None-Match": "*"})
        assert [answer.status_code for answer in (blind, stale, any_version, new)] == [428, 412, 422, 412]
        assert (stale.headers["etag"], stale.json()["current_version"]) == ('"2"', 2)
    assert (await alice.get(path)).json()["text"] == "Lives in Basel."


async def test_of_ten_writers_at_once_one_wins(client: MakeClient) -> None:
    alice = await client()
    memory = await add(alice, "Lives in Bern.")
    path = f"/v1/memories/{memory['id']}"
    answers = await asyncio.gather(
        *(alice.put(path, json={"text": f"Lives in {number}."}, headers=FIRST) for number in range(10)),
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 9
    won = next(answer.json() for answer in answers if answer.status_code == 200)
    assert won.items() <= (await alice.get(path)).json().items()
    history = (await alice.get(f"{path}/history")).json()["items"]
    assert [entry["version"] for entry in history] == [2, 1]


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("explicit", "inferred", 409),
        ("explicit", "imported", 409),
        ("imported", "inferred", 409),
        ("inferred", "imported", 200),
        ("imported", "explicit", 200),
        ("explicit", "explicit", 200),
    ],
)
async def test_what_is_less_trusted_never_replaces_what_is_more(
    client: MakeClient, before: str, after: str, status: int
) -> None:
    alice = await client()
    memory = await add(alice, "Likes nuts.", source=before)
    path = f"/v1/memories/{memory['id']}"
    answer = await alice.put(path, json={"text": "Eats nuts.", "source": after}, headers=FIRST)
    assert answer.status_code == status, answer.text
    kept = (await alice.get(path)).json()
    assert (kept["text"], kept["trust"]) == (("Eats nuts.", after) if status == 200 else (memory["text"], before))


@pytest.mark.parametrize("text", ["Is allergic to nuts.", "用户患有糖尿病。", "Her little son likes cars."])
async def test_what_is_sensitive_is_never_inferred(client: MakeClient, text: str) -> None:
    alice = await client()
    for body in ({"text": text, "source": "inferred"}, {"text": text}):
        answer = await alice.post("/v1/memories", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "sensitive_category")
    memory = await add(alice, "Likes nuts.", source="inferred")
    path = f"/v1/memories/{memory['id']}"
    assert (await alice.put(path, json={"text": text}, headers=FIRST)).status_code == 403
    said = await alice.put(path, json={"text": text, "source": "explicit"}, headers=FIRST)
    assert (said.status_code, said.json()["text"]) == (200, text)


async def test_the_history_says_who_wrote_what_page_by_page(client: MakeClient) -> None:
    alice = await client()
    through = await client(agent="secretary")
    memory = await add(alice, "Version 1.", source="inferred", metadata={"n": 1})
    for number in range(2, 6):
        memory = await put(through, memory, f"Version {number}.", source="explicit")
    path = f"/v1/memories/{memory['id']}/history"
    pages, cursor = [], None
    while True:
        page = (await alice.get(path, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        assert page["snapshot"].startswith("snp_")
        pages.append(page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [len(page) for page in pages] == [2, 2, 1]
    entries = [entry for page in pages for entry in page]
    assert [(entry["version"], entry["text"], entry["written_through"]) for entry in entries] == [
        *((number, f"Version {number}.", "secretary") for number in range(5, 1, -1)),
        (1, "Version 1.", None),
    ]
    assert (entries[-1]["metadata"], entries[-1]["trust"], entries[-1]["written_by"]) == ({"n": 1}, "inferred", "user")


async def test_a_deleted_fact_is_gone_from_every_version_and_leaves_a_stub(client: MakeClient) -> None:
    alice = await client()
    memory = await put(alice, await add(alice, "The first secret.", metadata={"m": "secret"}), "The second secret.")
    path = f"/v1/memories/{memory['id']}"
    deleted = await alice.delete(path, headers={"If-Match": '"2"'})
    assert (deleted.status_code, deleted.headers["etag"], deleted.content) == (204, '"3"', b"")
    gone = await alice.get(path)
    assert (gone.status_code, gone.json()["code"], gone.headers["etag"]) == (404, "not_found", '"3"')
    assert (gone.json()["detail"], gone.json()["current_version"]) == ("it was deleted", 3)
    history = await alice.get(f"{path}/history")
    assert [(entry["state"], entry["text"], entry["metadata"]) for entry in history.json()["items"]] == [
        ("deleted", None, {}),
        ("erased", None, {}),
        ("erased", None, {}),
    ]
    assert "secret" not in history.text
    for version in ('"2"', '"3"'):
        again = await alice.put(path, json={"text": "Back."}, headers={"If-Match": version})
        assert again.status_code == 404
        assert (await alice.delete(path, headers={"If-Match": version})).status_code == 404


async def test_a_repeated_request_has_one_effect(client: MakeClient) -> None:
    alice = await client()
    key = {"Idempotency-Key": "k"}
    first = await alice.post("/v1/memories", json={"text": "Likes tea."}, headers=key)
    again = await alice.post("/v1/memories", json={"text": "Likes tea."}, headers=key)
    other = await alice.post("/v1/memories", json={"text": "Likes milk."}, headers=key)
    assert (again.status_code, again.json(), again.headers["location"]) == (
        201,
        first.json(),
        first.headers["location"],
    )
    assert (again.headers["idempotent-replayed"], other.status_code) == ("true", 422)
    path = first.headers["location"]
    for method, body, headers in (("PUT", {"text": "Likes rum."}, FIRST), ("DELETE", None, {"If-Match": '"2"'})):
        answers = [await alice.request(method, path, json=body, headers={**headers, **key}) for _ in range(2)]
        assert [answer.is_success for answer in answers] == [True, True]
        assert answers[0].headers["etag"] == answers[1].headers["etag"]
    # What is deleted isn't shown by a kept answer either.
    late = await alice.post("/v1/memories", json={"text": "Likes tea."}, headers=key)
    assert (late.status_code, late.json()["code"]) == (404, "not_found")


async def test_a_fact_of_someone_else_is_not_there(client: MakeClient) -> None:
    alice, bob, elsewhere = await client("alice"), await client("bob"), await client("alice", "another-tenant")
    memory = await add(alice, "Lives in Bern.")
    path = f"/v1/memories/{memory['id']}"
    for other in (bob, elsewhere):
        answers = [
            await other.get(path),
            await other.get(f"{path}/history"),
            await other.put(path, json={"text": "x"}, headers=FIRST),
            await other.delete(path, headers=FIRST),
        ]
        never = await other.get("/v1/memories/mem_" + "0" * 32)
        assert {answer.status_code for answer in answers} == {404}
        assert {answer.json()["title"] for answer in answers} == {never.json()["title"]}
    assert memory.items() <= (await alice.get(path)).json().items()
    for text in ("mem_1", "msg_" + "0" * 32, "x"):
        assert (await alice.get(f"/v1/memories/{text}")).status_code == 404


async def test_the_scopes_of_facts(client: MakeClient) -> None:
    alice = await client()
    memory = await add(alice, "Lives in Bern.")
    path = f"/v1/memories/{memory['id']}"
    reader, writer = await client(scope="memories:read"), await client(scope="memories:write")
    none = await client(scope="preferences sessions")
    assert (await reader.get(path)).status_code == 200
    assert (await reader.delete(path, headers=FIRST)).json()["scope"] == "memories:write"
    assert (await writer.get(path)).json()["scope"] == "memories:read"
    assert (await writer.put(path, json={"text": "Lives in Basel."}, headers=FIRST)).status_code == 200
    for answer in (await none.get(path), await none.post("/v1/memories", json={"text": "x"})):
        assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")


async def test_a_fact_is_read_as_it_was_at_a_snapshot_or_a_time(client: MakeClient) -> None:
    """Each change of a fact is a change of user memory, which a snapshot tells apart."""
    alice = await client()
    before = (await alice.get("/v1/preferences")).json()["snapshot"]
    first = await add(alice, "Lives in Bern.")
    path = f"/v1/memories/{first['id']}"
    then = (await alice.get(path)).json()["snapshot"]
    second = await put(alice, first, "Lives in Basel.")
    moments: list[dict[str, str]] = [{"snapshot": then}, {"as_of": first["updated_at"]}]
    for moment in moments:
        past = (await alice.get(path, params=moment)).json()
        assert (past["text"], past["version"], past["changes_since"], past["snapshot"]) == (
            "Lives in Bern.",
            1,
            1,
            then,
        )
    assert (await alice.get(path, params={"as_of": second["updated_at"]})).json()["text"] == "Lives in Basel."
    assert (await alice.get(path, params={"snapshot": before})).status_code == 404
    await delete(alice, second)
    for moment in moments:
        erased = await alice.get(path, params=moment, headers={"If-None-Match": '"1"'})
        assert (erased.status_code, erased.json()["state"], erased.json()["text"]) == (200, "erased", None)
    assert (await alice.get(path, params={"snapshot": "snp_1_0"})).status_code == 422
