"""What the profile gives to a prompt: a line for each thing that is known, now or at a snapshot."""

from datetime import UTC, datetime

from app.core.ids import show
from app.core.memory import Question, Tier
from app.core.versions import Exactly
from app.profile.source import ProfileSource
from app.wiring import Wiring
from tests.conftest import MakeScope
from tests.profile.wired import profiles_of


def question(*kinds: str, snapshot: int | None = None) -> Question:
    return Question("Who?", None, frozenset(kinds), datetime.now(UTC), snapshot=snapshot)


async def test_each_known_thing_is_a_line(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope("alice")
    changes = {"name": "李伟", "role": None, "active": False, "attributes": {"team": {"floor": 3}, "pets": []}}
    await profiles_of(wiring).patch(alice, changes, Exactly(frozenset({0})), None)
    found = await ProfileSource(wiring.db).gather(alice, question("profile"))
    assert [candidate.text for candidate in found] == ['name: "李伟"', 'team: {"floor": 3}', "pets: []"]
    assert {(each.kind, each.id, each.version, each.tier, each.origin) for each in found} == {
        ("profile", show("usr", alice.usr), 1, Tier.USER, "stated"),
    }


async def test_a_snapshot_gives_what_was_known_then(wiring: Wiring, scope: MakeScope) -> None:
    alice, profiles = await scope("alice"), profiles_of(wiring)
    for version, name in enumerate(("one", "two", "three")):
        await profiles.patch(alice, {"name": name}, Exactly(frozenset({version})), None)
    source = ProfileSource(wiring.db)
    texts = [[each.text for each in await source.gather(alice, question("profile", snapshot=n))] for n in range(4)]
    assert texts == [[], ['name: "one"'], ['name: "two"'], ['name: "three"']]


async def test_what_was_erased_since_the_snapshot_is_told_without_its_words(wiring: Wiring, scope: MakeScope) -> None:
    alice, profiles = await scope("alice"), profiles_of(wiring)
    await profiles.patch(alice, {"name": "one", "attributes": {"pets": ["cat"]}}, Exactly(frozenset({0})), None)
    for version, path in enumerate((("name",), ("attributes", "pets")), 1):
        await profiles.erase_field(alice, path, Exactly(frozenset({version})), None)
    source = ProfileSource(wiring.db)
    told = [
        [
            (each.version, each.text, each.ignored)
            for each in await source.gather(alice, question("profile", snapshot=n))
        ]
        for n in (1, 2, None)
    ]
    assert told == [[(1, "", "erased")] * 2, [(2, "", "erased")] * 2, []]


async def test_who_has_none_or_is_not_asked_gives_nothing(wiring: Wiring, scope: MakeScope) -> None:
    alice, bob = await scope("alice"), await scope("bob")
    await profiles_of(wiring).patch(alice, {"name": "Li Wei"}, Exactly(frozenset({0})), None)
    source = ProfileSource(wiring.db)
    assert await source.gather(bob, question("profile")) == []
    assert await source.gather(alice, question("preferences")) == []
