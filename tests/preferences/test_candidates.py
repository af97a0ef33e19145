"""What waits is shown, accepted as the user's own word, or rejected; a decision is bound to what the user has seen."""

import asyncio
from collections import Counter

import pytest

from app.preferences import judgement
from tests.conftest import MakeClient
from tests.preferences.inference import (
    at,
    candidates_of,
    decide,
    in_force,
    messages_of,
    propose,
    proposed,
    state,
    waiting,
)


async def test_what_waits_is_shown_with_where_it_comes_from(client: MakeClient) -> None:
    alice = await client(agent="writer")
    (message,) = await messages_of(alice, 1)
    await state(alice, "tea")
    candidate = await waiting(alice, "coffee", confidence=0.6, evidence=message, reason="asked for it")
    assert await candidates_of(alice) == [candidate]
    expected = {
        "state": "waiting",
        "key": "drink",
        "value": "coffee",
        "trust": "inferred",
        "confidence": 0.6,
        "because": "stated",
        "evidence": [message],
        "reason": "asked for it",
        "preference_version": 1,
        "proposed_through": "writer",
        "agent_id": None,
    }
    assert expected.items() <= candidate.items()
    assert candidate["id"].startswith("cnd_")
    read = await alice.get(f"/v1/preference-candidates/{candidate['id']}")
    assert (read.json(), read.headers["etag"]) == (candidate, f'"{candidate["version"]}"')
    again = await alice.get(
        f"/v1/preference-candidates/{candidate['id']}", headers={"If-None-Match": read.headers["etag"]}
    )
    assert again.status_code == 304


async def test_an_accepted_candidate_is_the_users_own_word(client: MakeClient) -> None:
    alice = await client()
    (message,) = await messages_of(alice, 1)
    await state(alice, "tea")
    candidate = await waiting(alice, "coffee", evidence=message)
    answer = await decide(alice, candidate, "accept")
    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')
    told = {"value": "coffee", "trust": "explicit", "source": "acceptance", "confidence": None, "evidence": message}
    assert told.items() <= answer.json().items()
    assert answer.json().items() <= (await alice.get("/v1/preferences/drink")).json().items()
    assert await candidates_of(alice) == []
    assert (await proposed(alice, "beer", 1))["because"] == "stated"


async def test_a_rejected_candidate_changes_nothing_and_leaves_a_stub(client: MakeClient) -> None:
    alice = await client()
    await state(alice, "tea")
    candidate = await waiting(alice, "a secret drink", reason="a secret reason")
    answer = await decide(alice, candidate, "reject")
    assert (answer.status_code, answer.json()["state"], answer.json()["value"]) == (200, "rejected", None)
    stub = await alice.get(f"/v1/preference-candidates/{candidate['id']}")
    assert stub.json() == answer.json()
    assert "secret" not in stub.text
    assert (await candidates_of(alice), await in_force(alice)) == ([], "tea")
    assert len((await alice.get("/v1/preferences/drink/history")).json()["items"]) == 1


@pytest.mark.parametrize("verdict", ["accept", "reject"])
async def test_a_decision_needs_the_version_that_was_seen(client: MakeClient, verdict: str) -> None:
    alice = await client()
    await state(alice, "tea")
    seen = await waiting(alice, "coffee")
    path = f"/v1/preference-candidates/{seen['id']}/{verdict}"
    assert (await alice.post(path)).status_code == 428
    await state(alice, "milk", version=1)
    stale = await decide(alice, seen, verdict)
    assert (stale.status_code, stale.json()["code"]) == (412, "stale_version")
    assert await in_force(alice) == "milk", "what the user hasn't seen beside the candidate isn't overwritten"
    (current,) = await candidates_of(alice)
    assert current["version"] == stale.json()["current_version"]
    await proposed(alice, "coffee", 0.9)
    assert (await decide(alice, current, verdict)).status_code == 412, "it has become surer since"
    (current,) = await candidates_of(alice)
    assert (await decide(alice, current, verdict)).status_code == 200
    decided = (await alice.get(f"/v1/preference-candidates/{seen['id']}")).json()
    assert (await decide(alice, decided, verdict)).status_code == 409


