"""Preferences and the profile are read from Redis alone, and whoever reads after an acknowledgement sees it."""

import asyncio
from typing import Any

import pytest

from app.core.errors import AppError
from app.core.scope import Scope
from app.infra.embedded.stack import Stack
from app.infra.redis import keys
from app.infra.redis.client import RedisStore
from app.infra.redis.copies import HotCopies
from app.infra.redis.memory import LIFE_S, MAX_ANSWER_BYTES, MAX_ANSWERS, MemoryCopies
from app.infra.redis.userdata import HotData
from tests.lease.own_redis import Line, OwnRedis
from tests.lease.remembering import (
    CHANGES,
    READS,
    Change,
    Mind,
    add_fact,
    at,
    delete,
    died_before_redis,
    patch,
    put,
    questions,
    same,
)
from tests.lease.talking import asked_as_superuser, statements


@pytest.mark.parametrize("path", READS)
async def test_a_warm_read_is_one_round_trip_and_no_statement_and_is_what_postgres_has(mind: Mind, path: str) -> None:
    with statements() as asked, questions() as sent:
        read = await mind.read(path)
    assert (asked, sent) == ([], ["script"])
    assert read.status_code == 200
    assert same(read, await mind.recorded(path))
    known = {"If-None-Match": read.headers.get("ETag", "*")}
    with statements() as asked:
        again = await mind.reader.get(path, headers=known)
    assert asked == []
    assert again.status_code == (304 if "ETag" in read.headers else 200)
    assert again.headers.get("ETag") == read.headers.get("ETag")


async def test_a_warm_read_is_audited(mind: Mind, own_stack: Stack) -> None:
    before = await audited(mind, own_stack)
    for path in READS:
        await mind.read(path)
    assert [now - then for now, then in zip(await audited(mind, own_stack), before, strict=True)] == [2, 2, 1]


async def audited(mind: Mind, stack: Stack) -> list[int]:
    """Count the lists and the reads of preferences, and the reads of the profile, each with what was read."""
    await mind.processes[1].access_log.flushed()
    query = "SELECT count(*) FROM audit_log WHERE usr = $1 AND action = $2 AND kind = $3 AND (item IS NULL) = $4"
    kinds = [("list", "preference", True), ("read", "preference", False), ("read", "profile", False)]
    return [int(await asked_as_superuser(stack, query, mind.scope.usr, *kind)) for kind in kinds]


@pytest.mark.parametrize("change", CHANGES)
async def test_every_change_is_seen_by_the_next_reader(mind: Mind, change: Change) -> None:
    before = [(await mind.read(path)).text for path in READS]
    await change(mind)
    await mind.check()
    after = [(await mind.read(path)).text for path in READS]
    assert all(then != now for then, now in zip(before, after, strict=True))  # the snapshot at least
    await mind.warm()
    await mind.check()


async def test_what_the_worker_takes_out_is_seen_by_the_next_reader(mind: Mind, own_stack: Stack) -> None:
    fact = await mind.write("POST", "/v1/memories", {}, {"text": "for an hour", "expires_at": "2999-01-01T00:00:00Z"})
    usr = mind.scope.usr
    for table in ("memories", "memory_versions"):
        await asked_as_superuser(own_stack, f"UPDATE {table} SET expires_at = now() WHERE usr = $1", usr)  # noqa: S608 - one of two
    await mind.warm()
    before = (await mind.read("/v1/profile")).json()["snapshot"]
    await mind.expire(fact)
    assert (await mind.read("/v1/profile")).json()["snapshot"] != before
    await mind.check()


async def test_each_agent_and_each_length_of_a_page_has_an_answer_of_its_own(mind: Mind) -> None:
    lengths = [len((await mind.read(f"/v1/preferences?limit={limit}")).json()["items"]) for limit in (1, 2, 1)]
    assert lengths == [1, 2, 1]
    values = [(await mind.read(path)).json()["value"]["said"] for path in READS[2:4]]
    assert values == list(READS[2:4])


