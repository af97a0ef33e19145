"""A process that writes sessions or reads them, over and over, and tells what it was answered and when.

A line for each answer: `wrote` or `read`, the session, when it was asked for, when it was answered, then the session's
version and its last message. All processes of a machine have the same clock.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from uuid import UUID

from app.core import clock
from app.core.errors import AppError
from app.core.scope import Scope
from app.core.versions import Anything
from app.sessions.model import Body, Draft, Role, View
from app.sessions.service import Sessions
from app.settings import Settings
from app.wiring import build
from tests.sessions.talk import the

AT_ONCE = 2
CHANGES_EVERY = 5
PAUSE_S = 0.01

Work = Callable[[Sessions, Scope, UUID, int], Awaitable[None]]


def tell(kind: str, session: UUID, asked_at: float, version: int, last: int) -> None:
    """Print the line of an answer."""
    sys.stdout.write(f"{kind} {session.hex} {asked_at} {clock.now_s()} {version} {last}\n")
    sys.stdout.flush()


async def write(sessions: Sessions, scope: Scope, session: UUID, number: int) -> None:
    """Append a message, or change the title now and then."""
    asked_at = clock.now_s()
    if number % CHANGES_EVERY == 0:
        view = await sessions.change(scope, session, {"title": f"title {number}"}, Anything())
        tell("wrote", session, asked_at, view.session.version, view.session.last)
        return
    appended = await sessions.append(scope, session, [Draft(Role.USER, Body(content=f"Never say {number}."))])
    tell("wrote", session, asked_at, 0, appended.messages[-1].seq)


async def read(sessions: Sessions, scope: Scope, session: UUID, _number: int) -> None:
    """Read the session."""
    asked_at = clock.now_s()
    view = await sessions.view(scope, session)
    check(view)
    tell("read", session, asked_at, view.session.version, view.session.last)


def check(view: View) -> None:
    """A view is whole: its window ends with the last message, without a gap."""
    numbers = [message.seq for message in view.window]
    if numbers != list(range(view.session.last - len(numbers) + 1, view.session.last + 1)):
        raise ValueError(f"the window of {view.session.last} messages shows {numbers}")


async def go_on(work: Work, sessions: Sessions, scope: Scope, session: UUID) -> None:
    """Do it again and again. What a store that is down refuses isn't acknowledged."""
    for number in count(1):
        try:
            await work(sessions, scope, session, number)
        except AppError as error:
            if error.code != "store_unavailable":
                raise
        await asyncio.sleep(PAUSE_S)


async def main(kind: str, tenant: str, usr: str, names: Sequence[str]) -> None:
    """Write or read the sessions until stdin ends."""
    async with build(Settings()) as wiring:
        scope, sessions = Scope(tenant, UUID(hex=usr), None), the(wiring, Sessions)
        work = write if kind == "write" else read
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        turns = [
            asyncio.create_task(go_on(work, sessions, scope, UUID(hex=name))) for name in names for _ in range(AT_ONCE)
        ]
        end = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
        done, _ = await asyncio.wait([end, *turns], return_when=asyncio.FIRST_COMPLETED)
        for turn in turns:
            turn.cancel()
        for each in done - {end}:
            await each


if __name__ == "__main__":
    kind, tenant, usr, *names = sys.argv[1:]
    asyncio.run(main(kind, tenant, usr, names))
