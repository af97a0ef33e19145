"""The doors: what is bound, what is refused, what is written with a change, and what a race leaves."""

import asyncio
import hashlib
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg
import pytest
from sqlalchemy import select, text, update

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.idempotency import Answer, Attempt, Replayed
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.audit.tables import audit_log
from app.infra.db.engine import make_engine
from app.infra.db.tables import users
from app.infra.db.transaction import Database, Transaction
from app.infra.embedded.stack import Stack
from app.settings import Settings
from app.wiring import Wiring
from tests.conftest import eventually

MakeScope = Callable[..., Awaitable[Scope]]
ENTRY = AuditEntry("touch", "user")


def attempt_of(key: str, body: bytes = b"1") -> Attempt:
    """Return an attempt whose answer is what the service returned."""
    return Attempt(
        "POST /v1/things",
        key,
        hashlib.sha256(body).digest(),
        lambda result: Answer(201, {}, str(result).encode()),
        lambda error: Answer(error.problem.status, {}, error.code.encode()),
    )


async def raise_number(wiring: Wiring, scope: Scope, attempt: Attempt | None = None) -> int:
    """Make a change of user memory."""
    async with wiring.db.remember(scope, attempt) as tx:
        number = await tx.next_change(ENTRY)
        await tx.answer(number)
    return number


async def number_of(wiring: Wiring, scope: Scope) -> int:
    """Return the number of the last change."""
    async with wiring.db.read(scope) as tx:
        return await tx.change_number()


async def test_with_no_user_set_the_app_role_sees_nothing_and_writes_nothing(
    wiring: Wiring, scope: MakeScope, settings: Settings
) -> None:
    someone = await scope()
    await raise_number(wiring, someone)
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        tables = await connection.fetch(
            "SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE a.attname = 'usr' AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
        )
        assert len(tables) > 10
        counts = {row["name"]: await connection.fetchval(f"SELECT count(*) FROM {row['name']}") for row in tables}  # noqa: S608 - names from the catalogue
        assert set(counts.values()) == {0}
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("INSERT INTO users (tenant, usr) VALUES ('x', gen_random_uuid())")
    finally:
        await connection.close()


async def test_a_scope_sees_its_own_rows_alone(wiring: Wiring, scope: MakeScope) -> None:
    alice, bob = await scope(), await scope()
    async with wiring.db.read(alice) as tx:
        assert [row.usr for row in await tx.rows(select(users.c.usr))] == [alice.usr]
        assert await tx.row(select(users).filter_by(usr=bob.usr)) is None