async def test_reads_of_the_past_and_of_later_pages_are_read_from_postgres(mind: Mind) -> None:
    page = (await mind.read("/v1/preferences?limit=1")).json()
    await put(mind)
    await mind.warm()
    then = await mind.reader.get("/v1/preferences", params={"limit": 1, "snapshot": page["snapshot"]})
    assert (then.json()["items"], then.json()["changes_since"]) == (page["items"], 1)
    following = await mind.reader.get("/v1/preferences", params={"limit": 1, "cursor": page["next_cursor"]})
    assert following.json()["snapshot"] == page["snapshot"]


@pytest.mark.parametrize("change", [put, delete, patch, add_fact])
async def test_a_writer_who_cannot_reach_redis_is_acknowledged_when_no_reader_can_miss_it(
    mind: Mind, lines: list[Line], change: Change
) -> None:
    async with mind.deaf_reader():
        lines[0].lead_to(1)
        await change(mind)
        await mind.check()


@pytest.mark.parametrize("loses_all", [False, True])
async def test_an_answer_that_was_read_before_a_change_is_not_put_after_it(
    mind: Mind, servers: list[OwnRedis], redis: RedisStore, *, loses_all: bool
) -> None:
    copies = Held(mind, redis)
    await copies.take("/v1/profile")
    if loses_all:
        await servers[0].say("FLUSHALL")
    await patch(mind)
    await copies.look()  # somebody else begins to read
    await copies.put()
    # First of all: whatever else is read drops what is older.
    assert same(await mind.read("/v1/profile"), await mind.recorded("/v1/profile"))
    await mind.check()


async def test_an_answer_that_is_older_than_what_is_there_is_not_put(mind: Mind, redis: RedisStore) -> None:
    """The writer finds an answer as new as its change, which a reader was quicker to put, and leaves it there."""
    copies = Held(mind, redis)
    await copies.take("/v1/profile")
    follow, held_up, go_on = mind.processes[0].lease.follow, asyncio.Event(), asyncio.Event()

    async def late(step: Any) -> None:  # noqa: ANN401 - as the lease takes it
        held_up.set()
        await go_on.wait()
        await follow(step)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mind.processes[0].lease, "follow", late)
        writing = asyncio.create_task(patch(mind))
        await held_up.wait()
        await MemoryCopies(HotCopies(redis, mind.processes[1].lease)).put(*copies.newer())
        await copies.put()
        go_on.set()
        await writing
    await mind.check()


class Held:
    """An answer that a reader has made, and hasn't put yet."""

    def __init__(self, mind: Mind, redis: RedisStore) -> None:
        self._mind, self._copies = mind, MemoryCopies(HotCopies(redis, mind.processes[1].lease))
        self._put: list[tuple[Any, ...]] = []

    async def take(self, path: str) -> None:
        """Read a path, whose answer isn't in Redis, up to the moment at which it is put there."""
        await self._copies.follow(self._mind.scope, None)
        with pytest.MonkeyPatch.context() as patched:

            async def hold(_: MemoryCopies, *args: Any) -> None:  # noqa: ANN401 - as what is put takes them
                self._put.append(args)

            patched.setattr(MemoryCopies, "put", hold)
            await self._mind.read(path)
        assert len(self._put) == 1

    def newer(self) -> tuple[Any, ...]:
        """Return how something of the next change would be put."""
        scope, ticket, number, _, answer = self._put[0]
        return scope, ticket, number + 1, "another", answer

    async def look(self) -> None:
        """Take a ticket for something else, as another reader does."""
        await self._copies.look(self._mind.scope, "another")

    async def put(self) -> None:
        """Put it now."""
        await self._copies.put(*self._put[0])


async def test_the_change_after_one_that_died_before_redis_shows_both(mind: Mind) -> None:
    await died_before_redis(mind.processes[0], put(mind))
    await patch(mind)
    await mind.check()


async def test_a_retry_of_what_died_before_redis_is_acknowledged_when_it_is_seen(mind: Mind) -> None:
    said = ("PUT", "/v1/preferences/tone", {**at(1), "Idempotency-Key": "k1"}, {"value": "formal"})
    await died_before_redis(mind.processes[0], mind.ask(*said))
    replayed = await mind.ask(*said)
    assert (replayed.status_code, replayed.headers["Idempotent-Replayed"]) == (200, "true")
    await mind.check()


