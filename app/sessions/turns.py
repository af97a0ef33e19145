"""Turns: of the appends to one session in this process one is at the database, the others wait here.

They would wait for each other at the session's row anyway, but each with a connection in its hand: one busy session
would take the whole pool from everybody else.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

from app.core.errors import AppError
from app.core.scope import Scope

LONGEST_WAIT_S: Final = 15.0


class Turns:
    """Who may append to which session now. First come, first served."""

    def __init__(self) -> None:
        """Begin with nobody waiting."""
        self._locks: WeakValueDictionary[tuple[UUID, UUID], asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, scope: Scope, session_id: UUID) -> AsyncIterator[None]:
        """Wait for the turn and hold it. Raises `overloaded` where it doesn't come within LONGEST_WAIT_S."""
        lock = self._locks.setdefault((scope.usr, session_id), asyncio.Lock())
        try:
            async with asyncio.timeout(LONGEST_WAIT_S):
                await lock.acquire()
        except TimeoutError:
            raise AppError("overloaded", headers={"Retry-After": "1"}) from None
        try:
            yield
        finally:
            lock.release()