async def test_the_same_reference_under_another_tenant_opens_nothing(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    thief = Scope("another tenant", alice.usr, None)
    with pytest.raises(AppError) as refused:
        async with wiring.db.read(thief):
            pass
    assert refused.value.code == "erased"


async def test_a_connection_that_goes_back_to_the_pool_is_bound_to_nobody(wiring: Wiring, scope: MakeScope) -> None:
    await raise_number(wiring, await scope())
    async with wiring.db._engine.connect() as connection:  # noqa: SLF001 - the pool itself is under test
        bound = (await connection.execute(text("SELECT current_setting('app.user_id', true)"))).scalar_one()
    assert bound in (None, "")


async def test_a_reader_cannot_write(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    with pytest.raises(Exception, match="read-only"):
        async with wiring.db.read(alice) as tx:
            await tx.change(update(users).values(change_number=1), ENTRY)
    assert await number_of(wiring, alice) == 0


async def test_user_memory_is_changed_by_its_own_door_alone(wiring: Wiring, scope: MakeScope) -> None:
    """By another one, readers of its copies in Redis wouldn't hear of it."""
    alice = await scope()
    for door in (wiring.db.write, wiring.db.read):
        with pytest.raises(TypeError, match="remember"):
            async with door(alice) as tx:
                await tx.next_change(ENTRY)
    nowhere = Database(wiring.db._engine, wiring.vault, wiring.access_log)  # noqa: SLF001 - the doors of a process without Redis
    with pytest.raises(TypeError, match="copies"):
        async with nowhere.remember(alice):
            pass
    assert await number_of(wiring, alice) == 0


async def test_changes_of_ten_writers_are_numbered_without_a_gap(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    numbers = await asyncio.gather(*(raise_number(wiring, alice) for _ in range(10)))
    assert sorted(numbers) == list(range(1, 11))


async def test_a_change_and_its_audit_row_stand_or_fall_together(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    await raise_number(wiring, alice)

    async def fail() -> None:
        async with wiring.db.remember(alice) as tx:
            await tx.next_change(AuditEntry("fail", "user"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    async with wiring.db.read(alice) as tx:
        actions = [row.action for row in await tx.rows(select(audit_log.c.action))]
    assert "touch" in actions
    assert "fail" not in actions
    assert await number_of(wiring, alice) == 1


async def test_an_audit_row_cannot_be_changed_or_deleted(wiring: Wiring, scope: MakeScope, settings: Settings) -> None:
    alice = await scope()
    await raise_number(wiring, alice)
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        await connection.execute("SELECT set_config('app.user_id', $1, false)", str(alice.usr))
        await connection.execute("SELECT set_config('app.tenant', $1, false)", alice.tenant)
        for statement in ("UPDATE audit_log SET action = 'x'", "DELETE FROM audit_log"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
    finally:
        await connection.close()


async def test_reads_reach_the_audit_within_moments(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    seen = uuid.uuid4()
    async with wiring.db.read(alice) as tx:
        tx.saw(AuditEntry("read", "thing", seen))
    await wiring.access_log.flushed()
    async with wiring.db.read(alice) as tx:
        assert seen in [row.item for row in await tx.rows(select(audit_log.c.item))]


async def test_a_repeated_attempt_has_one_effect_and_the_first_answer(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    assert await raise_number(wiring, alice, attempt_of("k1")) == 1
    with pytest.raises(Replayed) as replayed:
        await raise_number(wiring, alice, attempt_of("k1"))
    assert replayed.value.answer == Answer(201, {}, b"1")
    assert await number_of(wiring, alice) == 1


async def test_ten_twins_at_once_have_one_effect(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    results = await asyncio.gather(
        *(raise_number(wiring, alice, attempt_of("twin")) for _ in range(10)), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["Replayed"] * 9 + ["int"]
    assert await number_of(wiring, alice) == 1


async def test_a_key_used_for_another_request_is_refused(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    await raise_number(wiring, alice, attempt_of("k"))
    with pytest.raises(AppError) as refused:
        await raise_number(wiring, alice, attempt_of("k", b"2"))
    assert refused.value.code == "idempotency_mismatch"


async def test_a_refusal_is_kept_as_the_answer(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()

    async def refuse(outcome: str) -> None:
        async with wiring.db.write(alice, attempt_of("refused")):
            raise AppError(outcome)

    with pytest.raises(AppError):
        await refuse("conflict")
    with pytest.raises(Replayed) as replayed:
        await refuse("not_found")
    assert replayed.value.answer.body == b"conflict"


async def test_an_answer_is_forgotten_with_what_it_shows(wiring: Wiring, scope: MakeScope) -> None:
    alice, item = await scope(), uuid.uuid4()
    async with wiring.db.write(alice, attempt_of("shows")) as tx:
        await tx.answer("a value", item, uuid.uuid4())
    async with wiring.db.write(alice) as tx:
        await tx.forget_answers(item, ENTRY)
    with pytest.raises(AppError) as refused:  # the retry neither shows it nor makes it again
        await raise_number(wiring, alice, attempt_of("shows"))
    assert refused.value.code == "not_found"
    assert await number_of(wiring, alice) == 0


async def test_a_store_that_was_down_is_not_the_answer_for_ever(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    with pytest.raises(AppError):
        async with wiring.db.write(alice, attempt_of("later")):
            raise AppError("store_unavailable")
    assert await raise_number(wiring, alice, attempt_of("later")) == 1


async def test_a_job_is_written_with_its_change_or_not_at_all(wiring: Wiring, scope: MakeScope, stack: Stack) -> None:
    alice = await scope()

    async def fail() -> None:
        async with wiring.db.write(alice) as tx:
            tx.enqueue(Job("test_job"))
            await tx.settle()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await jobs_of(stack, alice) == []
    async with wiring.db.write(alice) as tx:
        tx.enqueue(Job("test_job", {"n": 1}))
    assert [job["lock"] for job in await jobs_of(stack, alice)] == [f"user:{alice.usr}"]


async def test_a_job_that_is_owed_once_waits_once(wiring: Wiring, scope: MakeScope, stack: Stack) -> None:
    alice = await scope()

    async def owe() -> None:
        async with wiring.db.write(alice) as tx:
            tx.enqueue(Job("test_job", once="index"))

    await asyncio.gather(*(owe() for _ in range(10)))
    assert len(await jobs_of(stack, alice)) == 1


async def test_nobody_owes_a_job_for_someone_else(wiring: Wiring, scope: MakeScope) -> None:
    alice, bob = await scope(), await scope()
    with pytest.raises(Exception, match="bound user"):
        async with wiring.db.write(alice) as tx:
            await tx.rows(
                text("SELECT enqueue('x', jsonb_build_object('usr', :usr), 0, 'user', null, 0)").bindparams(
                    usr=str(bob.usr)
                )
            )


async def test_an_erasure_waits_for_a_writer_and_refuses_the_next(wiring: Wiring, scope: MakeScope) -> None:
    alice = await scope()
    inside, leave = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        async with wiring.db.remember(alice) as tx:
            inside.set()
            await leave.wait()
            await tx.next_change(ENTRY)

    async def close_gate() -> None:
        async with wiring.db.gate(alice) as (tx, state):
            assert state == "active"
            await tx.change(text("UPDATE users SET state = 'erasing'"), ENTRY)

    writer = asyncio.create_task(write())
    await inside.wait()
    gate = asyncio.create_task(close_gate())
    done, _ = await asyncio.wait({gate}, timeout=0.3)
    assert not done, "the gate closed while a writer was inside"
    leave.set()
    await asyncio.gather(writer, gate)
    for door in (wiring.db.write, wiring.db.read):
        with pytest.raises(AppError) as refused:
            async with door(alice):
                pass
        assert refused.value.code == "erasing"


async def test_an_erasure_waits_for_a_refusal_that_is_being_kept(
    wiring: Wiring, scope: MakeScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = await scope()
    inside, leave = asyncio.Event(), asyncio.Event()
    begin, begun = Transaction.begin_attempt, []

    async def begin_slowly(tx: Transaction, attempt: Attempt) -> None:
        begun.append(attempt)
        if len(begun) > 1:  # the write was refused and rolled back: this keeps the refusal
            inside.set()
            await leave.wait()
        await begin(tx, attempt)

    async def write() -> None:
        async with wiring.db.write(alice, attempt_of("key")):
            raise AppError("conflict")

    monkeypatch.setattr(Transaction, "begin_attempt", begin_slowly)
    writer = asyncio.create_task(write())
    await inside.wait()
    erasure = asyncio.create_task(wiring.erasures.forget(alice))
    done, _ = await asyncio.wait({erasure}, timeout=1)
    leave.set()
    with pytest.raises(AppError, match="conflict"):
        await writer
    assert (await erasure).certificate is not None
    assert not done, "the user was forgotten while something of theirs was being written"
    assert (await wiring.erasures.verify(alice)).clean


async def test_the_erasing_door_is_shut_for_a_living_user(wiring: Wiring, scope: MakeScope) -> None:
    with pytest.raises(AppError):
        async with wiring.db.erase(await scope()):
            pass


async def jobs_of(stack: Stack, scope: Scope) -> list[Any]:
    """Return the user's rows in the queue, as an administrator sees them."""
    connection = await asyncpg.connect(stack.admin_url.rsplit("/", 1)[0] + "/cairn")
    try:
        return await connection.fetch(
            "SELECT * FROM queue.procrastinate_jobs WHERE args ->> 'usr' = $1", str(scope.usr)
        )
    finally:
        await connection.close()


async def test_a_connection_whose_server_is_gone_costs_nobody_an_answer(
    wiring: Wiring, scope: MakeScope, settings: Settings
) -> None:
    alice = await scope()
    url = settings.database_url.get_secret_value()
    engine = make_engine(url, 2)  # of its own: who shares the servers with this test keeps their connections
    db = Database(engine, wiring.vault, wiring.access_log)
    other = await asyncpg.connect(url)
    try:
        for _ in range(3):
            async with engine.connect() as first, engine.connect() as second:
                drivers = [(await each.get_raw_connection()).driver_connection for each in (first, second)]
                pids = [driver.get_server_pid() for driver in drivers if driver is not None]
            assert len(pids) == 2
            await other.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", pids)

            async def all_closed(drivers: Sequence[Any] = drivers) -> bool:
                return all(driver.is_closed() for driver in drivers)

            await eventually(all_closed)
            async with db.read(alice) as tx:
                assert await tx.change_number() == 0
    finally:
        await other.close()
        await engine.dispose()