@pytest.mark.parametrize(
    ("change", "refused", "status"),
    [
        (put, ("PUT", "/v1/preferences/tone", at(1), {"value": "curt"}), 412),
        (delete, ("DELETE", "/v1/preferences/tone", at(1), None), 404),
        (put, ("PUT", "/v1/preferences", {}, {"items": [{"key": "tone", "value": 1, "version": 1}]}), 412),
        (patch, ("PATCH", "/v1/profile", at(1), {"name": "Eve"}), 412),
    ],
)
async def test_who_is_refused_for_what_died_before_redis_reads_what_holds(
    mind: Mind, change: Change, refused: tuple[Any, ...], status: int
) -> None:
    """Otherwise they would read the old version and be refused again, for as long as the copy lives."""
    await died_before_redis(mind.processes[0], change(mind))
    assert (await mind.ask(*refused)).status_code == status
    await mind.check()


async def test_who_proposes_what_died_before_redis_reads_it(mind: Mind) -> None:
    """The proposal changes nothing: it is told what is in force."""
    body = {"key": "colour", "value": "blue", "confidence": 0.5}
    await died_before_redis(mind.processes[0], mind.ask("POST", "/v1/preference-proposals", {}, body))
    assert (await mind.write("POST", "/v1/preference-proposals", {}, body))["because"] == "in_force"
    await mind.check()


@pytest.mark.parametrize("reaches_redis", [True, False])
async def test_a_user_who_is_being_forgotten_is_a_410_at_once(
    mind: Mind, lines: list[Line], monkeypatch: pytest.MonkeyPatch, *, reaches_redis: bool
) -> None:
    """The reader needs no door to Postgres, and its keys are in memory still."""
    if not reaches_redis:
        lines[0].lead_to(1)

    async def wait(_scope: Scope) -> None:
        raise AppError("store_unavailable")

    monkeypatch.setattr(mind.processes[0].erasures, "proceed", wait)
    assert (await mind.writer.delete("/v1/users/me")).status_code == 202
    for path in READS:
        assert (await mind.read(path)).status_code == 410


async def test_what_is_put_after_its_user_was_forgotten_leaves_nothing(mind: Mind, redis: RedisStore) -> None:
    hot = HotData(redis, mind.processes[1].lease)
    assert await hot.count(mind.scope) == 1
    copies = Held(mind, redis)
    await copies.take("/v1/profile")
    assert (await mind.writer.delete("/v1/users/me")).status_code == 200
    await copies.put()
    assert await hot.count(mind.scope) == 0
    assert await redis.command("EXISTS", keys.memory(mind.scope.usr)) == 0
    assert [(await mind.read(path)).status_code for path in READS] == [410] * len(READS)


async def test_what_redis_holds_is_sealed_and_bounded_in_time(mind: Mind, redis: RedisStore) -> None:
    name = keys.memory(mind.scope.usr)
    held = await redis.command("HGETALL", name)
    assert len(held[::2]) == 3 + len(READS)
    stored = b"".join(held)
    assert not any(word in stored for word in (b"tone", b"Ada", b"said", b"desk", b"writer", b"snp_"))
    assert 0 < await redis.command("TTL", name) <= LIFE_S


async def test_an_answer_that_does_not_open_is_made_again(mind: Mind, redis: RedisStore) -> None:
    name = keys.memory(mind.scope.usr)
    held = await redis.command("HGETALL", name)
    for field in held[::2]:
        if field.startswith(b"answer:"):
            await redis.command("HSET", name, field, b"something else")
    await mind.check()


async def test_a_user_has_so_many_answers_in_redis_and_none_that_is_too_long(mind: Mind, redis: RedisStore) -> None:
    copies = MemoryCopies(HotCopies(redis, mind.processes[1].lease))
    look = await copies.look(mind.scope, "one")
    assert look.ticket is not None
    number = int((await mind.read("/v1/profile")).json()["snapshot"].split("_")[1])
    await copies.put(mind.scope, look.ticket, number, "long", bytes(MAX_ANSWER_BYTES + 1))
    assert (await copies.look(mind.scope, "long")).answer is None
    for each in range(MAX_ANSWERS):
        await copies.put(mind.scope, look.ticket, number, str(each), b"short")
    assert await redis.command("HLEN", keys.memory(mind.scope.usr)) == MAX_ANSWERS
    await mind.check()
