"""Permits: what is sent to a model outside is sent only while its user lets it be.

A permit is good for PERMIT_S from before the user's choices were read. Whoever switches models outside off waits as
long before they are answered: what was permitted before has left by then, and nothing leaves afterwards.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

from app.core.processing import Processing, stopped
from app.core.scope import Scope

PERMIT_S: Final = 0.5

# Reads what a user lets be done, of the record and of nothing older: the doors'.
Choices = Callable[[Scope], Awaitable[Processing]]


class Permit(Protocol):
    """What must be asked before each attempt to send."""

    async def until_s(self) -> float:
        """Return until when it may be sent, in the seconds of time.monotonic. Raises `processing_stopped`."""
        ...


class OfUser:
    """The permit to send what is a user's. It may be asked in any thread: the doors belong to one event loop."""

    def __init__(self, choices: Choices, scope: Scope) -> None:
        """Take what reads the choices. Make it in the loop that the doors belong to."""
        self._choices = choices
        self._scope = scope
        self._loop = asyncio.get_running_loop()

    async def until_s(self) -> float:
        """Return until when, as they have it now."""
        begun = time.monotonic()
        if asyncio.get_running_loop() is self._loop:
            processing = await self._choices(self._scope)
        else:
            processing = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._read(), self._loop))
        if not processing.external_models:
            raise stopped("external_models")
        return begun + PERMIT_S

    async def _read(self) -> Processing:
        return await self._choices(self._scope)


class OfAll:
    """The permit to send texts of several users in one request: as long as all of them let it be."""

    def __init__(self, permits: Sequence[Permit]) -> None:
        """Take them."""
        self._permits = permits

    async def until_s(self) -> float:
        """Return until when all of them let it be."""
        return min(await asyncio.gather(*(permit.until_s() for permit in self._permits)))


class OfNobody:
    """The permit to send what is no user's: a word that a model is tried with."""

    async def until_s(self) -> float:
        """Return a while from now."""
        return time.monotonic() + PERMIT_S


_PERMIT: ContextVar[Permit | None] = ContextVar("cairn_permit", default=None)


@contextmanager
def permitted(permit: Permit) -> Iterator[None]:
    """Let what is sent in this block, and in what it calls, ask this permit."""
    before = _PERMIT.set(permit)
    try:
        yield
    finally:
        _PERMIT.reset(before)


def permit() -> Permit:
    """Return the permit that holds here. Without one nothing is sent: it is a fault of the program's."""
    found = _PERMIT.get()
    if found is None:
        raise RuntimeError("nothing is sent to a model outside without a permit: see app.infra.served.permits")
    return found


class Permits:
    """Gives permits for users."""

    def __init__(self, choices: Choices) -> None:
        """Take what reads their choices."""
        self._choices = choices

    def of(self, scope: Scope) -> Permit:
        """Return the permit to send what is this user's."""
        return OfUser(self._choices, scope)
