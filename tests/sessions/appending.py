"""Another API worker: says when it is ready, is told to go, appends at once, and prints what was acknowledged."""

import asyncio
import sys
from uuid import UUID

from app.core.ids import parse
from app.core.scope import Scope
from app.sessions.model import Body, Draft, Role
from app.sessions.service import Sessions
from app.settings import Settings
from app.wiring import build
from tests.sessions.talk import the


async def main(tenant: str, usr: str, session: str, count: int, number: int) -> None:
    """Append `count` messages, all at once."""
    async with build(Settings()) as wiring:
        sessions = the(wiring, Sessions)
        scope = Scope(tenant, UUID(hex=usr), None)

        async def append(place: int) -> str:
            text = f"process {number} message {place}"
            appended = await sessions.append(scope, parse("ses", session), [Draft(Role.USER, Body(content=text))])
            return f"{appended.messages[0].seq} {text}"

        await sessions.page(scope, None, 1)  # connected, as a process is that serves
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        for line in await asyncio.gather(*(append(place) for place in range(count))):
            sys.stdout.write(line + "\n")


if __name__ == "__main__":
    tenant, usr, session, count, number = sys.argv[1:]
    asyncio.run(main(tenant, usr, session, int(count), int(number)))
