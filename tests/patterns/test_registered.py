"""What a process goes by: one question for all who wait, and never an answer older than what they may have seen."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import Executable, Row

from app import wiring as product
from app.core.errors import AppError
from app.core.scope import Operator
from app.core.withholding import withhold_also
from app.infra.db.transaction import Database, Transaction
from app.verifications.patterns import registered
from app.verifications.patterns.registered import RegisteredPatterns


class Slow(Database):
    """The doors, where the question after the last change waits until it is let go, or fails."""

    def __init__(self, doors: Database) -> None:
        self.doors, self.asked, self.fails = doors, 0, False
        self.go = asyncio.Event()

    async def glance(self, question: Executable) -> Row[Any]:
        self.asked += 1
        await self.go.wait()
        if self.fails:
            raise AppError("store_unavailable")
        return await self.doors.glance(question)

    @asynccontextmanager
    async def administer(self, operator: Operator) -> AsyncIterator[Transaction]:
        async with self.doors.administer(operator) as tx:
            yield tx


@pytest.fixture
def slow(wiring: product.Wiring) -> Slow:
    return Slow(wiring.db)


async def entered(patterns: RegisteredPatterns, tenant: str, count: int) -> list[asyncio.Task[object]]:
    """Begin so many requests, and return when all of them wait."""
    waiting: list[asyncio.Task[object]] = [asyncio.create_task(patterns.enter(tenant)) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return waiting


async def test_who_comes_at_once_asks_once_and_a_failure_is_everybodys(slow: Slow, tenant: str) -> None:
    patterns, slow.fails = RegisteredPatterns(slow), True
    waiting = await entered(patterns, tenant, 20)
    slow.go.set()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert {getattr(end, "code", None) for end in ends} == {"store_unavailable"}
    assert slow.asked == 1
    slow.fails = False
    await asyncio.gather(*await entered(patterns, tenant, 20))
    assert slow.asked == 2
    withhold_also(None)


async def test_an_answer_that_was_asked_for_too_long_ago_is_asked_for_again(
    slow: Slow, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registered, "HOLD_S", 0)  # every answer is old when it comes
    patterns = RegisteredPatterns(slow)
    [first] = await entered(patterns, tenant, 1)
    [second] = await entered(patterns, tenant, 1)
    slow.go.set()
    await asyncio.gather(first, second)
    assert slow.asked == 2  # the second came after the first question was put: it has one of its own
    withhold_also(None)
