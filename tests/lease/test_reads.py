"""A session is read from Redis alone, and what was acknowledged is seen by whoever reads after it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from app.core.errors import AppError
from app.core.idempotency import Answer, Attempt, Replayed
from app.core.scope import Scope
from app.core.versions import Exactly
from app.infra.embedded.stack import Stack
from app.sessions import store
from app.sessions.service import Sessions
from app.sessions.window import Window
from tests.lease.own_redis import Line, OwnRedis
from tests.lease.talking import WRITES, Talk, Write, asked_as_superuser, change, say, statements, take_out
from tests.sessions.talk import the
from tests.sessions.test_window import texts

TRIES = 5


async def test_a_warm_session_is_read_without_a_statement_and_is_what_postgres_has(talk: Talk) -> None:
    for number in range(40):
        await talk.say(f"Never say {number}." if number % 7 == 0 else f"message {number}")
        await talk.warm()
        with statements() as asked:
            view = await talk.read()
        assert asked == []
        assert view == await talk.recorded()
        assert len(view.window) == min(20, number + 2)


async def test_a_warm_read_is_audited(talk: Talk, own_stack: Stack) -> None:
    before = await audited(own_stack, talk)
    with statements() as asked:
        await talk.read()
    assert asked == []
    await talk.processes[1].access_log.flushed()
    assert await audited(own_stack, talk) == before + 1


async def audited(stack: Stack, talk: Talk) -> int:
    """Count the reads of the session in the audit."""
    await talk.processes[1].access_log.flushed()
    query = "SELECT count(*) FROM audit_log WHERE usr = $1 AND action = 'read' AND kind = 'session' AND item = $2"
    return int(await asked_as_superuser(stack, query, talk.alice.usr, talk.view.session.id))


@pytest.mark.parametrize("write", WRITES)
async def test_every_change_is_seen_by_the_next_reader(talk: Talk, write: Write) -> None:
    await write(talk)
    assert await talk.read() == await talk.recorded()
    await talk.warm()
    assert await talk.read() == await talk.recorded()


async def test_a_session_that_was_deleted_is_gone_for_the_next_reader(talk: Talk) -> None:
    version = (await talk.recorded()).session.version
    await talk.writer.delete(talk.alice, talk.view.session.id, Exactly(frozenset({version})))
    with pytest.raises(AppError, match="not_found"):
        await talk.read()


@pytest.mark.parametrize("write", WRITES)
async def test_a_writer_who_cannot_reach_redis_is_acknowledged_when_no_reader_can_miss_it(
    talk: Talk, lines: list[Line], write: Write
) -> None:
    async with talk.deaf_reader():
        lines[0].lead_to(1)
        await write(talk)
        assert await talk.read() == await talk.recorded()


async def test_a_step_that_arrives_late_brings_nothing_old_back(talk: Talk, lines: list[Line]) -> None:
    """It is on its way when the next change is made, read, and in Redis again."""
    lines[0].hold()
    await talk.say("two")
    assert texts(await talk.read()) == ["one", "two"]
    talk.writer = the(talk.processes[1], Sessions)
    await change(talk)
    await talk.say("three")
    await talk.warm()
    lines[0].let_go()
    for _ in range(5):
        assert await talk.read() == await talk.recorded()
        await talk.say("and on")
        assert await talk.read() == await talk.recorded()


async def test_a_copy_that_was_read_before_a_change_is_not_put_after_it(talk: Talk, servers: list[OwnRedis]) -> None:
    """The change finds nothing in Redis that it could mark: it takes the ticket away. Nor does a ticket outlive it."""
    for write, loses_all in [(say, False), (change, False), (take_out, False), (say, True)]:
        await talk.warm()
        window, session_id = Window(talk.redis, talk.processes[1].lease), talk.view.session.id
        await window.drop(talk.alice, session_id)
        ticket = await window.take_ticket(talk.alice, session_id)
        assert ticket is not None
        async with talk.processes[1].db.read(talk.alice) as tx:
            session = await store.find_session(tx, session_id)
            assert session is not None
            sealed = await store.messages_after(tx, session_id, session.summary_seq)
            box = tx.box
        if loses_all:
            await servers[0].say("FLUSHALL")
        await write(talk)
        await ticket.put(talk.alice, session, box, sealed)
        assert await talk.read() == await talk.recorded()


def attempt(key: str) -> Attempt:
    """Make an attempt whose answers say nothing."""
    return Attempt(
        "POST /messages", key, b"request", lambda _: Answer(201, {}, b"{}"), lambda _: Answer(404, {}, b"{}")
    )


class Died(Exception):  # noqa: N818 - no error: the end of a process, for what waits in it
    """The writer died at this point."""


@pytest.fixture
def dying(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The writer dies between its commit and its step in Redis."""

    async def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(talk.processes[0].lease, "follow", die)
        yield


