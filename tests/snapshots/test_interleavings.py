"""Whatever is done in whichever order: versions have no gap, and a snapshot never changes but for what is erased."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from uuid import UUID

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from app.core.scope import Scope
from app.infra.db.snapshots import show_snapshot
from app.infra.db.tables import user_changes
from app.wiring import Wiring
from tests.conftest import MakeClient
from tests.snapshots.reading import Json, User, facts, preferences, value
from tests.snapshots.steps import AGENTS, ERASED, STEPS, WRITER, Held, Memory, Step

WRITERS = 10
READERS = 2
TRIES = 3

# A failure is told as it was found: to look for a smaller one takes minutes against real servers.
properties = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    report_multiple_bugs=False,
)


@dataclass(frozen=True)
class Change:
    """One change of user memory: its snapshot, and its time."""

    snapshot: str
    at: str


async def new_user(client: MakeClient) -> User:
    sub = f"user-{uuid.uuid4().hex[:8]}"
    return User(await client(sub, agent=WRITER), await client(sub))


async def changes(wiring: Wiring, tenant: str, user: User) -> list[Change]:
    """Return all changes of a user, after a look that numbers have no gap and times are in their order."""
    usr = UUID(hex=(await user.profile())["id"].removeprefix("usr_"))
    async with wiring.db.read(Scope(tenant, usr, None)) as tx:
        rows = await tx.rows(select(user_changes.c.number, user_changes.c.at).order_by(user_changes.c.number))
        assert [row.number for row in rows] == list(range(1, await tx.change_number() + 1))
        assert [row.at for row in rows] == sorted({row.at for row in rows})
        return [Change(show_snapshot(tx.box, row.number), row.at.isoformat()) for row in rows]


@given(st.lists(STEPS, min_size=1, max_size=25))
@settings(properties, max_examples=8)
async def test_what_is_read_at_every_moment_is_what_the_model_says(
    client: MakeClient, wiring: Wiring, tenant: str, steps: list[Step]
) -> None:
    user, memory, numbers = await new_user(client), Memory(), count()
    for step in steps:
        values = [f"v{next(numbers)}" for _ in range(3)]
        version = await user.version(step)
        status = memory.take(step, iter(values))
        answer = await user.take(step, version, values)
        assert answer.status_code == status, (step, answer.text)
    made = await changes(wiring, tenant, user)
    assert len(made) == memory.changes
    for number, change in enumerate(made, 1):
        for moment in ({"snapshot": change.snapshot}, {"as_of": change.at}):
            shown = await user.profile(**moment)
            assert facts(shown) == memory.profile_at(number)
            assert (shown["snapshot"], shown["changes_since"]) == (change.snapshot, memory.changes - number)
            for agent in AGENTS:
                page = await user.in_force(agent, **moment)
                assert preferences(page) == memory.in_force_at(number, agent)
                assert (page["snapshot"], page["changes_since"]) == (change.snapshot, memory.changes - number)
    for held, preference in memory.preferences.items():
        if preference.versions:
            versions = await user.versions(held)
            assert [each["version"] for each in versions] == list(range(1, len(versions) + 1))
            assert [value(each) for each in versions] == [said for _, said in preference.versions]
    versions = await user.versions(None)
    assert [facts(each) for each in versions] == [(place, said) for place, (_, said) in enumerate(memory.profile, 1)]


@dataclass
class Race:
    """What writers and readers of one user have met."""

    user: User
    # Where each value was put, and in which version.
    put: dict[str, tuple[Held | str, int]] = field(default_factory=dict)
    # What is erased: up to which version.
    gone: list[tuple[Held | str, int]] = field(default_factory=list)
    profiles: list[tuple[dict[str, str], Json]] = field(default_factory=list)
    pages: list[tuple[str, dict[str, str], Json]] = field(default_factory=list)

    async def write(self, writer: int, steps: list[Step]) -> None:
        """Take steps, each bound to the version that was read just before; give up where others keep being first."""
        numbers = count()
        for step in steps:
            values = [f"w{writer}-{next(numbers)}." for _ in range(3)]
            for _ in range(TRIES):
                version = await self.user.version(step)
                answer = await self.user.take(step, version, values)
                assert answer.status_code in {200, 201, 204, 404, 409, 412}, answer.text
                if answer.is_success:
                    self._note(step, values, int(answer.headers["etag"].strip('"')))
                if answer.status_code != 412:
                    break

    def _note(self, step: Step, values: list[str], version: int) -> None:
        match step.verb:
            case "put":
                self.put[values[0]] = (step.held, version)
            case "patch":
                places = [place for place, is_put in step.places.items() if is_put]
                self.put |= {said: (place, version) for place, said in zip(places, values, strict=False)}
            case "delete":
                self.gone.append((step.held, version))
            case "erase":
                self.gone.append((next(iter(step.places)), version))

    async def read(self, is_over: asyncio.Event) -> None:
        """Read everything again and again, now and as of now, until there is nothing more to see."""
        while not is_over.is_set():
            now = {"as_of": datetime.now(UTC).isoformat()}
            for moment in ({}, now):
                shown = await self.user.profile(**moment)
                self.profiles.append((moment or {"snapshot": shown["snapshot"]}, shown))
                for agent in AGENTS:
                    page = await self.user.in_force(agent, **moment)
                    self.pages.append((agent, moment or {"snapshot": page["snapshot"]}, page))

    def erased_values(self) -> set[str]:
        """Return what nobody may be shown any more."""
        return {
            said
            for said, (where, version) in self.put.items()
            for erased, up_to in self.gone
            if where == erased and version < up_to
        }


def same_or_erased(then: object, now: object) -> bool:
    return now in (then, ERASED)


async def check_reads(race: Race) -> None:
    """Every read that was answered during the race is answered the same again, but for what is erased since."""
    for moment, shown in race.profiles:
        again = await race.user.profile(**moment)
        assert again["snapshot"] == shown["snapshot"]
        (version, then), (version_now, now) = facts(shown), facts(again)
        assert (version, then.keys()) == (version_now, now.keys())
        assert all(same_or_erased(then[place], now[place]) for place in then)
    for agent, moment, shown in race.pages:
        page = await race.user.in_force(agent, **moment)
        assert page["snapshot"] == shown["snapshot"]
        before, after = preferences(shown), preferences(page)
        assert before.keys() == after.keys()
        for key, (owner, number, said) in before.items():
            assert after[key][:2] == (owner, number)
            assert same_or_erased(said, after[key][2])


async def check_moments(race: Race, made: list[Change]) -> str:
    """As of the time of each change everything is as in its snapshot; return all that is shown, as one text."""
    seen = []
    for change in made:
        reads: list[Callable[..., Awaitable[Json]]] = [race.user.profile]
        reads += [lambda agent=agent, **moment: race.user.in_force(agent, **moment) for agent in AGENTS]
        for read in reads:
            at_snapshot, as_of = await read(snapshot=change.snapshot), await read(as_of=change.at)
            assert at_snapshot == as_of
            seen.append(str(at_snapshot))
    return "\n".join(seen)


async def check_versions(race: Race) -> str:
    """Versions have no gap, and those of one thing are in the order of the changes; return all of them, as one text."""
    seen = []
    everything = {where for where, _ in race.put.values() if not isinstance(where, str)}
    for held in (*everything, None):
        versions = await race.user.versions(held)
        assert [each["version"] for each in versions] == list(range(1, len(versions) + 1))
        assert [each["written_at"] for each in versions] == sorted({each["written_at"] for each in versions})
        seen.append(str(versions))
    return "\n".join(seen)


@given(st.lists(st.lists(STEPS, min_size=2, max_size=3), min_size=WRITERS, max_size=WRITERS))
@settings(properties, max_examples=3)
async def test_ten_writers_leave_no_gap_and_no_snapshot_that_changes(
    client: MakeClient, wiring: Wiring, tenant: str, programs: list[list[Step]]
) -> None:
    race, is_over = Race(await new_user(client)), asyncio.Event()
    readers = [asyncio.create_task(race.read(is_over)) for _ in range(READERS)]
    await asyncio.gather(*(race.write(writer, steps) for writer, steps in enumerate(programs)))
    is_over.set()
    await asyncio.gather(*readers)
    made = await changes(wiring, tenant, race.user)
    await check_reads(race)
    shown = await check_moments(race, made) + await check_versions(race)
    assert not {said for said in race.erased_values() if said in shown}
