"""Makes load, in a process of its own: `python -m app.bench.load < plan.json` prints what came of it as JSON.

A plan names a port, and for each connection the requests that it sends in turn. A request may hold two places that
are filled in as it is sent: `@VERSION@`, one more after each success of the connection, and `@NUMBER@`, another one
each time, of eight digits.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, cast

HOST: Final = "127.0.0.1"
LATE_S: Final = 30.0


@dataclass(frozen=True)
class Plan:
    """What is asked, by how many, for how long."""

    port: int
    # For each connection its requests.
    requests: list[list[str]]
    expected: int
    seconds: float = 5.0
    warm_s: float = 1.0
    # Each connection asks its requests once, instead of again and again.
    once: bool = False
    # Requests a second of all connections together; 0: each asks as soon as it is answered.
    rate: float = 0.0


@dataclass
class Found:
    """What came of it."""

    waits_ms: list[float] = field(default_factory=list)
    # Answers of another status than the expected one, by status.
    others: Counter[str] = field(default_factory=Counter)
    took_s: float = 0.0


class Connection(asyncio.Protocol):
    """Sends a request, and resolves a future when its answer is there."""

    def __init__(self) -> None:
        """Begin without an answer to wait for."""
        self.answer: asyncio.Future[int] | None = None
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits that nothing comes."""
        del exc
        self._resolve(0)

    def data_received(self, data: bytes) -> None:
        """Gather an answer, and tell its status when it is whole."""
        self._held += data
        head, found, body = self._held.partition(b"\r\n\r\n")
        if not found:
            return
        lines = head.lower()
        length = int(lines.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in lines else 0
        if len(body) >= length:
            self._held = b""
            self._resolve(int(head[9:12]))

    async def ask(self, request: bytes) -> int:
        """Return the status of an answer; 0 where the connection was lost."""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await asyncio.wait_for(self.answer, LATE_S)

    def _resolve(self, status: int) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(status)


async def made(plan: Plan) -> Found:
    """Make the load of a plan."""
    loop = asyncio.get_running_loop()
    lines = [(await loop.create_connection(Connection, HOST, plan.port))[1] for _ in plan.requests]
    found = Found()
    begins = time.perf_counter() + (0.0 if plan.once else plan.warm_s)
    ends = float("inf") if plan.once else begins + plan.seconds
    gap = len(lines) / plan.rate if plan.rate else 0.0
    places = range(len(lines))
    await asyncio.gather(*(_talk(lines[at], plan, at, begins, ends, gap, found) for at in places))
    found.took_s = time.perf_counter() - begins if plan.once else plan.seconds
    for line in lines:
        line.transport.abort()
    return found


async def _talk(line: Connection, plan: Plan, place: int, begins: float, ends: float, gap: float, found: Found) -> None:
    """Send a connection's requests. With a gap each has its own time, and what it waits is counted from then."""
    version, sent = 1, 0
    due = begins - plan.warm_s + gap * place / len(plan.requests)
    while time.perf_counter() < ends and not (plan.once and sent >= len(plan.requests[place])):
        if gap:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        started = due if gap else time.perf_counter()
        text = plan.requests[place][sent % len(plan.requests[place])]
        number = f"{(place * 1_000_000 + sent) % 100_000_000:08}"
        status = await line.ask(text.replace("@VERSION@", str(version)).replace("@NUMBER@", number).encode())
        sent += 1
        due += gap
        if status == plan.expected:
            version += 1
        if time.perf_counter() < begins:
            continue
        if status == plan.expected:
            found.waits_ms.append((time.perf_counter() - started) * 1000)
        else:
            found.others[str(status)] += 1
        if status == 0:
            return


def main() -> None:
    """Read a plan, make its load, print what came of it."""
    asked: dict[str, Any] = json.load(sys.stdin)
    try:
        import uvloop  # noqa: PLC0415 - not on every platform

        found = uvloop.run(made(Plan(**asked)))
    except ImportError:
        found = asyncio.run(made(Plan(**asked)))
    json.dump({"waits_ms": found.waits_ms, "others": found.others, "took_s": found.took_s}, sys.stdout)


if __name__ == "__main__":
    main()
