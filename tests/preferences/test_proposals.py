"""A proposal is applied or waits, and says which: it fills what is empty, and never takes a statement's place."""

import asyncio

import pytest
from sqlalchemy import update

from app.core.audit import AuditEntry
from app.core.ids import parse
from app.core.scope import Scope
from app.preferences.tables import preferences
from app.wiring import Wiring
from tests.conftest import MakeClient
from tests.preferences.inference import (
    ABSENT,
    at,
    candidates_of,
    in_force,
    messages_of,
    propose,
    proposed,
    state,
)


async def test_a_proposal_about_nothing_known_is_applied_as_inferred(client: MakeClient) -> None:
    alice = await client(agent="writer")
    (message,) = await messages_of(alice, 1)
    outcome = await proposed(alice, "tea", 0.6, evidence=message, reason="said twice")
    assert (outcome["state"], outcome["because"], outcome["candidate"]) == ("applied", "nothing_known", None)
    shown = (await alice.get("/v1/preferences/drink")).json()
    assert outcome["preference"].items() <= shown.items()
    expected = {"value": "tea", "trust": "inferred", "source": "proposal", "confidence": 0.6, "agent_id": None}
    assert expected.items() <= shown.items()
    assert (shown["evidence"], shown["reason"], shown["version"]) == (message, "said twice", 1)


@pytest.mark.parametrize("confidence", [0.5, 0.7])
async def test_an_inference_that_is_not_less_sure_replaces_another(client: MakeClient, confidence: float) -> None:
    alice = await client()
    await proposed(alice, "tea", 0.5)
    outcome = await proposed(alice, "coffee", confidence)
    assert (outcome["state"], outcome["because"]) == ("applied", "surer")
    assert (outcome["preference"]["value"], outcome["preference"]["version"]) == ("coffee", 2)
    history = (await alice.get("/v1/preferences/drink/history")).json()["items"]
    assert [(entry["value"], entry["confidence"]) for entry in history] == [("coffee", confidence), ("tea", 0.5)]


async def test_an_inference_that_contradicts_a_surer_one_waits(client: MakeClient) -> None:
    alice = await client()
    await proposed(alice, "tea", 0.8)
    outcome = await proposed(alice, "coffee", 0.7)
    assert (outcome["state"], outcome["because"]) == ("candidate", "less_sure")
    assert (outcome["preference"]["value"], outcome["candidate"]["value"]) == ("tea", "coffee")
    assert await in_force(alice) == "tea"


@pytest.mark.parametrize("confidence", [0, 0.5, 1])
async def test_a_proposal_that_meets_a_statement_waits(client: MakeClient, confidence: float) -> None:
    alice = await client()
    await state(alice, "tea")
    outcome = await proposed(alice, "coffee", confidence)
    assert (outcome["state"], outcome["because"]) == ("candidate", "stated")
    assert (outcome["preference"]["value"], outcome["preference"]["trust"]) == ("tea", "explicit")
    assert (outcome["candidate"]["state"], outcome["candidate"]["preference_version"]) == ("waiting", 1)
    assert len((await alice.get("/v1/preferences/drink/history")).json()["items"]) == 1


@pytest.mark.parametrize(("trust", "because"), [("operator", "stated"), ("imported", "imported")])
async def test_what_an_operator_said_or_was_imported_stands_above_an_inference(
    wiring: Wiring, client: MakeClient, tenant: str, trust: str, because: str
) -> None:
    alice = await client()
    await state(alice, "tea")
    usr = parse("usr", (await alice.get("/v1/profile")).json()["id"])
    async with wiring.db.write(Scope(tenant, usr, None)) as tx:
        await tx.change(update(preferences).filter_by(usr=usr).values(trust=trust), AuditEntry("write", "preference"))
    outcome = await proposed(alice, "coffee", 1)
    assert (outcome["state"], outcome["because"]) == ("candidate", because)
    assert await in_force(alice) == "tea"


