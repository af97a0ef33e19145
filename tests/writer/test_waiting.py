"""What was inferred of a profile or of tastes waits for the user, and goes with what it was inferred from."""

import asyncio
from typing import Any

import asyncpg
import httpx
import pytest

from app.infra.embedded.stack import Stack
from tests.conftest import MakeClient
from tests.preferences.inference import ABSENT, at, messages_of

Json = dict[str, Any]  # Any: JSON of the API
# About its author, says the model, and no rule says what it is.
HINT = "天蝎男求交友"


async def propose(caller: httpx.AsyncClient, value: object, key: str = "role", **more: object) -> httpx.Response:
    return await caller.post("/v1/profile-proposals", json={"key": key, "value": value, "confidence": 0.6, **more})


async def waiting(caller: httpx.AsyncClient, value: object, key: str = "role", **more: object) -> Json:
    answer = await propose(caller, value, key, **more)
    assert answer.status_code == 201, answer.text
    assert answer.json()["state"] == "candidate"
    candidate: Json = answer.json()["candidate"]
    return candidate


async def decide(caller: httpx.AsyncClient, candidate: Json, verb: str) -> httpx.Response:
    path = f"/v1/{candidate['kind']}-candidates/{candidate['id']}/{verb}"
    return await caller.post(path, headers=at(candidate["version"]))


async def listed(caller: httpx.AsyncClient) -> list[tuple[str, str, str | None]]:
    """Return what waits: by the one list, which must say the same as the lists of both kinds."""
    items = (await caller.get("/v1/memories", params={"kind": "candidate"})).json()["items"]
    own = [each for kind in ("profile", "memory") for each in await _of(caller, kind)]
    assert {item["id"] for item in items} == {each["id"] for each in own}
    for item in items:
        assert (await caller.get(item["href"])).json()["id"] == item["id"]
    return [(item["text"], item["trust"], item["evidence"] and item["evidence"]["id"]) for item in items]


async def _of(caller: httpx.AsyncClient, kind: str) -> list[Json]:
    items: list[Json] = (await caller.get(f"/v1/{kind}-candidates")).json()["items"]
    return items


async def hinted(caller: httpx.AsyncClient) -> tuple[str, str, Json]:
    """Return session and message of a message that is about its author, and the candidate that it made."""
    session = (await caller.post("/v1/sessions", json={})).json()["id"]
    body = {"messages": [{"role": "user", "content": HINT}]}
    told = (await caller.post(f"/v1/sessions/{session}/messages", json=body)).json()
    (update,) = told["memory_updates"]
    assert (update["kind"], update["trust"], update["state"]) == ("memory", "inferred", "candidate")
    (candidate,) = await _of(caller, "memory")
    return session, told["messages"][0]["id"], candidate


