"""Runs the bench: each figure beside a hello that is served in the same minute, by as many processes."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

from app.bench.growth import OTHER_CURVES, USERS, Curve
from app.bench.load import Plan
from app.bench.operations import APPEND, CONTEXT, OPERATIONS, PREFERENCE, Makers, Operation, Sign, User
from app.bench.servers import HELLO_PORT, PORT, Served, hello, service, used_s

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT_MS: Final = 87.0
# Of two thousand users with think time: so many requests a second of all, one step after the other.
STEPS: Final = (125, 250, 500, 750, 1_000, 1_500, 2_000, 3_000)
THINKING_USERS: Final = 2_000
# Ingestion takes its time: more connections than this don't search.
WITH_DOCUMENTS: Final = 64
WARM_S: Final = 1.0


@dataclass(frozen=True)
class Wishes:
    """How much is to be measured."""

    seconds: float = 3.0
    workers: int = 1
    connections: Sequence[int] = (1, 16, 64, 256)
    thinking_users: int = THINKING_USERS
    steps: Sequence[int] = STEPS
    forgotten: int = 64
    users: Sequence[int] = (100, 300, 1_000)
    messages: Sequence[int] = (100, 1_000, 3_000)
    chunks: Sequence[int] = (20, 200, 1_000)
    only: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """What came of one operation at a number of connections."""

    operation: str
    connections: int
    rate: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    # The processor's time of each process, by its name, for one request.
    cpu_us: Mapping[str, float]
    others: Mapping[str, int]
    # Of the rate and of the API's processor time: this beside the hello's, where it was measured.
    ratio: float | None = None
    cpu_ratio: float | None = None
    # What it was measured against: the size that grows.
    size: int | None = None


@dataclass
class Report:
    """Everything that was measured."""

    wishes: Wishes
    hello: list[Figure] = field(default_factory=list)
    operations: list[Figure] = field(default_factory=list)
    thinking: list[Figure] = field(default_factory=list)
    growth: dict[str, list[Figure]] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), indent=1)


Tell = Callable[[str], None]


def run(wishes: Wishes, tell: Tell, sign: Sign) -> Report:
    """Measure everything that is wished for."""
    report = Report(wishes)
    with hello(wishes.workers) as process:
        for count in wishes.connections:
            plan = Plan(HELLO_PORT, [["GET / HTTP/1.1\r\nHost: bench\r\n\r\n"]] * count, 200, wishes.seconds)
            report.hello.append(_figure("hello", plan, {"api": process}))
            tell(_line(report.hello[-1]))
    base = {each.connections: each for each in report.hello}
    with service(wishes.workers) as served:
        makers = Makers(served.secret, sign)
        # First, while there are few.
        _grow(USERS, wishes, makers, served, report, tell)
        tell("making users")
        most = max(wishes.connections)
        asking = [*makers.users(min(most, WITH_DOCUMENTS)), *makers.users(max(0, most - WITH_DOCUMENTS), chunks=0)]
        for operation in OPERATIONS:
            if not wishes.only or operation.name in wishes.only:
                _operation(operation, wishes, asking, makers, served, base, report, tell)
        if wishes.thinking_users:
            _think(wishes, asking, makers, served, report, tell)
        _grow(OTHER_CURVES, wishes, makers, served, report, tell)
    return report


def _operation(
    operation: Operation,
    wishes: Wishes,
    asking: Sequence[User],
    makers: Makers,
    served: Served,
    base: Mapping[int, Figure],
    report: Report,
    tell: Tell,
) -> None:
    """Measure one operation at each of its numbers of connections."""
    for count in [each for each in operation.connections if each in base]:
        if operation.once:
            users: Sequence[User] = makers.users(max(count, wishes.forgotten))
            requests = [[operation.request(user) for user in users[place::count]] for place in range(count)]
        else:
            # What is written conditionally has a version, and whoever wrote before knows which: each time new users.
            fresh = operation.name == "conditional write"
            users = makers.users(count, chunks=0) if fresh else asking[:count]
            requests = [[operation.request(user)] for user in users]
        plan = Plan(PORT, requests, operation.expected, wishes.seconds, WARM_S, operation.once)
        figure = _figure(operation.name, plan, served.processes, base=base[count])
        report.operations.append(figure)
        tell(_line(figure))


def _think(wishes: Wishes, asking: Sequence[User], makers: Makers, served: Served, report: Report, tell: Tell) -> None:
    """Have many users ask at times of their own, more and more of it, until the slowest hundredth waits too long."""
    users = [*asking, *makers.users(max(0, wishes.thinking_users - len(asking)), messages=1, chunks=0)][
        : wishes.thinking_users
    ]
    # A turn: its context, its message; a setting is looked at now and then.
    turn = (CONTEXT, APPEND, PREFERENCE)
    for rate in wishes.steps:
        # One answer counts in a plan, and these three have two: the reads are measured, and the appends beside them.
        requests = [[operation.request(user) for operation in turn if operation.expected == 200] for user in users]  # noqa: PLR2004 - OK
        plan = Plan(PORT, requests, 200, wishes.seconds, WARM_S, rate=float(rate))
        figure = _figure("thinking users", plan, served.processes, size=rate)
        report.thinking.append(figure)
        tell(_line(figure))
        if figure.p99_ms > LIMIT_MS or figure.others:
            return


def _grow(curves: Sequence[Curve], wishes: Wishes, makers: Makers, served: Served, report: Report, tell: Tell) -> None:
    """Measure what operations cost, against what grows."""
    for name, sizes, grow in curves:
        report.growth[name] = []
        for size in getattr(wishes, sizes):
            for operation, users in grow(makers, size):
                plan = _plan(operation, wishes, users)
                report.growth[name].append(_figure(operation.name, plan, served.processes, size=size))
                tell(_line(report.growth[name][-1]))


def _plan(operation: Operation, wishes: Wishes, users: Sequence[User]) -> Plan:
    return Plan(PORT, [[operation.request(user)] for user in users], operation.expected, wishes.seconds, WARM_S)


def _figure(
    name: str, plan: Plan, processes: Mapping[str, int], base: Figure | None = None, size: int | None = None
) -> Figure:
    """Make the load of a plan, in a process of its own, and return what came of it."""
    before = used_s(processes)
    ran = subprocess.run(
        [sys.executable, "-m", "app.bench.load"],
        input=json.dumps(asdict(plan)).encode(),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    after = used_s(processes)
    found: dict[str, Any] = json.loads(ran.stdout)
    waits = found["waits_ms"] or [0.0]
    cuts = quantiles(waits, n=100) if len(waits) > 1 else [waits[0]] * 99
    # Those that warmed up took the processor's time as well.
    share = 1.0 if plan.once else plan.seconds / (plan.seconds + plan.warm_s)
    answered = len(found["waits_ms"]) + sum(found["others"].values())
    cpu_us = {each: (after[each] - before[each]) * share * 1_000_000 / max(answered, 1) for each in processes}
    rate = len(found["waits_ms"]) / found["took_s"]
    return Figure(
        operation=name,
        connections=len(plan.requests),
        rate=rate,
        p50_ms=cuts[49],
        p95_ms=cuts[94],
        p99_ms=cuts[98],
        cpu_us=cpu_us,
        others=found["others"],
        ratio=rate / base.rate if base else None,
        cpu_ratio=base.cpu_us["api"] / cpu_us["api"] if base and cpu_us["api"] else None,
        size=size,
    )


def _line(figure: Figure) -> str:
    ratio = "" if figure.ratio is None else f"  {figure.ratio:.3f} of the hello"
    size = "" if figure.size is None else f" at {figure.size}"
    cpu = ", ".join(f"{name} {used:.0f}" for name, used in figure.cpu_us.items())
    others = f"  others {dict(figure.others)}" if figure.others else ""
    waits = f"p50 {figure.p50_ms:.1f} ms, p99 {figure.p99_ms:.1f} ms"
    return f"{figure.operation}{size}, {figure.connections}: {figure.rate:.0f}/s, {waits}, us: {cpu}{ratio}{others}"
