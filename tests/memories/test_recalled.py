"""Facts are recalled beside messages, and stand in contexts: by words at once, by meaning after the worker's turn."""

from datetime import UTC, datetime

import pytest

from app.core.ids import uuid7
from app.core.recall import Fact, Said, merged
from app.memories.indexing import INDEX_JOB
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope
from tests.memories.facts import add, delete, put, recalled
from tests.sessions.talk import append, open_session, said

CAT = "The user's cat is called Quetzal."
TEA = "用户喜欢喝龙井茶，不加糖。"


async def index(wiring: Wiring, scope: MakeScope, sub: str = "alice") -> None:
    """Do the worker's work for a user."""
    handler = next(handler for handler in wiring.handlers if handler.name == INDEX_JOB)
    await handler.run(await scope(sub), {})


async def test_a_fact_is_recalled_by_its_words_at_once_and_shows_who_said_it(client: MakeClient) -> None:
    alice, bob = await client("alice"), await client("bob")
    cat = await add(alice, CAT, source="explicit")
    await add(alice, TEA)
    hits = await recalled(alice, "What is the cat called?")
    assert hits[0] == {
        "kind": "memory",
        "memory_id": cat["id"],
        "version": 1,
        "text": CAT,
        "source": "explicit",
        "trust": "explicit",
        "created_at": cat["updated_at"],
        "expires_at": None,
        "score": hits[0]["score"],
        "superseded": [],
    }
    assert (await recalled(alice, "喜欢喝什么茶"))[0]["text"] == TEA
    assert await recalled(bob, "What is the cat called?") == []


async def test_a_fact_is_recalled_by_its_meaning_after_the_workers_turn(
    client: MakeClient, wiring: Wiring, scope: MakeScope
) -> None:
    alice = await client()
    await add(alice, "She has a small feline at home.")
    for number in range(8):
        await add(alice, f"Report number {number} is due on Monday.")
    pending = (await alice.post("/v1/recall", json={"query": "kitten pet"})).json()["index"]["pending"]
    await index(wiring, scope)
    after = (await alice.post("/v1/recall", json={"query": "kitten pet"})).json()
    assert (pending, after["index"]["pending"]) == (9, 0)
    assert after["hits"][0]["text"] == "She has a small feline at home."


async def test_a_changed_fact_is_found_by_its_new_words_and_a_deleted_one_not_at_all(
    client: MakeClient, wiring: Wiring, scope: MakeScope
) -> None:
    alice = await client()
    memory = await add(alice, "Works at Zephyr.")
    other = await add(alice, "Drives a lorry.")
    assert [hit["text"] for hit in await recalled(alice, "Zephyr", top_k=1)] == ["Works at Zephyr."]
    memory = await put(alice, memory, "Works at Mistral.")
    # Before and after the worker's turn: the index of this process must not answer from what it knew.
    for _ in range(2):
        assert "Zephyr" not in str(await recalled(alice, "Zephyr"))
        first = (await recalled(alice, "Mistral"))[0]
        assert (first["text"], first["version"]) == ("Works at Mistral.", 2)
        await index(wiring, scope)
    await delete(alice, memory)
    assert [hit["memory_id"] for hit in await recalled(alice, "Mistral works")] == [other["id"]]
    await index(wiring, scope)
    assert [hit["memory_id"] for hit in await recalled(alice, "Mistral works")] == [other["id"]]


async def test_facts_stand_among_messages_and_leave_their_order_as_it_was(
    client: MakeClient, wiring: Wiring, scope: MakeScope
) -> None:
    alice = await client()
    session = await open_session(alice)
    await append(
        alice,
        session,
        said("My cat is called Quetzal and she sleeps all day."),
        said("Cats are fine animals.", "assistant"),
        said("The weather is fine today."),
        said("My neighbour has a cat as well."),
    )
    before = await recalled(alice, "What is my cat called?")
    assert {hit["kind"] for hit in before} == {"message"}
    fact = await add(alice, "What the cat is called: Quetzal.")
    noise = await add(alice, "Prefers window seats on night trains.")
    await index(wiring, scope)
    both = await recalled(alice, "What is my cat called?")
    assert [hit for hit in both if hit["kind"] == "message"] == before
    places = {hit.get("memory_id"): place for place, hit in enumerate(both)}
    assert places[fact["id"]] < 2 < places[noise["id"]]
    scores = [hit["score"] for hit in both]
    assert scores == sorted(scores, reverse=True)
    assert len(await recalled(alice, "What is my cat called?", top_k=2)) == 2


