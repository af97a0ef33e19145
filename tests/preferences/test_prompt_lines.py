"""What preferences give to a prompt: those in force for the agent, as constraints, one line each."""

from datetime import UTC, datetime

from app.core.ids import show
from app.core.memory import Question, Tier
from app.core.scope import Scope
from app.core.versions import Absent, Exactly
from app.preferences.model import Statement
from app.preferences.source import PreferenceSource
from app.wiring import Wiring
from tests.conftest import MakeScope
from tests.preferences.wired import preferences_of


def question(*kinds: str, snapshot: int | None = None) -> Question:
    return Question("How?", None, frozenset(kinds), datetime.now(UTC), snapshot=snapshot)


async def lines(wiring: Wiring, scope: Scope, snapshot: int | None = None) -> list[str]:
    found = await PreferenceSource(wiring.db).gather(scope, question("preferences", snapshot=snapshot))
    assert all(bool(candidate.text) == (candidate.ignored is None) for candidate in found)
    return [candidate.text or str(candidate.ignored) for candidate in found]


async def test_each_is_a_line_of_its_key_and_value(wiring: Wiring, scope: MakeScope) -> None:
    alice, preferences = await scope("alice"), preferences_of(wiring)
    values = {"units": {"length": "m"}, "language": "zh-CN", "tone": "简短"}
    written = [
        await preferences.write(alice, Statement(key, value), None, Absent(), None) for key, value in values.items()
    ]
    ids = {each.preference.key: show("prf", each.preference.id) for each in written}
    found = await PreferenceSource(wiring.db).gather(alice, question("preferences", "profile"))
    assert [candidate.text for candidate in found] == [
        'language: "zh-CN"',
        'tone: "简短"',
        'units: {"length": "m"}',
    ]
    assert [candidate.id for candidate in found] == [ids[key] for key in ("language", "tone", "units")]
    assert {(each.kind, each.tier, each.origin, each.version) for each in found} == {
        ("preferences", Tier.CONSTRAINTS, "stated", 1),
    }


async def test_an_agents_own_value_goes_before_the_general_one(wiring: Wiring, scope: MakeScope) -> None:
    writer, reviewer = await scope("alice", agent="writer"), await scope("alice", agent="reviewer")
    preferences = preferences_of(wiring)
    await preferences.write(writer, Statement("language", "en"), None, Absent(), None)
    await preferences.write(writer, Statement("language", "zh-CN"), "writer", Absent(), None)
    assert await lines(wiring, writer) == ['language: "zh-CN"', "superseded"]
    assert await lines(wiring, reviewer) == ['language: "en"', "wrong_agent"]


async def test_a_snapshot_gives_what_was_in_force_and_says_what_is_erased(wiring: Wiring, scope: MakeScope) -> None:
    alice, preferences = await scope("alice"), preferences_of(wiring)
    await preferences.write(alice, Statement("language", "en"), None, Absent(), None)
    await preferences.write(alice, Statement("diet", "vegan"), None, Absent(), None)
    await preferences.write(alice, Statement("language", "zh-CN"), None, Exactly(frozenset({1})), None)
    assert await lines(wiring, alice, snapshot=1) == ['language: "en"']
    assert await lines(wiring, alice, snapshot=2) == ['diet: "vegan"', 'language: "en"']
    await preferences.delete(alice, "diet", None, Exactly(frozenset({1})), None)
    assert await lines(wiring, alice, snapshot=2) == ["erased", 'language: "en"']
    assert await lines(wiring, alice) == ['language: "zh-CN"']


async def test_who_has_none_or_is_not_asked_gives_nothing(wiring: Wiring, scope: MakeScope) -> None:
    alice, bob = await scope("alice"), await scope("bob")
    await preferences_of(wiring).write(alice, Statement("language", "en"), None, Absent(), None)
    assert await lines(wiring, bob) == []
    assert await PreferenceSource(wiring.db).gather(alice, question("profile", "messages")) == []
