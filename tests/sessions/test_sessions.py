"""Sessions: made once per external id, changed and deleted under a precondition, listed, and nobody else's business."""

import asyncio

import pytest

from app.core.audit import AuditEntry
from app.core.ids import parse, show, uuid7
from app.infra.summarisers.port import Summary
from app.sessions import store
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope
from tests.sessions.talk import append, open_session, read_messages, read_session, recall, said


async def test_a_new_session_has_the_defaults(client: MakeClient) -> None:
    alice = await client(agent="helpdesk")
    answer = await alice.post("/v1/sessions", json={})
    session = answer.json()
    assert answer.status_code == 201
    assert answer.headers["ETag"] == '"1"'
    assert answer.headers["Location"] == f"/v1/sessions/{session['id']}"
    assert (session["window"], session["ttl_seconds"], session["message_count"]) == (20, 86_400, 0)
    assert (session["summary"], session["constraints"], session["metadata"]) == ("", [], {})
    assert session["agent"] == "helpdesk"
    assert session["expires_at"] > session["created_at"]
    assert await read_session(alice, session) == {**session, "superseded": []}


async def test_an_external_id_names_one_session_however_many_ask_at_once(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    wishes = {"external_id": "thread-7 线程", "title": "first"}
    answers = await asyncio.gather(*(alice.post("/v1/sessions", json=wishes) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    later = await alice.post("/v1/sessions", json={"external_id": "thread-7 线程", "title": "second"})
    assert (later.status_code, later.json()["title"]) == (200, "first")
    assert (await open_session(bob, **wishes))["id"] != later.json()["id"]


async def test_an_answer_that_is_kept_shows_nothing_of_a_message_that_is_being_deleted(
    client: MakeClient, wiring: Wiring, scope: MakeScope
) -> None:
    alice, caller = await client(), await scope("alice")
    session = await open_session(alice, external_id="thread")
    [message] = await append(alice, session, said("Never use tables."))
    ses, entry = parse("ses", session["id"]), AuditEntry("delete", "message", parse("msg", message["id"]))

    async def opened() -> str:
        answer = await alice.post("/v1/sessions", json={"external_id": "thread"}, headers={"Idempotency-Key": "k"})
        return answer.text

    async with wiring.db.write(caller) as tx:
        await store.lock_session(tx, ses)
        await store.delete_message(tx, parse("msg", message["id"]), entry)
        await store.shrink_session(tx, ses, Summary(), entry)
        await tx.forget_answers(ses, entry)
        opening = asyncio.create_task(opened())
        # It waits for this transaction, or it is done by now and has kept what nobody will forget.
        await asyncio.wait({opening}, timeout=1)
    assert "tables" not in await opening
    assert "tables" not in await opened()


async def test_a_repeated_creation_makes_one_session(client: MakeClient) -> None:
    alice = await client()
    answers = [await alice.post("/v1/sessions", json={}, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["ETag"] == '"1"'
    assert len((await alice.get("/v1/sessions")).json()["items"]) == 1


@pytest.mark.parametrize(
    ("wishes", "field"),
    [
        ({"window": 0}, "window"),
        ({"window": 201}, "window"),
        ({"window": "20"}, "window"),
        ({"ttl_seconds": 59}, "ttl_seconds"),
        ({"title": "x" * 201}, "title"),
        ({"external_id": ""}, "external_id"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"x": "y" * 20_000}}, "metadata"),
        ({"owner": "bob"}, "owner"),
    ],
)
async def test_a_wish_that_cannot_be_kept_is_refused(client: MakeClient, wishes: object, field: str) -> None:
    answer = await (await client()).post("/v1/sessions", json=wishes)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


async def test_a_session_is_changed_under_its_current_version_only(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice, title="old", metadata={"a": 1})
    path = f"/v1/sessions/{session['id']}"
    assert (await alice.patch(path, json={"title": "new"})).status_code == 428
    changed = await alice.patch(path, json={"title": "new", "window": 7}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    assert (changed.json()["title"], changed.json()["window"], changed.json()["metadata"]) == ("new", 7, {"a": 1})
    stale = await alice.patch(path, json={"title": "stale"}, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["current_version"], stale.headers["ETag"]) == (412, 2, '"2"')
    any_version = await alice.patch(path, json={"title": None, "ttl_seconds": 120}, headers={"If-Match": "*"})
    assert (any_version.status_code, any_version.json()["title"]) == (200, None)
    assert any_version.json()["expires_at"] < session["expires_at"]
    nothing = await alice.patch(path, json={}, headers={"If-Match": "*"})
    none_match = await alice.patch(path, json={"title": "x"}, headers={"If-None-Match": "*"})
    assert (nothing.status_code, none_match.status_code) == (422, 412)


async def test_a_session_is_pinned_and_found_by_it(client: MakeClient) -> None:
    alice = await client()
    made = [await open_session(alice, title=str(number)) for number in range(5)]
    assert [session["pinned"] for session in made] == [False] * 5
    for session in (made[1], made[3]):
        path = f"/v1/sessions/{session['id']}"
        assert (await alice.patch(path, json={"pinned": True})).status_code == 428
        pinned = await alice.patch(path, json={"pinned": True}, headers={"If-Match": '"1"'})
        assert (pinned.status_code, pinned.json()["pinned"], pinned.headers["ETag"]) == (200, True, '"2"')
        assert pinned.json()["expires_at"] == session["expires_at"]
        assert (await alice.patch(path, json={"pinned": False}, headers={"If-Match": '"1"'})).status_code == 412
    await append(alice, made[3], said("it stays pinned"))

    async def listed(**which: object) -> list[str]:
        parameters: dict[str, str] = {"limit": "1"} | {name: str(value).lower() for name, value in which.items()}
        titles: list[str] = []
        while True:
            page = (await alice.get("/v1/sessions", params=parameters)).json()
            titles += [item["title"] for item in page["items"]]
            if page["next_cursor"] is None:
                return titles
            parameters["cursor"] = page["next_cursor"]

    assert await listed(pinned=True) == ["3", "1"]
    assert await listed(pinned=False) == ["4", "2", "0"]
    assert await listed() == ["4", "3", "2", "1", "0"]
    undone = await alice.patch(
        f"/v1/sessions/{made[3]['id']}", json={"pinned": False, "title": "3rd"}, headers={"If-Match": "*"}
    )
    assert (undone.json()["pinned"], undone.json()["title"]) == (False, "3rd")
    assert await listed(pinned=True) == ["1"]


@pytest.mark.parametrize("value", [None, "true", 1])
async def test_a_pin_is_true_or_false(client: MakeClient, value: object) -> None:
    alice = await client()
    session = await open_session(alice)
    path = f"/v1/sessions/{session['id']}"
    refused = await alice.patch(path, json={"pinned": value}, headers={"If-Match": "*"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "pinned")
    assert (await alice.get("/v1/sessions", params={"pinned": "perhaps"})).status_code == 422


async def test_of_ten_changes_under_one_version_one_wins(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    path = f"/v1/sessions/{session['id']}"
    answers = await asyncio.gather(
        *(alice.patch(path, json={"title": str(n)}, headers={"If-Match": '"1"'}) for n in range(10)),
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 9


async def test_the_version_rises_with_every_message_so_that_304_is_never_a_lie(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    path = f"/v1/sessions/{session['id']}"
    assert (await alice.get(path, headers={"If-None-Match": '"1"'})).status_code == 304
    await append(alice, session, said("hello"))
    changed = await alice.get(path, headers={"If-None-Match": '"1"'})
    assert (changed.status_code, changed.headers["ETag"], changed.json()["message_count"]) == (200, '"2"', 1)


async def test_a_deleted_session_is_gone_with_all_that_was_said_in_it(client: MakeClient) -> None:
    alice = await client()
    session, other = await open_session(alice, external_id="x"), await open_session(alice)
    (message,) = await append(alice, session, said("the zebra of the north"))
    await append(alice, other, said("the zebra of the south"))
    path = f"/v1/sessions/{session['id']}"
    assert (await alice.delete(path)).status_code == 428
    assert (await alice.delete(path, headers={"If-Match": '"1"'})).status_code == 412
    headers = {"If-Match": "*", "Idempotency-Key": "gone"}
    answers = [await alice.delete(path, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [204, 204]
    assert answers[1].headers["Idempotent-Replayed"] == "true"
    for gone in (path, f"{path}/messages", f"{path}/messages/{message['id']}"):
        assert (await alice.get(gone)).status_code == 404
    assert (await alice.delete(path, headers={"If-Match": "*"})).status_code == 404
    assert [hit["text"] for hit in (await recall(alice, "zebra"))["hits"]] == ["the zebra of the south"]
    assert (await open_session(alice, external_id="x"))["id"] != session["id"]


async def test_sessions_are_listed_newest_first_page_by_page(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    made = [(await open_session(alice, title=str(number)))["id"] for number in range(5)]
    await open_session(bob)
    listed: list[str] = []
    cursor = None
    while True:
        page = (await alice.get("/v1/sessions", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        listed += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert listed == made[::-1]


async def test_messages_are_listed_newest_first_page_by_page(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    await append(alice, session, *(said(str(number)) for number in range(9)))
    assert [message["content"] for message in await read_messages(alice, session, limit=3)] == list("012345678")


async def test_one_user_gets_404_for_everything_of_another(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    session, own = await open_session(bob), await open_session(alice)
    (message,) = await append(bob, session, said("bob's secret"))
    path = f"/v1/sessions/{session['id']}"
    headers = {"If-Match": "*"}
    answers = [
        await alice.get(path),
        await alice.patch(path, json={"title": "mine"}, headers=headers),
        await alice.delete(path, headers=headers),
        await alice.post(f"{path}/messages", json={"messages": [said("x")]}),
        await alice.get(f"{path}/messages"),
        await alice.get(f"{path}/messages/{message['id']}"),
        await alice.delete(f"{path}/messages/{message['id']}"),
        await alice.get(f"/v1/sessions/{own['id']}/messages/{message['id']}"),
        await alice.delete(f"/v1/sessions/{own['id']}/messages/{message['id']}"),
        await alice.post("/v1/recall", json={"query": "secret", "session_id": session["id"]}),
        await alice.get("/v1/sessions/ses_nonsense"),
        await alice.get(f"/v1/sessions/{show('ses', uuid7())}"),
        await alice.get(f"/v1/sessions/{session['id'].upper()}"),
    ]
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert len({answer.json()["code"] for answer in answers}) == 1
    assert (await recall(alice, "secret"))["hits"] == []
    assert len(await read_messages(bob, session)) == 1


async def test_a_message_of_another_session_is_not_there(client: MakeClient) -> None:
    alice = await client()
    session, other = await open_session(alice), await open_session(alice)
    (message,) = await append(alice, session, said("here"))
    answer = await alice.delete(f"/v1/sessions/{other['id']}/messages/{message['id']}")
    assert answer.status_code == 404
    assert len(await read_messages(alice, session)) == 1


async def test_a_token_that_only_reads_does_not_write(client: MakeClient) -> None:
    alice, reader = await client(), await client(scope="sessions:read")
    session = await open_session(alice)
    answer = await reader.post(f"/v1/sessions/{session['id']}/messages", json={"messages": [said("x")]})
    assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")
    await read_session(reader, session)
