"""What sessions give to a prompt."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest

from app.core.errors import AppError
from app.core.ids import show, uuid7
from app.core.memory import Candidate, Question, Tier
from app.core.scope import Scope
from app.sessions.model import Body, Draft, Opening, Role
from app.sessions.service import Sessions
from app.sessions.source import SessionSource
from app.wiring import Wiring
from tests.conftest import MakeScope
from tests.sessions.talk import the

ALL = ("summary", "messages", "recall")


async def ask(
    source: SessionSource,
    scope: Scope,
    session_id: UUID | None,
    text: str = "anything",
    kinds: Sequence[str] = ALL,
) -> Sequence[Candidate]:
    question = Question(text, session_id, frozenset(kinds), datetime.now(UTC))
    return await source.gather(scope, question)


def user(text: str) -> Draft:
    return Draft(Role.USER, Body(content=text))


async def test_constraints_come_first_then_the_summary_then_the_last_three(
    wiring: Wiring,
    source: SessionSource,
    scope: MakeScope,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening(window_size=5))).view.session
    await sessions.append(alice, session.id, [user("Never use tables. My cat is called Quetzal.")])
    await sessions.append(alice, session.id, [user(f"Talk number {number} of the day.") for number in range(30)])
    await sessions.append(alice, session.id, [user("不要用缩写。")])
    found = await ask(source, alice, session.id, kinds=["summary", "messages"])
    kinds = [candidate.kind for candidate in found]
    assert kinds == ["constraints", "constraints", "summary", "messages", "messages", "messages"]
    assert [candidate.text for candidate in found[:2]] == ["不要用缩写。", "Never use tables."]
    assert {candidate.tier for candidate in found[:2]} == {Tier.CONSTRAINTS}
    assert [candidate.text for candidate in found[3:]] == [
        "Talk number 28 of the day.",
        "Talk number 29 of the day.",
        "不要用缩写。",
    ]
    assert [candidate.order for candidate in found[3:]] == [0, 1, 2]


async def test_what_is_in_the_window_is_not_recalled_again(
    wiring: Wiring,
    source: SessionSource,
    scope: MakeScope,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening(window_size=2))).view.session
    drafts = [user(f"The zebra number {number}.") for number in range(6)]
    appended = await sessions.append(alice, session.id, drafts)
    found = await ask(source, alice, session.id, "zebra")
    recalled = [candidate for candidate in found if candidate.kind == "recall" and candidate.ignored is None]
    newest = {show("msg", message.id) for message in appended.messages[-2:]}
    assert len(recalled) == 3
    assert newest.isdisjoint(candidate.id for candidate in recalled)
    ignored = {candidate.id for candidate in found if candidate.ignored == "duplicate"}
    assert ignored <= newest
    # Without the session, or in another one, all of it is from before.
    assert len(await ask(source, alice, None, "zebra")) == 3


async def test_a_call_and_its_result_are_one_candidate(
    wiring: Wiring,
    source: SessionSource,
    scope: MakeScope,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening())).view.session
    call = Draft(Role.ASSISTANT, Body(tool_calls=[{"id": "c", "function": {"name": "weather", "arguments": "{}"}}]))
    result = Draft(Role.TOOL, Body(content="18 degrees", tool_call_id="c"))
    await sessions.append(alice, session.id, [user("one"), user("two"), call, result, user("three")])
    found = await ask(source, alice, session.id, kinds=["messages"])
    assert [candidate.text for candidate in found] == ["two", "assistant: [calls weather]\ntool: 18 degrees", "three"]


async def test_a_session_of_someone_else_is_not_found(
    wiring: Wiring,
    source: SessionSource,
    scope: MakeScope,
) -> None:
    alice, bob, sessions = await scope(), await scope(), the(wiring, Sessions)
    session = (await sessions.open(bob, Opening())).view.session
    for session_id in (session.id, uuid7()):
        with pytest.raises(AppError, match="not_found"):
            await ask(source, alice, session_id)


async def test_a_user_with_nothing_gives_nothing(
    source: SessionSource,
    scope: MakeScope,
) -> None:
    assert await ask(source, await scope(), None) == []