async def test_a_statement_takes_the_place_of_an_inference_and_history_tells(client: MakeClient) -> None:
    alice = await client()
    await proposed(alice, "tea", 0.9)
    await state(alice, "tea", version=1)
    history = (await alice.get("/v1/preferences/drink/history")).json()["items"]
    told = [(entry["value"], entry["trust"], entry["source"], entry["confidence"]) for entry in history]
    assert told == [("tea", "explicit", "statement", None), ("tea", "inferred", "proposal", 0.9)]


@pytest.mark.parametrize(("first", "again"), [(1, 1.0), ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}), (None, None)])
async def test_what_is_stated_already_is_said_to_be_in_force(client: MakeClient, first: object, again: object) -> None:
    alice = await client()
    stated = await state(alice, first)
    outcome = await proposed(alice, again, 1)
    assert (outcome["state"], outcome["because"], outcome["candidate"]) == ("applied", "in_force", None)
    assert outcome["preference"].items() <= stated.items()
    assert await candidates_of(alice) == []


async def test_the_number_one_is_not_true(client: MakeClient) -> None:
    alice = await client()
    await state(alice, value=True)
    assert (await proposed(alice, 1))["because"] == "stated"


async def test_the_same_inference_again_is_written_where_it_is_surer(client: MakeClient) -> None:
    alice = await client()
    snapshot = (await alice.get("/v1/preferences")).json()["snapshot"]
    told = []
    for confidence in (0.5, 0.4, 0.5, 0.8):
        outcome = await proposed(alice, "tea", confidence)
        told.append((outcome["state"], outcome["because"], outcome["preference"]["version"]))
        changed = (await alice.get("/v1/preferences")).json()["snapshot"]
        assert (changed != snapshot) == (outcome["because"] != "in_force"), "what writes nothing is no change"
        snapshot = changed
    assert told == [
        ("applied", "nothing_known", 1),
        ("applied", "in_force", 1),
        ("applied", "in_force", 1),
        ("applied", "surer", 2),
    ]
    history = (await alice.get("/v1/preferences/drink/history")).json()["items"]
    assert [entry["confidence"] for entry in history] == [0.8, 0.5]


async def test_an_inference_for_one_agent_does_not_go_around_a_general_statement(client: MakeClient) -> None:
    writer, other = await client(agent="writer"), await client(agent="other")
    await state(writer, "tea")
    outcome = await proposed(writer, "coffee", 1, agent_specific=True)
    assert (outcome["state"], outcome["because"], outcome["agent_id"]) == ("candidate", "stated", "writer")
    assert [item["value"] for item in await candidates_of(writer)] == ["coffee"]
    assert await candidates_of(other) == [], "another agent's is none of its business"
    assert (await other.get(f"/v1/preference-candidates/{outcome['candidate']['id']}")).status_code == 404


async def test_a_later_general_statement_is_in_force_before_an_agents_own_inference(client: MakeClient) -> None:
    writer = await client(agent="writer")
    assert (await proposed(writer, "coffee", 1, agent_specific=True))["state"] == "applied"
    before = (await writer.get("/v1/preferences")).json()
    assert [item["value"] for item in before["items"]] == ["coffee"]
    await state(writer, "tea")
    assert [item["value"] for item in (await writer.get("/v1/preferences")).json()["items"]] == ["tea"]
    then = await writer.get("/v1/preferences", params={"snapshot": before["snapshot"]})
    assert [item["value"] for item in then.json()["items"]] == ["coffee"]
    own = await writer.put("/v1/preferences/drink?agent_id=writer", json={"value": "milk"}, headers=at(1))
    assert own.status_code == 200
    assert [item["value"] for item in (await writer.get("/v1/preferences")).json()["items"]] == ["milk"]