@pytest.mark.parametrize("verdict", ["accept", "reject"])
async def test_of_ten_decisions_at_once_one_holds(client: MakeClient, verdict: str) -> None:
    alice = await client()
    await state(alice, "tea")
    candidate = await waiting(alice, "coffee")
    answers = await asyncio.gather(*(decide(alice, candidate, verdict) for _ in range(10)))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 9}


async def test_an_acceptance_and_a_statement_at_once_do_not_lose_one_another(client: MakeClient) -> None:
    alice = await client()
    await state(alice, "tea")
    candidate = await waiting(alice, "coffee")
    said, accepted = await asyncio.gather(
        alice.put("/v1/preferences/drink", json={"value": "milk"}, headers=at(1)), decide(alice, candidate, "accept")
    )
    assert sorted([said.status_code, accepted.status_code]) == [200, 412]
    assert await in_force(alice) == ("milk" if said.status_code == 200 else "coffee")


async def test_the_same_proposed_again_strengthens_what_waits(client: MakeClient) -> None:
    alice = await client()
    first, second = await messages_of(alice, 2)
    await state(alice, "tea")
    brought = ((0.5, first), (0.8, second), (0.3, second))
    each = [await waiting(alice, "coffee", confidence, evidence=evidence) for confidence, evidence in brought]
    versions, candidate = [seen["version"] for seen in each], each[-1]
    assert (candidate["confidence"], candidate["evidence"]) == (0.8, [first, second])
    assert versions == sorted(set(versions))
    assert await candidates_of(alice) == [candidate]


async def test_a_decision_needs_a_token_of_a_person(client: MakeClient) -> None:
    alice, guessing = await client(), await client(scope="preferences")
    await state(alice, "tea")
    candidate = await waiting(alice, "coffee")
    for verdict in ("accept", "reject"):
        answer = await decide(guessing, candidate, verdict)
        assert (answer.status_code, answer.json()["scope"]) == (403, "preferences:explicit")


async def test_a_candidate_for_one_agent_is_accepted_for_it_alone(client: MakeClient) -> None:
    writer = await client(agent="writer")
    await state(writer, "tea")
    candidate = await waiting(writer, "coffee", agent_specific=True)
    answer = await decide(writer, candidate, "accept")
    assert (answer.status_code, answer.json()["agent_id"], answer.json()["version"]) == (201, "writer", 1)
    assert await in_force(writer) == "tea"
    assert [item["value"] for item in (await writer.get("/v1/preferences")).json()["items"]] == ["coffee"]


async def test_what_the_user_states_themselves_waits_no_more(client: MakeClient) -> None:
    alice = await client()
    await state(alice, "tea")
    candidate = await waiting(alice, "coffee")
    await state(alice, "coffee", version=1)
    assert await candidates_of(alice) == []
    assert (await alice.get(f"/v1/preference-candidates/{candidate['id']}")).json()["state"] == "applied"


async def test_what_is_inferred_again_and_surer_waits_no_more(client: MakeClient) -> None:
    alice = await client()
    await proposed(alice, "tea", 0.6)
    await waiting(alice, "coffee", confidence=0.5)
    assert (await proposed(alice, "coffee", 0.7))["because"] == "surer"
    assert await candidates_of(alice) == []


async def test_candidates_are_listed_page_by_page(client: MakeClient) -> None:
    alice = await client()
    await state(alice, "tea")
    made = [(await waiting(alice, number))["id"] for number in range(5)]
    listed: list[str] = []
    params: dict[str, str | int] = {"limit": 2}
    while True:
        page = (await alice.get("/v1/preference-candidates", params=params)).json()
        listed += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert listed == made[::-1]
    in_force = (await alice.get("/v1/preferences")).json()
    assert [page[name] for name in ("snapshot", "changes_since")] == [in_force["snapshot"], 0]


async def test_more_than_anybody_reads_is_refused(client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.preferences.proposals.MAX_CANDIDATES", 3)
    assert judgement.MAX_CANDIDATES == 200
    alice = await client()
    await state(alice, "tea")
    first, *_ = [await waiting(alice, number) for number in range(3)]
    answer = await propose(alice, "one more")
    assert (answer.status_code, answer.json()["code"]) == (403, "quota_exceeded")
    assert (await propose(alice, 0)).status_code == 201, "one that waits already may be proposed again"
    assert (await decide(alice, {**first, "version": first["version"] + 1}, "reject")).status_code == 200
    assert (await propose(alice, "one more")).status_code == 201
