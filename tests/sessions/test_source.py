"""What sessions give to a prompt."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest

from app.core.errors import AppError
from app.core.ids import show, uuid7
from app.core.memory import Candidate, Question, Source, Tier
from app.core.scope import Scope
from app.sessions.model import Body, Draft, Opening, Role
from app.sessions.service import Sessions
from app.wiring import Wiring
from tests.conftest import MakeScope
from tests.sessions.talk import the

ALL = ("summary", "messages", "recall")


async def ask(
    sources: Sequence[Source],
    scope: Scope,
    session_id: UUID | None,
    text: str = "anything",
    kinds: Sequence[str] = ALL,
) -> Sequence[Candidate]:
    question = Question(text, session_id, frozenset(kinds), datetime.now(UTC))
    return [candidate for source in sources for candidate in await source.gather(scope, question)]


def user(text: str) -> Draft:
    return Draft(Role.USER, Body(content=text))


async def test_constraints_come_first_then_the_summary_then_the_last_three(
    wiring: Wiring,
    sources: Sequence[Source],
    scope: MakeScope,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening(window_size=5))).view.session
    await sessions.append(alice, session.id, [user("Never use tables. My cat is called Quetzal.")])
    await sessions.append(alice, session.id, [user(f"Talk number {number} of the day.") for number in range(30)])
    await sessions.append(alice, session.id, [user("不要用缩写。")])
    found = await ask(sources, alice, session.id, kinds=["summary", "messages"])
    kinds = [candidate.kind for candidate in found]
    assert kinds == ["constraints", "constraints", "summary", "messages", "messages", "messages"]
    assert [candidate.text for candidate in found[:2]] == ["不要用缩写。", "Never use tables."]
    assert {candidate.tier for candidate in found[:2]} == {Tier.CONSTRAINTS}
    assert [candidate.text for candidate in found[3:]] == [
        "Talk number 28 of the day.",
        "Talk number 29 of the day.",
        "不要用缩写。",
    ]
    assert [candidate.order for candidate in found[3:]] == [2, 1, 0]


async def test_what_the_prompt_has_already_is_not_recalled_again(
    wiring: Wiring,
    sources: Sequence[Source],
    scope: MakeScope,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening())).view.session
    drafts = [user(f"The zebra number {number}.") for number in range(6)]
    ids = [show("msg", message.id) for message in (await sessions.append(alice, session.id, drafts)).messages]
    found = [candidate for candidate in await ask(sources, alice, session.id, "zebra") if candidate.kind == "recall"]
    assert {candidate.id for candidate in found if candidate.ignored is None} == set(ids[:3])
    assert {candidate.id for candidate in found if candidate.ignored == "duplicate"} == set(ids[3:])
    # Without its messages in the prompt, or without the session, all of it is from before.
    for session_id, kinds in ((session.id, ["recall"]), (None, ALL)):
        found = list(await ask(sources, alice, session_id, "zebra", kinds))
        assert [candidate.ignored for candidate in found] == [None] * 3 + ["below_threshold"] * 3


async def test_a_call_and_its_result_are_one_candidate(
    wiring: Wiring,
    sources: Sequence[Source],
    scope: MakeScope,
) -> None:
    alice, sessions = await scope(), the(wiring, Sessions)
    session = (await sessions.open(alice, Opening())).view.session
    call = Draft(Role.ASSISTANT, Body(tool_calls=[{"id": "c", "function": {"name": "weather", "arguments": "{}"}}]))
    result = Draft(Role.TOOL, Body(content="18 degrees", tool_call_id="c"))
    await sessions.append(alice, session.id, [user("one"), user("two"), call, result, user("three")])
    found = await ask(sources, alice, session.id, kinds=["messages"])
    assert [candidate.text for candidate in found] == ["two", "assistant: [calls weather]\ntool: 18 degrees", "three"]


async def test_a_session_of_someone_else_is_not_found(
    wiring: Wiring,
    sources: Sequence[Source],
    scope: MakeScope,
) -> None:
    alice, bob, sessions = await scope(), await scope(), the(wiring, Sessions)
    session = (await sessions.open(bob, Opening())).view.session
    for session_id in (session.id, uuid7()):
        with pytest.raises(AppError, match="not_found"):
            await ask(sources, alice, session_id)


async def test_a_user_with_nothing_gives_nothing(
    sources: Sequence[Source],
    scope: MakeScope,
) -> None:
    assert await ask(sources, await scope(), None) == []