async def test_an_inference_for_one_agent_may_name_it_like_every_route_does(client: MakeClient) -> None:
    writer = await client(agent="writer")
    body = {"key": "drink", "value": "coffee", "confidence": 0.5}
    own, other = [
        await writer.post("/v1/preference-proposals", params={"agent_id": agent}, json=body)
        for agent in ("writer", "other")
    ]
    assert (own.status_code, own.json()["agent_id"], own.json()["state"]) == (201, "writer", "applied")
    assert (other.status_code, other.json()["code"]) == (404, "not_found")


async def test_an_inference_for_one_agent_needs_an_agent(client: MakeClient) -> None:
    answer = await propose(await client(), "tea", agent_specific=True)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, ["agent_specific"])


async def test_a_proposal_from_evidence_that_is_not_there_is_refused(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    (theirs,) = await messages_of(bob, 1)
    assert (await propose(alice, "tea", evidence=theirs)).status_code == 422
    assert await in_force(alice) is None


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": 1.1},
        {"confidence": -0.1},
        {"confidence": "0.5"},
        {"confidence": True},
        {"confidence": None},
        {"key": "No Key"},
        {"agent_specific": 1},
        {"agent_id": "writer"},
        {"trust": "explicit"},
        {"value": [[[[[[[[[1]]]]]]]]]},
    ],
)
async def test_a_body_that_is_not_valid_is_refused(client: MakeClient, change: dict[str, object]) -> None:
    body = {"key": "drink", "value": "tea", "confidence": 0.5, **change}
    answer = await (await client()).post("/v1/preference-proposals", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


async def test_an_agent_needs_the_right_to_write_and_no_other(client: MakeClient) -> None:
    guessing = await client(scope="preferences:read preferences:write")
    assert (await propose(guessing, "tea")).status_code == 201
    reading = await client(scope="preferences:read")
    assert (await propose(reading, "tea")).status_code == 403
    stating = await guessing.put("/v1/preferences/drink", json={"value": "x"}, headers=at(1))
    assert (stating.status_code, stating.json()["scope"]) == (403, "preferences:explicit")


async def test_a_repeated_proposal_has_one_effect(client: MakeClient) -> None:
    alice = await client()
    body = {"key": "drink", "value": "tea", "confidence": 0.5}
    answers = [
        await alice.post("/v1/preference-proposals", json=body, headers={"Idempotency-Key": "turn-1"}) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].content == answers[1].content


async def test_of_ten_statements_and_ten_inferences_at_once_a_statement_remains(client: MakeClient) -> None:
    alice = await client()

    async def say(number: int) -> int:
        answer = await alice.put("/v1/preferences/drink", json={"value": f"said {number}"}, headers=ABSENT)
        while answer.status_code == 412:  # each other write makes it stale, and there are only so many
            version = answer.json()["current_version"]
            answer = await alice.put("/v1/preferences/drink", json={"value": f"said {number}"}, headers=at(version))
        return answer.status_code

    writes = [say(number) for number in range(10)]
    guesses = [propose(alice, f"guessed {number}", number / 10) for number in range(10)]
    await asyncio.gather(*writes, *guesses)
    history = (await alice.get("/v1/preferences/drink/history")).json()["items"]
    assert [entry["version"] for entry in history] == list(range(len(history), 0, -1))
    trusts = [entry["trust"] for entry in reversed(history)]
    assert trusts == sorted(trusts, reverse=True), "inferred ones first, and none after a statement"
    assert str(await in_force(alice)).startswith("said")


async def test_of_ten_equal_proposals_at_once_one_is_written(client: MakeClient) -> None:
    alice = await client()
    answers = await asyncio.gather(*(proposed(alice, "tea") for _ in range(10)))
    assert sorted(answer["because"] for answer in answers) == ["in_force"] * 9 + ["nothing_known"]
    await state(alice, "milk", version=1)
    waiting = await asyncio.gather(*(proposed(alice, "coffee") for _ in range(10)))
    assert len({answer["candidate"]["id"] for answer in waiting}) == 1
    assert len(await candidates_of(alice)) == 1
