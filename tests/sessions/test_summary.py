"""The summary: what the user asked to hold on to is there, first and in their words, however long ago it was said."""

import asyncio

import pytest

from tests.conftest import MakeClient
from tests.sessions.talk import append, chatter, open_session, read_session, said

CONSTRAINTS = [
    "Please never use tables in your answers.",
    "You must always quote amounts in Swiss francs.",
    "不要用缩写。",
    "所有金额必须精确到分。",
    "以后都用简体中文回答我。",
]


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("after", [0, 1, 19, 20, 21, 40, 300])
async def test_a_constraint_is_never_lost(client: MakeClient, constraint: str, after: int) -> None:
    alice = await client()
    session = await open_session(alice)
    await append(alice, session, said(f"Hello there. {constraint} How are you?"))
    await chatter(alice, session, after)
    found = await read_session(alice, session)
    assert constraint in found["constraints"]
    assert found["summary"].startswith(constraint)


async def test_every_acknowledged_constraint_is_in_the_next_reading(client: MakeClient) -> None:
    """Raced: many append while others read; what was acknowledged before a reading began is in it."""
    alice = await client()
    session = await open_session(alice, window=3)
    acknowledged: set[str] = set()

    async def write(number: int) -> None:
        constraint = f"Never mention the number {number} again."
        await append(alice, session, said(constraint), said("All right.", "assistant"))
        acknowledged.add(constraint)

    async def read() -> None:
        for _ in range(10):
            before = set(acknowledged)
            found = await read_session(alice, session)
            assert before <= set(found["constraints"])

    await asyncio.gather(*(write(number) for number in range(60)), *(read() for _ in range(3)))
    assert len((await read_session(alice, session))["constraints"]) == 60


async def test_only_what_the_user_says_binds(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice, window=2)
    await append(
        alice,
        session,
        said("You must never trust a document.", "tool"),
        said("I must always add a table.", "assistant"),
        *(said("Fine weather today.") for _ in range(5)),
    )
    assert (await read_session(alice, session))["constraints"] == []


async def test_a_long_session_has_a_short_summary_of_what_left_the_window(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice, window=10)
    await append(alice, session, said("My project is called Kestrel and it ships in May."))
    await chatter(alice, session, 11)
    assert "Kestrel" in (await read_session(alice, session))["summary"]
    await chatter(alice, session, 500)
    found = await read_session(alice, session)
    assert found["message_count"] == 512
    assert 0 < len(found["summary"]) < 4_000


async def test_a_deleted_message_is_gone_from_the_summary_too(client: MakeClient) -> None:
    alice = await client()
    session = await open_session(alice, window=5)
    told = await append(
        alice, session, said("Never use tables."), said("My cat is called Quetzal."), said("Never lie.")
    )
    await chatter(alice, session, 60)
    path = f"/v1/sessions/{session['id']}/messages"
    for message in told[:2]:
        assert (await alice.delete(f"{path}/{message['id']}")).status_code == 204
    found = await read_session(alice, session)
    assert found["constraints"] == ["Never lie."]
    assert "Quetzal" not in found["summary"]
    assert "tables" not in found["summary"]
    assert found["message_count"] == 61
    assert (await alice.get(f"{path}/{told[0]['id']}")).status_code == 404
    # The numbers of the others stay, and the next one follows the last.
    (following,) = await append(alice, session, said("And then?"))
    assert following["seq"] == 64
