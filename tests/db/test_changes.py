"""When changes were made: times are in the order of the numbers, and a moment always means the same number."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from sqlalchemy import select

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.moments import Moment
from app.core.scope import Scope
from app.infra.db.snapshots import look, settle
from app.infra.db.tables import user_changes
from app.infra.embedded.stack import Stack
from app.wiring import Wiring
from tests.conftest import MakeScope

ENTRY = AuditEntry("touch", "user")


async def change(wiring: Wiring, scope: Scope) -> int:
    async with wiring.db.remember(scope) as tx:
        return await tx.next_change(ENTRY)


async def changes(wiring: Wiring, scope: Scope) -> Sequence[tuple[int, datetime]]:
    """Return the numbers and times of the user's changes, in the order of the numbers."""
    async with wiring.db.read(scope) as tx:
        rows = await tx.rows(select(user_changes.c.number, user_changes.c.at).order_by(user_changes.c.number))
        return [(row.number, row.at) for row in rows]


async def number_as_of(wiring: Wiring, scope: Scope, moment: datetime) -> int:
    await settle(wiring.db, scope, Moment(as_of=moment))
    async with wiring.db.read(scope) as tx:
        return (await look(tx, Moment(as_of=moment))).number


async def test_of_ten_writers_the_times_are_in_the_order_of_the_numbers(wiring: Wiring, scope: MakeScope) -> None:
    alice, bob = await scope("alice"), await scope("bob")
    await asyncio.gather(*(change(wiring, alice) for _ in range(30)), change(wiring, bob))
    made = await changes(wiring, alice)
    assert [number for number, _ in made] == list(range(1, 31))
    assert [at for _, at in made] == sorted({at for _, at in made})
    assert [number for number, _ in await changes(wiring, bob)] == [1]
    assert [await number_as_of(wiring, alice, at) for _, at in made] == list(range(1, 31))
    before = made[0][1] - timedelta(microseconds=1)
    assert await number_as_of(wiring, alice, before) == 0


async def test_a_clock_that_goes_back_does_not_turn_the_order(wiring: Wiring, stack: Stack, scope: MakeScope) -> None:
    alice = await scope("alice")
    await change(wiring, alice)
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        await connection.execute("UPDATE user_changes SET at = at + interval '1 hour' WHERE usr = $1", alice.usr)
    finally:
        await connection.close()
    await change(wiring, alice)
    (_, first), (_, second) = await changes(wiring, alice)
    assert second - first == timedelta(microseconds=1)


async def test_a_change_that_is_undone_leaves_no_time(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope("alice")

    async def fail() -> None:
        async with wiring.db.remember(alice) as tx:
            await tx.next_change(ENTRY)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await changes(wiring, alice) == []


async def test_a_moment_waits_for_the_change_that_is_in_flight(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope("alice")
    async with wiring.db.remember(alice) as tx:
        number = await tx.next_change(ENTRY)
        asked = asyncio.create_task(number_as_of(wiring, alice, datetime.now(UTC)))
        # One that is long past waits for nothing, and is answered meanwhile.
        assert await number_as_of(wiring, alice, datetime(2001, 1, 1, tzinfo=UTC)) == 0
        assert not asked.done()
    assert await asked == number


async def test_a_number_that_was_never_reached_is_refused(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope("alice")
    async with wiring.db.read(alice) as tx:
        with pytest.raises(AppError) as refused:
            await look(tx, Moment(), page=1)
    assert [error.field for error in refused.value.errors] == ["cursor"]
