"""Appends of many users in one commit: each has its own outcome, whatever befalls the others of its batch."""

import asyncio
from uuid import UUID

import asyncpg
import pytest
from sqlalchemy import select

from app.core.errors import AppError
from app.core.idempotency import Replayed
from app.core.ids import uuid7
from app.core.scope import Scope
from app.erasure.service import Erasures
from app.infra.audit.tables import audit_log
from app.infra.db.appends import Fate
from app.infra.db.group_commit import GroupCommit
from app.sessions.model import Appended
from app.sessions.service import Sessions
from app.sessions.tables import messages
from app.settings import Settings
from app.wiring import Wiring
from tests.conftest import MakeScope
from tests.sessions.commits import (
    WITHIN_S,
    append_of,
    attempt_of,
    codes,
    drafts,
    numbers,
    opened,
    shown,
)
from tests.sessions.talk import the

USERS, SESSIONS, WRITERS, APPENDS = 6, 2, 3, 8


async def test_many_writers_of_many_users_leave_no_gap(wiring: Wiring, sessions: Sessions, scope: MakeScope) -> None:
    people = [await scope() for _ in range(USERS)]
    where = [(person, await opened(sessions, person)) for person in people for _ in range(SESSIONS)]

    async def write(person: Scope, session_id: UUID, writer: int) -> list[Appended]:
        return [
            await sessions.append(
                person, session_id, drafts(*(f"{writer} {number} {part}" for part in range(number % 3 + 1)))
            )
            for number in range(APPENDS)
        ]

    jobs = [(person, session_id, writer) for person, session_id in where for writer in range(WRITERS)]
    written = await asyncio.gather(*(write(*job) for job in jobs))
    for person, session_id in where:
        mine = [
            appended
            for (_, session, _), done in zip(jobs, written, strict=True)
            if session == session_id
            for appended in done
        ]
        for appended in mine:  # a batch of messages stands together
            places = [message.seq for message in appended.messages]
            assert places == list(range(places[0], places[0] + len(places)))
        told = sorted((message.seq, message.id) for appended in mine for message in appended.messages)
        assert [seq for seq, _ in told] == list(range(1, len(told) + 1))
        async with wiring.db.read(person) as tx:
            kept = await tx.rows(select(messages.c.seq, messages.c.id).filter_by(usr=person.usr, session_id=session_id))
            noted = await tx.rows(select(audit_log.c.id).filter_by(action="append", item=session_id))
        assert sorted((row.seq, row.id) for row in kept) == told
        assert len(noted) == len(mine)
        assert (await sessions.view(person, session_id)).session.message_count == len(told)


async def test_a_poisonous_item_fails_alone(
    wiring: Wiring, sessions: Sessions, scope: MakeScope, commits: GroupCommit
) -> None:
    alice, bob = await scope(), await scope()
    hers, his = await opened(sessions, alice), await opened(sessions, bob)
    batch = [
        append_of(alice, hers),
        append_of(alice, hers, role="robot"),
        append_of(bob, his, count=2),
        append_of(alice, hers),
        append_of(alice, uuid7()),
    ]
    outcomes = await asyncio.gather(*(commits.submit(one) for one in batch), return_exceptions=True)
    assert codes(outcomes) == [Fate.STORED, asyncpg.CheckViolationError, Fate.STORED, Fate.STORED, Fate.NOT_FOUND]
    assert await numbers(wiring, alice, hers) == [1, 2]
    assert await numbers(wiring, bob, his) == [1, 2]


async def test_appends_of_one_batch_stand_one_after_the_other(
    sessions: Sessions, scope: MakeScope, commits: GroupCommit
) -> None:
    alice = await scope()
    session_id = await opened(sessions, alice)
    batch = [append_of(alice, session_id, count=count) for count in (2, 1, 3)]
    outcomes = await asyncio.gather(*(commits.submit(one) for one in batch))
    assert len({outcome.at for outcome in outcomes}) == 1  # one statement has one time
    assert [(outcome.first, outcome.version) for outcome in outcomes] == [(1, 2), (3, 3), (4, 4)]
    session = (await sessions.page(alice, None, 1)).items[0]
    assert (session.next_seq, session.version, session.last_active_at) == (7, 4, outcomes[0].at)


async def test_nothing_is_appended_to_what_isnt_ones_own(
    wiring: Wiring, sessions: Sessions, scope: MakeScope, commits: GroupCommit
) -> None:
    alice, thief = await scope(), await scope()
    hers = await opened(sessions, alice)
    # In one batch with the owner's own append, and by somebody who knows the owner's reference as well.
    batch = [
        append_of(thief, hers),
        append_of(alice, hers),
        append_of(Scope("elsewhere", alice.usr, None), hers),
        append_of(Scope(alice.tenant, uuid7(), None), hers),
    ]
    outcomes = await asyncio.gather(*(commits.submit(one) for one in batch[:2]), return_exceptions=True)
    assert codes(outcomes) == [Fate.NOT_FOUND, Fate.STORED]
    strangers = await asyncio.gather(*(commits.submit(one) for one in batch[2:]), return_exceptions=True)
    assert codes(strangers) == ["erased", "erased"]
    assert await numbers(wiring, alice, hers) == [1]