async def died(work: Any) -> None:  # noqa: ANN401 - any coroutine
    with pytest.raises(Died):
        await work


@pytest.mark.usefixtures("dying")
async def test_the_append_after_one_that_died_before_redis_shows_both(talk: Talk) -> None:
    await died(talk.say("two"))
    talk.writer = the(talk.processes[1], Sessions)
    await talk.say("three")
    assert texts(await talk.read()) == ["one", "two", "three"]


@pytest.mark.usefixtures("dying")
async def test_the_change_after_one_that_died_before_redis_shows_both(talk: Talk) -> None:
    await died(change(talk))
    talk.writer = the(talk.processes[1], Sessions)
    await talk.say("two")
    assert await talk.read() == await talk.recorded()


@pytest.mark.usefixtures("dying")
async def test_a_retry_of_what_died_before_redis_is_acknowledged_when_it_is_seen(talk: Talk) -> None:
    await died(talk.say("two", attempt("k1")))
    talk.writer = the(talk.processes[1], Sessions)
    with pytest.raises(Replayed):
        await talk.say("two", attempt("k1"))
    assert texts(await talk.read()) == ["one", "two"]


@pytest.mark.usefixtures("dying")
async def test_who_is_refused_for_a_version_that_died_before_redis_reads_the_current_one(talk: Talk) -> None:
    """Otherwise they would read the old version and be refused again, for as long as the copy lives."""
    old = (await talk.read()).session.version
    await died(change(talk))
    talk.writer = the(talk.processes[1], Sessions)
    with pytest.raises(AppError, match="stale_version"):
        await talk.writer.change(talk.alice, talk.view.session.id, {"title": "third"}, Exactly(frozenset({old})))
    assert (await talk.read()).session.version == old + 1


@pytest.mark.parametrize("reaches_redis", [True, False])
async def test_a_user_who_is_being_forgotten_is_a_410_at_once(
    talk: Talk, lines: list[Line], monkeypatch: pytest.MonkeyPatch, *, reaches_redis: bool
) -> None:
    """The reader needs no door to Postgres, and its keys are in memory still."""
    if not reaches_redis:
        lines[0].lead_to(1)

    async def wait(_scope: Scope) -> None:
        raise AppError("store_unavailable")

    monkeypatch.setattr(talk.processes[0].erasures, "proceed", wait)
    assert (await talk.processes[0].erasures.forget(talk.alice)).state == "running"
    with pytest.raises(AppError, match="erasing"):
        await talk.read()


async def test_fifty_readers_of_a_session_that_redis_has_lost_make_its_copy_once(
    talk: Talk, servers: list[OwnRedis]
) -> None:
    counts = set()
    for _ in range(TRIES):  # a process that gets no time to run loses its lease, and all of them read Postgres
        await asyncio.gather(*(talk.read() for _ in range(50)))  # connections to Redis are there now
        await talk.warm()
        await servers[0].say("FLUSHALL")
        with statements() as asked:
            views = await asyncio.gather(*(talk.read() for _ in range(50)))
        assert all(view == views[0] for view in views)
        counts.add(sum("FROM messages" in statement for statement in asked))
        if 1 in counts:
            return
    raise AssertionError(f"the session was read {sorted(counts)} times")


async def test_one_process_at_a_time_makes_a_copy(talk: Talk, servers: list[OwnRedis]) -> None:
    session_id = talk.view.session.id
    await servers[0].say("FLUSHALL")
    windows = [Window(talk.redis, each.lease) for each in talk.processes]
    assert await windows[0].take_ticket(talk.alice, session_id) is not None
    assert await windows[1].take_ticket(talk.alice, session_id) is None
    assert texts(await talk.read()) == ["one"]
    assert await windows[1].read(talk.alice, session_id) is None