async def test_an_inferred_field_waits_and_goes_into_the_profile_by_the_users_word(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    first, second = await messages_of(alice, 2)
    await waiting(alice, "nurse", evidence=first)
    candidate = await waiting(alice, "nurse", evidence=second)
    assert (candidate["state"], candidate["trust"], candidate["confidence"]) == ("waiting", "inferred", 0.6)
    assert candidate["evidence"] == [first, second]
    assert await listed(alice) == [('role: "nurse"', "inferred", second["id"])]
    assert (await alice.get("/v1/profile")).json()["version"] == 0
    assert (await bob.get(f"/v1/profile-candidates/{candidate['id']}")).status_code == 404

    headers = {**at(0), "Content-Type": "application/merge-patch+json"}
    assert (await alice.patch("/v1/profile", json={"name": "Ana"}, headers=headers)).is_success
    assert (await decide(alice, candidate, "accept")).status_code == 412, "the profile has changed since"
    seen = (await alice.get(f"/v1/profile-candidates/{candidate['id']}")).json()
    accepted = await decide(alice, seen, "accept")
    assert accepted.status_code == 200, accepted.text
    assert (accepted.json()["state"], accepted.json()["value"]) == ("accepted", None)
    assert accepted.json()["became"]["version"] == 2
    profile = (await alice.get("/v1/profile")).json()
    assert (profile["version"], profile["role"], profile["name"]) == (2, "nurse", "Ana")
    assert (await alice.get("/v1/profile/history")).json()["items"][0]["evidence"] == second
    assert await listed(alice) == []
    assert (await decide(alice, accepted.json(), "reject")).status_code == 409
    assert (await propose(alice, "nurse")).json() == {"state": "applied", "candidate": None}


async def test_a_taste_waits_and_becomes_a_fact_by_the_users_word(client: MakeClient) -> None:
    alice = await client()
    _, message, candidate = await hinted(alice)
    assert await listed(alice) == [(HINT, "inferred", message)]
    accepted = await decide(alice, candidate, "accept")
    assert accepted.status_code == 200, accepted.text
    fact = (await alice.get(f"/v1/memories/{accepted.json()['became']['id']}")).json()
    assert (fact["text"], fact["trust"], fact["evidence"]["id"]) == (HINT, "explicit", message)


async def test_what_was_rejected_is_not_proposed_again_from_what_spoke_for_it(client: MakeClient) -> None:
    alice = await client()
    first, second, third = await messages_of(alice, 3)
    await waiting(alice, "nurse", evidence=first)
    candidate = await waiting(alice, "nurse", evidence=second)
    assert (await decide(alice, candidate, "reject")).json()["state"] == "rejected"
    for evidence in (first, second, None):
        answer = await propose(alice, "nurse", evidence=evidence)
        assert (answer.status_code, answer.json()["code"]) == (409, "already_rejected"), evidence
    assert (await waiting(alice, "nurse", evidence=third))["evidence"] == [third]


async def test_what_is_said_ends_what_waits_for_the_same(client: MakeClient) -> None:
    alice = await client()
    (evidence,) = await messages_of(alice, 1)
    said = await waiting(alice, "Halden Implants", "company", evidence=evidence)
    other = await waiting(alice, "Borg Dental", "company", evidence=evidence)
    session = (await alice.post("/v1/sessions", json={})).json()["id"]
    body = {"messages": [{"role": "user", "content": "I work at Halden Implants."}]}
    assert (await alice.post(f"/v1/sessions/{session}/messages", json=body)).json()["memory_updates"]
    states = {
        each["id"]: (await alice.get(f"/v1/profile-candidates/{each['id']}")).json()["state"] for each in (said, other)
    }
    assert states == {said["id"]: "applied", other["id"]: "waiting"}


@pytest.mark.parametrize(
    ("key", "value", "status"),
    [
        ("allergy", "latex", 403),
        ("religion", "Buddhist", 403),
        ("role", 7, 422),
        ("role", "", 422),
        ("active", False, 422),
        ("company", None, 422),
        ("Not A Key", "x", 422),
    ],
)
async def test_what_is_never_inferred_is_refused(client: MakeClient, key: str, value: object, status: int) -> None:
    alice = await client()
    answer = await propose(alice, value, key)
    assert answer.status_code == status
    assert answer.json()["code"] == {403: "sensitive_category", 422: "invalid"}[status]
    assert await listed(alice) == []


async def test_who_may_not_read_a_profile_sees_nothing_that_waits_for_it(client: MakeClient) -> None:
    alice, reader = await client("alice"), await client("alice", scope="memories")
    await waiting(alice, "nurse")
    assert (await reader.get("/v1/memories", params={"kind": "candidate"})).json()["items"] == []
    assert (await reader.get("/v1/profile-candidates")).status_code == 403
    blind = await client("alice", scope="sessions")
    assert (await blind.get("/v1/memories")).status_code == 403


async def test_ten_proposals_of_the_same_wait_once(client: MakeClient) -> None:
    alice = await client()
    evidence = await messages_of(alice, 10)
    await asyncio.gather(*(propose(alice, "nurse", evidence=each) for each in evidence))
    (candidate,) = await _of(alice, "profile")
    assert sorted(each["id"] for each in candidate["evidence"]) == sorted(each["id"] for each in evidence)


async def test_what_waits_is_sealed_and_the_stub_of_a_decision_has_no_tag(client: MakeClient, stack: Stack) -> None:
    alice = await client()
    kept = await waiting(alice, "quetzalcoatlus keeper")
    gone = await waiting(alice, "axolotl keeper")
    await decide(alice, gone, "reject")
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        rows = await connection.fetch(
            "SELECT * FROM candidates WHERE id = ANY($1)", [each["id"].partition("_")[2] for each in (kept, gone)]
        )
    finally:
        await connection.close()
    assert len(rows) == 2
    assert all(b"keeper" not in bytes(value) for row in rows for value in row.values() if isinstance(value, bytes))
    (stub,) = [row for row in rows if row["state"] == "rejected"]
    assert (stub["value_sealed"], stub["statement_tag"], stub["evidence"]) == (None, b"", "[]")


async def delete(caller: httpx.AsyncClient, path: str) -> None:
    answer = await caller.delete(path, headers={"If-Match": "*"} if "/messages/" not in path else {})
    assert answer.status_code == 204, answer.text


@pytest.mark.parametrize("whole", [False, True])
async def test_what_was_inferred_goes_with_its_message(client: MakeClient, whole: bool) -> None:  # noqa: FBT001 - a case
    alice = await client()
    session, message, candidate = await hinted(alice)
    evidence = {"kind": "message", "id": message}
    field = await waiting(alice, "nurse", evidence=evidence)
    for key, value in (("drink", "tea"), ("format", "plain")):
        applied = {"key": key, "value": value, "confidence": 0.5, "evidence": evidence}
        assert (await alice.post("/v1/preference-proposals", json=applied)).json()["state"] == "applied"
    fact = {"text": "Drinks tea at noon.", "source": "inferred", "evidence": evidence}
    inferred = (await alice.post("/v1/memories", json=fact)).json()["id"]
    stated = (await alice.post("/v1/memories", json={**fact, "source": "explicit"})).json()["id"]
    confirmed = {"value": "plain", "evidence": evidence}
    assert (await alice.put("/v1/preferences/format", json=confirmed, headers=at(1))).is_success

    await delete(alice, f"/v1/sessions/{session}" if whole else f"/v1/sessions/{session}/messages/{message}")
    assert await listed(alice) == []
    for each in (candidate, field):
        stub = (await alice.get(f"/v1/{each['kind']}-candidates/{each['id']}")).json()
        assert (stub["state"], stub["value"]) == ("withdrawn", None)
    assert (await alice.get("/v1/preferences/drink")).status_code == 404
    versions = (await alice.get("/v1/preferences/drink/history")).json()["items"]
    assert [(each["state"], each["value"]) for each in versions] == [("deleted", None), ("erased", None)]
    assert (await alice.get(f"/v1/memories/{inferred}")).status_code == 404
    # The user's own word is theirs.
    assert (await alice.get("/v1/preferences/format")).json()["value"] == "plain"
    assert (await alice.get(f"/v1/memories/{stated}")).status_code == 200


async def test_what_rests_on_other_messages_too_goes_with_the_last_of_them(client: MakeClient) -> None:
    alice = await client()
    evidence = await messages_of(alice, 2)
    (session,) = (await alice.get("/v1/sessions")).json()["items"]
    proposal = {"key": "drink", "value": "tea", "confidence": 0.5}
    assert (await alice.put("/v1/preferences/time", json={"value": "noon"}, headers=ABSENT)).is_success
    for each in evidence:
        await alice.post("/v1/preference-proposals", json={**proposal, "evidence": each})
        await alice.post(
            "/v1/preference-proposals", json={"key": "time", "value": "dawn", "confidence": 0.5, "evidence": each}
        )
        await waiting(alice, "nurse", evidence=each)
    (candidate,) = await _of(alice, "profile")
    await delete(alice, f"/v1/sessions/{session['id']}/messages/{evidence[0]['id']}")
    assert (await alice.get("/v1/preferences/drink")).json()["value"] == "tea"
    seen = (await alice.get(f"/v1/profile-candidates/{candidate['id']}")).json()
    (other,) = (await alice.get("/v1/preference-candidates")).json()["items"]
    assert seen["evidence"] == other["evidence"] == [evidence[1]]
    await delete(alice, f"/v1/sessions/{session['id']}/messages/{evidence[1]['id']}")
    assert (await alice.get("/v1/preferences/drink")).status_code == 404
    assert await listed(alice) == []
    assert (await alice.get("/v1/preference-candidates")).json()["items"] == []


async def test_what_is_withdrawn_with_its_message_can_be_inferred_again(client: MakeClient) -> None:
    alice = await client()
    session, message, _ = await hinted(alice)
    await waiting(alice, "nurse", evidence={"kind": "message", "id": message})
    await delete(alice, f"/v1/sessions/{session}/messages/{message}")
    (other,) = await messages_of(alice, 1)
    assert (await waiting(alice, "nurse", evidence=other))["evidence"] == [other]
