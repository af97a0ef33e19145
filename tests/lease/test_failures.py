"""Redis, PostgreSQL or a process fails, and no read after an acknowledged write is stale."""

from typing import Any

import asyncpg
import pytest

from app.infra.embedded.stack import Stack
from app.infra.redis.client import RedisStore
from tests.conftest import eventually
from tests.lease.own_redis import Line, OwnRedis
from tests.lease.remembering import Mind, patch, put
from tests.lease.talking import Talk, asked_as_superuser
from tests.sessions.test_window import texts


async def test_a_redis_that_comes_up_with_old_data_is_not_believed(talk: Talk, servers: list[OwnRedis]) -> None:
    await servers[0].save()
    for text in ("two", "three"):
        await talk.say(text)
    await servers[0].restart_from_what_was_saved()
    assert texts(await talk.read()) == ["one", "two", "three"]
    await talk.warm()
    assert texts(await talk.read()) == ["one", "two", "three"]
    await talk.say("four")
    assert texts(await talk.read()) == ["one", "two", "three", "four"]


async def test_a_replica_that_lacks_the_last_write_is_not_believed(
    talk: Talk, servers: list[OwnRedis], lines: list[Line]
) -> None:
    """It takes over behind the same address, as a service of its own or a proxy does it."""
    await follow(servers)
    await servers[1].say("REPLICAOF", "NO", "ONE")
    await talk.say("two")
    for line in lines:
        line.lead_to(servers[1].port)
    assert texts(await talk.read()) == ["one", "two"]
    await talk.say("three")
    assert texts(await talk.read()) == ["one", "two", "three"]


async def test_an_old_primary_that_still_answers_one_process_is_not_believed_for_long(
    talk: Talk, servers: list[OwnRedis], lines: list[Line]
) -> None:
    """The writer has come over to the new one. Its answer waits until the reader's lease on the old one is over."""
    await follow(servers)
    await servers[1].say("REPLICAOF", "NO", "ONE")
    async with talk.deaf_reader():
        lines[0].lead_to(servers[1].port)
        await talk.say("two")
        assert texts(await talk.read()) == ["one", "two"]
    await talk.say("three")
    assert texts(await talk.read()) == ["one", "two", "three"]


async def test_answers_in_a_redis_that_comes_up_with_old_data_are_not_believed(
    mind: Mind, servers: list[OwnRedis]
) -> None:
    await servers[0].save()
    await put(mind)
    await patch(mind)
    await servers[0].restart_from_what_was_saved()
    await mind.check()
    await mind.warm()
    await mind.check()


async def test_answers_in_a_replica_that_lacks_the_last_change_are_not_believed(
    mind: Mind, servers: list[OwnRedis], lines: list[Line]
) -> None:
    await follow(servers)
    await servers[1].say("REPLICAOF", "NO", "ONE")
    await put(mind)
    for line in lines:
        line.lead_to(servers[1].port)
    await mind.check()


async def follow(servers: list[OwnRedis]) -> None:
    """Make the second server a replica of the first that has all it has."""
    await servers[1].say("REPLICAOF", "127.0.0.1", servers[0].port)

    async def has_all() -> bool:
        info = await servers[1].client.info("replication")
        return bool(info["master_link_status"] == "up")

    await eventually(has_all)
    await servers[0].say("WAIT", 1, 5_000)


async def test_a_primary_that_became_a_replica_is_not_believed(talk: Talk, servers: list[OwnRedis]) -> None:
    await servers[0].say("REPLICAOF", "127.0.0.1", servers[1].port)
    try:
        await talk.say("two")
        assert texts(await talk.read()) == ["one", "two"]
    finally:
        await servers[0].say("REPLICAOF", "NO", "ONE")


async def test_a_process_that_was_stopped_does_not_believe_what_it_asked_before(
    talk: Talk, lines: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands still when it has Redis's answer. Meanwhile a change is acknowledged, for its lease is over."""
    run, stopped = RedisStore.run, list[bool]()

    async def stand_still(self: RedisStore, *args: Any) -> Any:  # noqa: ANN401 - what a script takes and returns
        answer = await run(self, *args)
        if not stopped:
            stopped.append(True)
            lines[0].lead_to(1)
            await talk.say("two")
        return answer

    monkeypatch.setattr(RedisStore, "run", stand_still)
    assert texts(await talk.read()) == ["one", "two"]
    assert stopped


async def test_a_process_that_was_stopped_gives_no_answer_that_it_asked_for_before(
    mind: Mind, lines: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, stopped = RedisStore.run, list[bool]()

    async def stand_still(self: RedisStore, *args: Any) -> Any:  # noqa: ANN401 - what a script takes and returns
        answer = await run(self, *args)
        if not stopped:
            stopped.append(True)
            lines[0].lead_to(1)
            await put(mind)
        return answer

    monkeypatch.setattr(RedisStore, "run", stand_still)
    read = await mind.read("/v1/preferences/tone")
    assert stopped
    assert read.json()["value"] == "formal"


async def test_a_restored_database_is_behind_redis_and_closes_the_lease(talk: Talk, own_stack: Stack) -> None:
    """The row is as a backup would bring it: open, but written elsewhere."""
    await asked_as_superuser(own_stack, "UPDATE generation SET written_on = 'another server'")
    lease = talk.processes[1].lease

    async def is_closed() -> bool:
        return lease.held() is None

    await eventually(is_closed)
    await talk.say("two")
    assert texts(await talk.read()) == ["one", "two"]
    await talk.warm()


async def test_a_row_that_another_transaction_wrote_is_not_believed(own_stack: Stack) -> None:
    """As a dump that is loaded does it, with the same values."""
    connection = await asyncpg.connect(own_stack.admin_url.rsplit("/", 1)[0] + "/cairn")
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute("SELECT FROM generation FOR UPDATE")
        known = await connection.fetchval("SELECT is_here FROM read_generation()")
        await connection.execute("UPDATE generation SET name = name")
        assert (known, await connection.fetchval("SELECT is_here FROM read_generation()")) == (True, False)
    finally:
        await transaction.rollback()
        await connection.close()


async def test_the_service_changes_the_row_by_the_functions_alone(own_stack: Stack) -> None:
    connection = await asyncpg.connect(own_stack.urls.database)
    try:
        for statement in (
            "SELECT * FROM generation",
            "UPDATE generation SET is_settled = true",
            "DELETE FROM generation",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
    finally:
        await connection.close()


async def test_without_the_row_sessions_are_read_from_postgres(talk: Talk, own_stack: Stack) -> None:
    await talk.say("two")
    await asked_as_superuser(own_stack, "ALTER FUNCTION read_generation() RENAME TO lost")
    try:

        async def has_run_out() -> bool:
            return talk.processes[1].lease.state == "unknown"

        await eventually(has_run_out)
        assert texts(await talk.read()) == ["one", "two"]
    finally:
        await asked_as_superuser(own_stack, "ALTER FUNCTION lost() RENAME TO read_generation")
    await talk.warm()
