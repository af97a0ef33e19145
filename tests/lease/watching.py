"""A process that writes and reads over and over, sessions and user memory, and tells what it was answered and when.

A line for each answer: `wrote` or `read`, of what, when it was asked for, when it was answered, then its version and,
of a session, the last message. All processes of a machine have the same clock.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from uuid import UUID

from app.core import clock
from app.core.errors import AppError
from app.core.idempotency import Answer
from app.core.moments import NOW
from app.core.scope import Scope
from app.core.shown import Rendering
from app.core.versions import Absent, Anything, Exactly, Precondition
from app.preferences.model import InForce, Statement
from app.preferences.schemas import in_force_answer
from app.preferences.service import Preferences
from app.profile.model import Seen
from app.profile.service import Profiles
from app.sessions.model import Body, Draft, Role, View
from app.sessions.service import Sessions
from app.settings import Settings
from app.web.idempotency import rendered
from app.wiring import Wiring, build
from tests.sessions.talk import the

AT_ONCE = 2
CHANGES_EVERY = 5
PAUSE_S = 0.01

Work = Callable[[Sessions, Scope, UUID, int], Awaitable[None]]
Turn = Callable[[int], Awaitable[None]]
LISTED: Rendering[InForce] = Rendering("watched", lambda found: rendered(in_force_answer(found, None)))
PROFILE: Rendering[Seen] = Rendering("watched", lambda _: Answer(200, {}, b""))
MEMORY = "memory"


def tell(kind: str, name: str, asked_at: float, version: int, last: int = 0) -> None:
    """Print the line of an answer."""
    sys.stdout.write(f"{kind} {name} {asked_at} {clock.now_s()} {version} {last}\n")
    sys.stdout.flush()


async def write(sessions: Sessions, scope: Scope, session: UUID, number: int) -> None:
    """Append a message, or change the title now and then."""
    asked_at = clock.now_s()
    if number % CHANGES_EVERY == 0:
        view = await sessions.change(scope, session, {"title": f"title {number}"}, Anything())
        tell("wrote", session.hex, asked_at, view.session.version, view.session.last)
        return
    appended = await sessions.append(scope, session, [Draft(Role.USER, Body(content=f"Never say {number}."))])
    tell("wrote", session.hex, asked_at, 0, appended.messages[-1].seq)


async def read(sessions: Sessions, scope: Scope, session: UUID, _number: int) -> None:
    """Read the session."""
    asked_at = clock.now_s()
    view = await sessions.view(scope, session)
    check(view)
    tell("read", session.hex, asked_at, view.session.version, view.session.last)


def check(view: View) -> None:
    """A view is whole: its window ends with the last message, without a gap."""
    numbers = [message.seq for message in view.window]
    if numbers != list(range(view.session.last - len(numbers) + 1, view.session.last + 1)):
        raise ValueError(f"the window of {view.session.last} messages shows {numbers}")


@dataclass
class Statements:
    """Changes user memory: a preference of its own, and the profile now and then."""

    wiring: Wiring
    scope: Scope
    key: str

    async def state(self, number: int) -> None:
        """Write the next version of the preference, or of the profile."""
        try:
            await (self._patch(number) if number % CHANGES_EVERY == 0 else self._put(number))
        except AppError as error:
            if error.code != "stale_version":
                raise

    async def _put(self, number: int) -> None:
        preferences = the(self.wiring, Preferences)
        precondition: Precondition = Absent()
        with suppress(AppError):
            found = await preferences.read(self.scope, self.key, None, NOW)
            precondition = Exactly(frozenset({found.preference.version.number}))
        asked_at = clock.now_s()
        said = Statement(self.key, number)
        version = (await preferences.write(self.scope, said, None, precondition, None)).preference.version
        tell("wrote", self.key, asked_at, version.number)
        tell("wrote", MEMORY, asked_at, version.change_number)

    async def _patch(self, number: int) -> None:
        profiles = the(self.wiring, Profiles)
        version = (await profiles.read(self.scope)).profile.version
        asked_at = clock.now_s()
        seen = await profiles.patch(self.scope, {"name": f"name {number}"}, Exactly(frozenset({version})), None)
        tell("wrote", "profile", asked_at, seen.profile.version)
        tell("wrote", MEMORY, asked_at, seen.profile.change_number)


async def recall(wiring: Wiring, scope: Scope, _number: int) -> None:
    """Read the preferences in force and the profile, as the routes do."""
    asked_at = clock.now_s()
    shown = await the(wiring, Preferences).show_in_force(scope, None, NOW, None, 50, LISTED)
    tell("read", MEMORY, asked_at, shown.number)
    for item in json.loads(shown.answer.body)["items"]:
        tell("read", item["key"], asked_at, item["version"])
    asked_at = clock.now_s()
    shown = await the(wiring, Profiles).show(scope, NOW, PROFILE)
    tell("read", "profile", asked_at, shown.version or 0)
    tell("read", MEMORY, asked_at, shown.number)


async def go_on(turn: Turn) -> None:
    """Do it again and again. What a store that is down refuses isn't acknowledged."""
    for number in count(1):
        try:
            await turn(number)
        except AppError as error:
            if error.code != "store_unavailable":
                raise
        await asyncio.sleep(PAUSE_S)


async def main(kind: str, tenant: str, usr: str, names: Sequence[str]) -> None:
    """Write or read the sessions, and change and read user memory, until stdin ends."""
    async with build(Settings()) as wiring:
        scope, sessions = Scope(tenant, UUID(hex=usr), None), the(wiring, Sessions)
        work = write if kind == "write" else read
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        work_all: list[Turn] = [partial(work, sessions, scope, UUID(hex=name)) for name in names]
        work_all += [partial(recall, wiring, scope)]
        turns = [asyncio.create_task(go_on(each)) for each in work_all for _ in range(AT_ONCE)]
        own = [Statements(wiring, scope, f"of-{os.getpid()}.{each}") for each in range(AT_ONCE)]
        turns += [asyncio.create_task(go_on(each.state)) for each in own]
        end = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
        done, _ = await asyncio.wait([end, *turns], return_when=asyncio.FIRST_COMPLETED)
        for turn in turns:
            turn.cancel()
        for each in done - {end}:
            await each


if __name__ == "__main__":
    kind, tenant, usr, *names = sys.argv[1:]
    asyncio.run(main(kind, tenant, usr, names))