@pytest.mark.parametrize("state", ["erasing", "erased"])
async def test_a_user_who_is_no_more_is_refused_and_nobody_else(
    wiring: Wiring, sessions: Sessions, scope: MakeScope, commits: GroupCommit, state: str, settings: Settings
) -> None:
    alice, bob = await scope(), await scope()
    hers, his = await opened(sessions, alice), await opened(sessions, bob)
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        await connection.execute("SELECT set_config('app.user_id', $1, false)", str(alice.usr))
        await connection.execute("SELECT set_config('app.tenant', $1, false)", alice.tenant)
        await connection.execute("UPDATE users SET state = $1", state)
    finally:
        await connection.close()
    batch = [append_of(alice, hers, "k"), append_of(bob, his), append_of(alice, hers)]
    outcomes = await asyncio.gather(*(commits.submit(one) for one in batch), return_exceptions=True)
    assert codes(outcomes) == [state, Fate.STORED, state]
    assert await numbers(wiring, bob, his) == [1]


async def test_nothing_survives_an_erasure_that_appends_race(
    wiring: Wiring, sessions: Sessions, scope: MakeScope, settings: Settings
) -> None:
    alice, bob = await scope(), await scope()
    hers, his = await opened(sessions, alice), await opened(sessions, bob)
    ends: list[str] = []

    async def write(number: int) -> None:
        for turn in range(10_000):
            try:
                attempt = attempt_of(f"{number} {turn}") if number % 2 else None
                await sessions.append(alice, hers, drafts("never again"), attempt)
            except AppError as error:
                ends.append(error.code)
                return

    writers = [asyncio.create_task(write(number)) for number in range(8)]
    async with asyncio.timeout(WITHIN_S):
        while len(await numbers(wiring, alice, hers)) < 30:
            await sessions.append(bob, his, drafts("y"))
    status = await the(wiring, Erasures).forget(alice, stop=False)
    await asyncio.gather(*writers)
    assert status.certificate is not None
    assert set(ends) <= {"erasing", "erased"}
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        await connection.execute("SELECT set_config('app.user_id', $1, false)", str(alice.usr))
        await connection.execute("SELECT set_config('app.tenant', $1, false)", alice.tenant)
        for table in ("sessions", "messages", "segment_items", "idempotency"):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0, table  # noqa: S608 - from the line above
    finally:
        await connection.close()
    assert (await sessions.append(bob, his, drafts("y"))).messages


async def test_twins_in_one_batch_have_one_effect_and_one_answer(
    wiring: Wiring, sessions: Sessions, scope: MakeScope
) -> None:
    alice = await scope()
    session_id = await opened(sessions, alice)

    async def send(text: str) -> str:
        try:
            return shown(await sessions.append(alice, session_id, drafts(text, text), attempt_of("k", text.encode())))
        except Replayed as replayed:
            return replayed.answer.body.decode()
        except AppError as error:
            return error.code

    *twins, other = await asyncio.gather(*(send("same") for _ in range(5)), send("other"))
    assert len(set(twins)) == 1
    assert other == "idempotency_mismatch"
    assert await send("same") == twins[0]
    assert await numbers(wiring, alice, session_id) == [1, 2]


async def test_a_key_is_anothers_for_another_user_and_agent_and_free_after_its_time(
    wiring: Wiring, sessions: Sessions, scope: MakeScope, settings: Settings
) -> None:
    alice, bob = await scope("alice"), await scope("bob")
    agent = Scope(alice.tenant, alice.usr, "agent")
    hers, his = await opened(sessions, alice), await opened(sessions, bob)
    for person, session_id in ((alice, hers), (agent, hers), (bob, his)):
        await sessions.append(person, session_id, drafts("x"), attempt_of("k"))
    assert await numbers(wiring, alice, hers) == [1, 2]
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        await connection.execute("SELECT set_config('app.user_id', $1, false)", str(alice.usr))
        await connection.execute("SELECT set_config('app.tenant', $1, false)", alice.tenant)
        await connection.execute("UPDATE idempotency SET expires_at = now() - interval '1 second'")
    finally:
        await connection.close()
    await sessions.append(alice, hers, drafts("y"), attempt_of("k", b"another"))
    assert await numbers(wiring, alice, hers) == [1, 2, 3]
    with pytest.raises(Replayed):
        await sessions.append(alice, hers, drafts("y"), attempt_of("k", b"another"))


async def test_an_append_leaves_its_audit_row(wiring: Wiring, sessions: Sessions, scope: MakeScope) -> None:
    alice = await scope(agent="helper")
    session_id = await opened(sessions, alice)
    await sessions.append(alice, session_id, drafts("x"))
    async with wiring.db.read(alice) as tx:
        (row,) = await tx.rows(select(audit_log).filter_by(action="append"))
    assert (row.kind, row.item, row.outcome, row.actor, row.agent) == ("session", session_id, "done", "user", "helper")
    assert (row.request_id, row.address) == (alice.request_id, alice.address)
