"""What the user rejected or deleted isn't proposed again from the same evidence; from other evidence it waits."""

import asyncpg
import pytest

from app.infra.embedded.stack import Stack
from tests.conftest import MakeClient
from tests.preferences.inference import (
    ABSENT,
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


async def test_what_was_rejected_is_not_proposed_again_from_what_spoke_for_it(client: MakeClient) -> None:
    alice = await client()
    first, second, third = await messages_of(alice, 3)
    await state(alice, "tea")
    await waiting(alice, "coffee", evidence=first)
    candidate = await waiting(alice, "coffee", evidence=second)
    assert (await decide(alice, candidate, "reject")).status_code == 200
    for evidence in (first, second, None):
        answer = await propose(alice, "coffee", 1, evidence=evidence)
        assert (answer.status_code, answer.json()["code"]) == (409, "already_rejected"), evidence
    assert await candidates_of(alice) == []
    assert (await waiting(alice, "milk", evidence=first))["because"] == "stated", "another statement from it is another"
    again = await waiting(alice, "coffee", evidence=third)
    assert again["evidence"] == [third]
    assert (await decide(alice, again, "reject")).status_code == 200
    assert (await propose(alice, "coffee", evidence=third)).status_code == 409


async def test_what_was_rejected_waits_even_where_nothing_else_is_known(client: MakeClient) -> None:
    alice = await client()
    first, second = await messages_of(alice, 2)
    await proposed(alice, "tea", 0.9)
    await decide(alice, await waiting(alice, "coffee", evidence=first), "reject")
    outcome = await proposed(alice, "coffee", 1, evidence=second)
    assert (outcome["state"], outcome["because"]) == ("candidate", "rejected")
    assert await in_force(alice) == "tea"


async def test_a_rejection_holds_for_the_agents_own_value_too(client: MakeClient) -> None:
    writer = await client(agent="writer")
    (message,) = await messages_of(writer, 1)
    await state(writer, "tea")
    await decide(writer, await waiting(writer, "coffee", evidence=message), "reject")
    assert (await propose(writer, "coffee", evidence=message, agent_specific=True)).status_code == 409


@pytest.mark.parametrize("stated", [True, False], ids=["a statement", "an inference"])
async def test_what_was_deleted_is_not_inferred_again_from_what_it_rested_on(
    client: MakeClient,
    stated: bool,  # noqa: FBT001 - a parameter of pytest's
) -> None:
    alice = await client()
    first, second, third = await messages_of(alice, 3)
    if stated:
        for number, evidence in enumerate((first, second)):
            headers = at(number) if number else ABSENT
            said = {"value": number, "evidence": evidence}
            assert (await alice.put("/v1/preferences/drink", json=said, headers=headers)).is_success
    else:
        assert (await proposed(alice, "tea", 0.5, evidence=first))["because"] == "nothing_known"
        assert (await proposed(alice, "tea", 0.5, evidence=second))["because"] == "in_force"
    version = (await alice.get("/v1/preferences/drink")).json()["version"]
    assert (await alice.delete("/v1/preferences/drink", headers=at(version))).status_code == 204
    for known in (first, second, None):
        for value in ("tea", "anything else"):
            answer = await propose(alice, value, 1, evidence=known)
            assert (answer.status_code, answer.json()["code"]) == (409, "already_rejected"), (known, value)
    outcome = await proposed(alice, "tea", 1, evidence=third)
    assert (outcome["state"], outcome["because"], outcome["preference"]) == ("candidate", "retracted", None)
    assert await in_force(alice) is None
    accepted = await decide(alice, outcome["candidate"], "accept")
    assert (accepted.status_code, accepted.json()["version"]) == (201, version + 2)


async def test_after_a_new_statement_only_the_old_evidence_stays_refused(client: MakeClient) -> None:
    alice = await client()
    (message,) = await messages_of(alice, 1)
    await proposed(alice, "tea", 0.5, evidence=message)
    await alice.delete("/v1/preferences/drink", headers=at(1))
    await state(alice, "milk", version=2)
    assert (await propose(alice, "tea", evidence=message)).status_code == 409
    assert (await proposed(alice, "tea"))["because"] == "stated"


async def test_a_deletion_withdraws_what_waits_for_the_key(client: MakeClient) -> None:
    alice = await client()
    (message,) = await messages_of(alice, 1)
    await state(alice, "tea")
    await state(alice, "x", key="other")
    headers = {"Idempotency-Key": "one"}
    body = {"key": "drink", "value": "a secret drink", "confidence": 0.5, "evidence": message}
    answer = await alice.post("/v1/preference-proposals", json=body, headers=headers)
    candidate = answer.json()["candidate"]
    kept = await alice.post("/v1/preference-proposals", json={"key": "other", "value": "y", "confidence": 0.5})
    await alice.delete("/v1/preferences/drink", headers=at(1))
    assert [item["id"] for item in await candidates_of(alice)] == [kept.json()["candidate"]["id"]]
    stub = await alice.get(f"/v1/preference-candidates/{candidate['id']}")
    assert (stub.json()["state"], stub.json()["value"]) == ("withdrawn", None)
    retry = await alice.post("/v1/preference-proposals", json=body, headers=headers)
    assert (retry.status_code, "secret" in retry.text) == (404, False)
    assert (await propose(alice, "a secret drink", evidence=message)).status_code == 409


async def test_the_evidence_of_a_refusal_is_remembered_in_tags_alone(
    client: MakeClient, stack: Stack, tenant: str
) -> None:
    """And of a deleted value not even its tag is left."""
    alice = await client()
    first, second = await messages_of(alice, 2)
    await proposed(alice, "tea", 0.5, evidence=first)
    await decide(alice, await waiting(alice, "coffee", confidence=0.1, evidence=second), "reject")
    await alice.delete("/v1/preferences/drink", headers=at(1))
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        query = "SELECT t::text AS row FROM {} t WHERE tenant = $1"
        remembered = await connection.fetch(query.format("preference_evidence"), tenant)
        candidates = await connection.fetch(query.format("preference_candidates"), tenant)
        values = await connection.fetch("SELECT value_tag FROM preference_evidence WHERE tenant = $1", tenant)
    finally:
        await connection.close()
    rows = " ".join(row["row"] for row in (*remembered, *candidates))
    assert (len(remembered), len(candidates)) == (3, 1)
    for evidence in (first, second):
        assert evidence["id"].removeprefix("msg_") not in rows.replace("-", "")
    # Of the retraction none, of the rejection the rejected value's, once with its evidence and once without.
    assert sorted(len(row["value_tag"]) for row in values) == [0, 16, 16]
