"""Appends that wait: for a row that somebody holds, for their turn, for the end; and those who don't wait so long."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest
from sqlalchemy import text

from app.core.errors import AppError
from app.infra.db.appends import Fate, Outcome
from app.infra.db.engine import make_engine
from app.infra.db.group_commit import GroupCommit
from app.infra.db.transaction import Database
from app.sessions.appending import owed
from app.sessions.service import Sessions
from app.settings import Settings
from app.wiring import Wiring
from tests.conftest import MakeScope
from tests.sessions.commits import (
    KEY_ROW,
    SESSION_ROW,
    USER_ROW,
    WITHIN_S,
    Hold,
    append_of,
    codes,
    drafts,
    numbers,
    opened,
)


async def test_a_locked_user_stalls_nobody_else(sessions: Sessions, scope: MakeScope, hold: Hold) -> None:
    alice, bob = await scope(), await scope()
    hers, his = await opened(sessions, alice), await opened(sessions, bob)
    async with hold(alice, USER_ROW, alice.usr):
        waiting = [asyncio.create_task(sessions.append(alice, hers, drafts("x"))) for _ in range(3)]
        for _ in range(3):
            await asyncio.wait_for(sessions.append(bob, his, drafts("y")), WITHIN_S)
        assert not any(task.done() for task in waiting)
    places = [message.seq for one in await asyncio.gather(*waiting) for message in one.messages]
    assert sorted(places) == [1, 2, 3]


async def test_a_locked_session_stalls_no_other(sessions: Sessions, scope: MakeScope, hold: Hold) -> None:
    alice, bob = await scope(), await scope()
    held, free, his = await opened(sessions, alice), await opened(sessions, alice), await opened(sessions, bob)
    async with hold(alice, SESSION_ROW, held):
        # More of them than there are connections: they wait for the row with one between them.
        waiting = [asyncio.create_task(sessions.append(alice, held, drafts("x"))) for _ in range(40)]
        for _ in range(3):
            await asyncio.wait_for(sessions.append(alice, free, drafts("y")), WITHIN_S)
            await asyncio.wait_for(sessions.append(bob, his, drafts("y")), WITHIN_S)
        assert not any(task.done() for task in waiting)
    places = [message.seq for one in await asyncio.gather(*waiting) for message in one.messages]
    assert sorted(places) == list(range(1, 41))


async def test_a_key_that_somebody_takes_meanwhile_is_met(
    wiring: Wiring,
    sessions: Sessions,
    scope: MakeScope,
    commits: GroupCommit,
    hold: Hold,
    blocked: Callable[[], Awaitable[None]],
) -> None:
    alice, bob = await scope(), await scope()
    hers, his = await opened(sessions, alice), await opened(sessions, bob)
    async with hold(alice, KEY_ROW, alice.tenant, alice.usr, b"k", commits=True):
        mine = asyncio.create_task(commits.submit(append_of(alice, hers, "k")))
        await blocked()
        # The batch isn't waited for until its end: what came later goes on meanwhile.
        other = await asyncio.wait_for(commits.submit(append_of(bob, his)), WITHIN_S)
        assert not mine.done()
    outcome = await mine
    assert (other.fate, outcome.fate, outcome.request_tag) == (Fate.STORED, Fate.KEPT, b"\x00")
    assert await numbers(wiring, alice, hers) == []


async def test_who_goes_away_before_their_turn_leaves_nothing_and_after_it_a_stored_message(
    wiring: Wiring,
    sessions: Sessions,
    scope: MakeScope,
    commits: GroupCommit,
    hold: Hold,
    blocked: Callable[[], Awaitable[None]],
) -> None:
    alice, bob = await scope(), await scope()
    hers, his = await opened(sessions, alice), await opened(sessions, bob)
    async with hold(alice, KEY_ROW, alice.tenant, alice.usr, b"k"):
        in_flight = [
            asyncio.create_task(commits.submit(one)) for one in (append_of(alice, hers, "k"), append_of(bob, his))
        ]
        await blocked()
        waiting = [asyncio.create_task(commits.submit(append_of(bob, his))) for _ in range(2)]
        await asyncio.sleep(0)
        for task in (in_flight[1], waiting[0]):
            task.cancel()
    outcomes = await asyncio.gather(*in_flight, *waiting, return_exceptions=True)
    assert codes(outcomes) == [Fate.STORED, asyncio.CancelledError, asyncio.CancelledError, Fate.STORED]
    await commits.close()
    # Of two who went away one had begun: it is stored, and the number after it isn't missing.
    assert await numbers(wiring, bob, his) == [1, 2]
    assert await numbers(wiring, alice, hers) == [1]


async def test_a_full_queue_says_so_and_what_it_took_is_committed(
    wiring: Wiring,
    sessions: Sessions,
    scope: MakeScope,
    hold: Hold,
    blocked: Callable[[], Awaitable[None]],
) -> None:
    alice = await scope()
    session_id = await opened(sessions, alice)
    small = GroupCommit(wiring.db, owed(by_model=False), max_waiting=3)
    async with hold(alice, KEY_ROW, alice.tenant, alice.usr, b"k"):
        taken = [asyncio.create_task(small.submit(append_of(alice, session_id, "k")))]
        await blocked()
        taken += [asyncio.create_task(small.submit(append_of(alice, session_id))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(AppError) as refused:
            await small.submit(append_of(alice, session_id))
    assert (refused.value.code, refused.value.headers) == ("overloaded", {"Retry-After": "1"})
    assert codes(await asyncio.gather(*taken)) == [Fate.STORED] * 3
    assert (await small.submit(append_of(alice, session_id))).fate is Fate.STORED
    await small.close()


async def test_the_end_of_a_process_flushes_what_it_took(
    wiring: Wiring, sessions: Sessions, scope: MakeScope, commits: GroupCommit, hold: Hold
) -> None:
    alice = await scope()
    session_id = await opened(sessions, alice)
    async with hold(alice, SESSION_ROW, session_id):
        taken = [asyncio.create_task(commits.submit(append_of(alice, session_id))) for _ in range(3)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(commits.close())
        await asyncio.sleep(0)
        with pytest.raises(AppError, match="overloaded"):
            await commits.submit(append_of(alice, session_id))
        assert not closing.done()
    await closing
    assert all(task.done() for task in taken)
    assert await numbers(wiring, alice, session_id) == [1, 2, 3]


async def test_a_store_that_is_gone_fails_a_batch_once_and_the_next_one_finds_it_again(
    wiring: Wiring, sessions: Sessions, scope: MakeScope, settings: Settings
) -> None:
    alice = await scope()
    session_id = await opened(sessions, alice)
    url = settings.database_url.get_secret_value()
    engine = make_engine(url, 1)  # of its own: who shares the servers with this test keeps their connections
    commits = GroupCommit(Database(engine, wiring.vault, wiring.access_log), owed(by_model=False))
    other = await asyncpg.connect(url)
    try:
        for _ in range(3):
            async with engine.connect() as connection:
                pid = (await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()
            await other.execute("SELECT pg_terminate_backend($1)", pid)
            outcomes: list[Outcome | BaseException] = []
            for _ in range(20):
                outcomes += await asyncio.gather(commits.submit(append_of(alice, session_id)), return_exceptions=True)
            assert set(codes(outcomes)) <= {Fate.STORED, "store_unavailable"}
            assert codes(outcomes)[-1] is Fate.STORED
    finally:
        await other.close()
        await commits.close()
        await engine.dispose()
    stored = await numbers(wiring, alice, session_id)
    assert stored == list(range(1, len(stored) + 1))
