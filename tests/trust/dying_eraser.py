"""Erases users and is killed (SIGKILL) after a step, each user after another. Run as a program, by its test.

Its arguments: the tenant, then `<usr>:<step>` for each user. With `-` for a step it ends and tells its steps.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import click

from app.core.scope import Scope
from app.erasure import service
from app.infra.redis.userdata import HotData
from app.settings import Settings
from app.wiring import Wiring, build

DOORS = ("gate", "erase")
# So that who goes on needn't wait for who is dead.
LEASE_S = 0.2

Reached = Callable[[str], None]


class Steps:
    """Tells each step that is done, and dies after the wanted one."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._times: dict[str, int] = {}

    def reached(self, name: str) -> None:
        self._times[name] = self._times.get(name, 0) + 1
        step = f"{name}.{self._times[name]}"
        if step == self._wanted:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._wanted == "-":
            click.echo(f"step {step}")


class Dying:
    """Something whose methods are steps: a step is done when the method has returned."""

    def __init__(self, made: Any, steps: Steps, label: str, methods: tuple[str, ...]) -> None:  # noqa: ANN401 - it stands for anything
        self._made, self._steps, self._label, self._methods = made, steps, label, methods

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as above
        found = getattr(self._made, name)
        if name not in self._methods:
            return found

        async def method(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
            returned = await found(*args, **named)
            self._steps.reached(f"{self._label}.{name}")
            return returned

        return method


class Doors(Dying):
    """The doors to PostgreSQL: a step is done when its transaction has been committed."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as above
        found = getattr(self._made, name)
        if name not in self._methods:
            return found

        @asynccontextmanager
        async def door(scope: Scope) -> AsyncIterator[Any]:
            async with found(scope) as opened:
                yield opened
            self._steps.reached(f"{self._label}.{name}")

        return door


def dying(wiring: Wiring, steps: Steps) -> service.Erasures:
    kinds: list[Any] = [Dying(kind, steps, kind.name, ("erase",)) for kind in wiring.user_data]
    hot: Any = Dying(next(kind for kind in wiring.user_data if isinstance(kind, HotData)), steps, "hot", ("bury",))
    doors: Any = Doors(wiring.db, steps, "door", DOORS)
    keys: Any = Dying(wiring.vault, steps, "keys", ("destroy",))
    return service.Erasures(doors, keys, wiring.directory, hot, kinds, timedelta(hours=1), None)


async def erase(settings: Settings, scope: Scope, step: str) -> None:
    async with build(settings) as wiring:
        erasures = dying(wiring, Steps(step))
        erasure = await erasures.forget(scope)
        click.echo(erasure.state)


def main(tenant: str, *orders: str) -> None:
    settings = Settings.load("worker")
    service.LEASE_S = LEASE_S
    for order in orders:
        usr, _, step = order.partition(":")
        # Forked, for a start of Python costs more than all the rest.
        child = os.fork()
        if child == 0:
            asyncio.run(erase(settings, Scope(tenant, UUID(hex=usr), None), step))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        click.echo(f"{step} {'killed' if os.WIFSIGNALED(status) else 'ended'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