async def test_what_bounds_messages_bounds_facts(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    await append(alice, session, said("My cat is called Quetzal."))
    memory = await add(alice, CAT)
    for wish in ({"session_id": session["id"]}, {"role": "user"}, {"before": memory["created_at"]}):
        assert {hit["kind"] for hit in await recalled(alice, "cat Quetzal", **wish)} == {"message"}
    assert {hit["kind"] for hit in await recalled(alice, "cat Quetzal", after=memory["updated_at"])} == {"memory"}


async def test_a_token_that_may_not_read_facts_recalls_none(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice)
    await append(alice, session, said("My cat is called Quetzal."))
    await add(alice, CAT)
    narrow = await client(scope="sessions:read")
    assert [hit["kind"] for hit in await recalled(narrow, "cat Quetzal")] == ["message"]


@pytest.mark.parametrize(("query", "text"), [("What is the cat called?", CAT), ("我喜欢喝什么茶？", TEA)])
async def test_facts_stand_in_a_context_in_a_block_of_their_own(client: MakeClient, query: str, text: str) -> None:
    alice = await client()
    await add(alice, CAT, source="explicit")
    await add(alice, TEA, source="explicit")
    context = (await alice.post("/v1/context", json={"query": query})).json()
    block = next(block for block in context["blocks"] if block["kind"] == "memories")
    assert text in block["text"].splitlines()[1]
    assert "[stated " in block["text"]
    assert context["usage"]["memories"] > 0
    loaded = [one for one in context["decisions"] if one["kind"] == "memories" and one["loaded"]]
    assert {one["reason"] for one in loaded} == {"loaded"}
    assert all(one["id"].startswith("mem_") for one in loaded)
    without = (await alice.post("/v1/context", json={"query": query, "include": ["profile"]})).json()
    assert text not in without["prompt"]


async def test_a_context_shows_facts_as_they_were_at_its_snapshot(client: MakeClient) -> None:
    alice = await client()
    memory = await add(alice, "The user's home town is Bern.")
    gone = await add(alice, "The user's home has a garden.")
    question = {"query": "home town garden of the user"}
    then = (await alice.post("/v1/context", json=question)).json()
    await put(alice, memory, "The user's home town is Basel.")
    await add(alice, "The user's home is by the river.")
    await delete(alice, gone)
    now = (await alice.post("/v1/context", json=question)).json()
    again = (await alice.post("/v1/context", json=question | {"snapshot": then["snapshot"]})).json()
    seen = [{word for word in ("Bern", "Basel", "river", "garden") if word in made["prompt"]} for made in (then, now)]
    assert seen == [{"Bern", "garden"}, {"Basel", "river"}]
    # What was deleted since is in no snapshot any more.
    assert {word for word in ("Bern", "Basel", "river", "garden.") if word in again["prompt"]} == {"Bern"}


def fact(text: str, score: float, cosine: float | None = None) -> Fact:
    """Make a fact that was found."""
    return Fact(uuid7(), 1, text, "explicit", "explicit", datetime.now(UTC), None, score, cosine)


def test_a_fact_stands_where_it_answers_as_well_as_what_follows() -> None:
    messages = [
        ("m1", Said("the cat is called Quetzal", 0.9, 0.8)),
        ("m2", Said("the weather is fine", 0.5, 0.1)),
        ("m3", Said("the cat sleeps", 0.4, 0.5)),
    ]
    good, poor = fact("Quetzal the cat", 0.2, 0.7), fact("night trains", 1.0, 0.0)
    found = merged("what is the cat called", messages, [good, poor])
    assert [one if isinstance(one, str) else one.id for one in found] == ["m1", good.id, "m2", "m3", poor.id]
    scores = [one.score for one in found if isinstance(one, Fact)]
    assert scores == [0.5, 0.4]


def test_facts_alone_and_messages_alone_stay_as_they_are() -> None:
    facts = [fact("one", 0.7), fact("the question", 0.6)]
    assert merged("the question", [], facts) == facts
    assert merged("the question", [("m", Said("x", 0.5, None))], []) == ["m"]


def test_without_vectors_words_decide() -> None:
    messages = [("m1", Said("the cat is called Quetzal", 0.9, None)), ("m2", Said("rain", 0.5, None))]
    found = merged("how is the cat called", messages, [fact("a cat", 1.0)])
    assert [isinstance(one, Fact) for one in found] == [False, True, False]
