"""The function that appends for many users writes for those of its batch alone, whoever calls it and however."""

import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from app.core.scope import Scope
from app.infra.db.appends import APPEND, Append, FreshMessage, Owed, arguments
from app.settings import Settings
from tests.conftest import MakeScope

OWED = Owed("index_messages", "index")
ITEM_OF_MESSAGE = 13  # the place of this column among the arguments
TABLES = ("sessions", "messages", "segment_items", "idempotency", "audit_log")
NEW_SESSION = """
INSERT INTO sessions (tenant, usr, id, agent, window_size, ttl_s, created_at, last_active_at, expires_at)
VALUES ($1, $2, $3, '', 20, 3600, now(), now(), now())
"""


@pytest_asyncio.fixture
async def app_role(settings: Settings) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Give a connection as the role that serves."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    yield connection
    await connection.close()


@pytest_asyncio.fixture
async def owner(settings: Settings) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Give a connection as the tables' owner, in a transaction that is rolled back."""
    assert settings.database_owner_url is not None
    connection = await asyncpg.connect(settings.database_owner_url.get_secret_value())
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()
    await connection.close()


async def bind(connection: "asyncpg.Connection[asyncpg.Record]", scope: Scope) -> None:
    """Let the connection see what is the user's."""
    await connection.execute("SELECT set_config('app.user_id', $1, false)", str(scope.usr))
    await connection.execute("SELECT set_config('app.tenant', $1, false)", scope.tenant)


async def session_of(connection: "asyncpg.Connection[asyncpg.Record]", scope: Scope) -> uuid.UUID:
    """Make a session, past the service."""
    await bind(connection, scope)
    session_id = uuid.uuid4()
    await connection.execute(NEW_SESSION, scope.tenant, scope.usr, session_id)
    return session_id


def append_of(scope: Scope, session_id: uuid.UUID, count: int = 1) -> Append:
    """Return an append. Nobody opens what is in it."""
    return Append(
        scope, session_id, [FreshMessage(uuid.uuid4(), "user", b"x", None, None, None, b"x") for _ in range(count)]
    )


async def fates(connection: "asyncpg.Connection[asyncpg.Record]", *given: Any) -> list[str]:  # noqa: ANN401 - arguments of a statement
    """Call the function."""
    return [row["fate"] for row in await connection.fetch(APPEND, *given)]


async def rows_of(connection: "asyncpg.Connection[asyncpg.Record]", scope: Scope) -> dict[str, int]:
    """Count the rows of a user's appends."""
    await bind(connection, scope)
    counts = {table: await connection.fetchval(f"SELECT count(*) FROM {table}") for table in TABLES}  # noqa: S608 - named above
    return counts | {"next_seq": await connection.fetchval("SELECT coalesce(sum(next_seq), 0)::int FROM sessions")}


@pytest.mark.parametrize("waits", [False, True])
async def test_the_app_role_reaches_no_row_of_another_user_by_it(
    app_role: "asyncpg.Connection[asyncpg.Record]", scope: MakeScope, *, waits: bool
) -> None:
    alice, mallory = await scope(), await scope()
    hers, own = await session_of(app_role, alice), await session_of(app_role, mallory)
    before = await rows_of(app_role, alice)
    await bind(app_role, mallory)
    tries: Sequence[tuple[Append, str]] = [
        (append_of(mallory, hers), "not_found"),
        (append_of(Scope(mallory.tenant + "x", alice.usr, None), hers), "busy"),
        (append_of(Scope("", alice.usr, None), hers), "busy"),
        (append_of(Scope(mallory.tenant, mallory.usr, None), uuid.uuid4()), "not_found"),
    ]
    for append, fate in tries:
        assert await fates(app_role, *arguments([append], OWED, waits=waits)) == [fate]
    # A message that names no item, and one of another item's: it goes where that item goes.
    given = arguments([append_of(mallory, own, 2)], OWED, waits=waits)
    given[ITEM_OF_MESSAGE] = [1, 2]
    assert await fates(app_role, *given) == ["stored"]
    assert await rows_of(app_role, alice) == before
    assert (await rows_of(app_role, mallory))["messages"] == 1


async def test_one_users_reference_under_two_tenants_in_one_batch_opens_nothing(
    app_role: "asyncpg.Connection[asyncpg.Record]", scope: MakeScope
) -> None:
    alice = await scope()
    hers = await session_of(app_role, alice)
    batch = [append_of(alice, hers), append_of(Scope("elsewhere", alice.usr, None), hers)]
    assert await fates(app_role, *arguments(batch, OWED, waits=False)) == ["busy", "busy"]
    assert await fates(app_role, *arguments(batch[::-1], OWED, waits=False)) == ["busy", "stored"]
    assert (await rows_of(app_role, alice))["messages"] == 1


@pytest.mark.parametrize("held", ["users", "sessions"])
async def test_what_somebody_holds_is_handed_back_and_the_rest_is_stored(
    app_role: "asyncpg.Connection[asyncpg.Record]", scope: MakeScope, settings: Settings, held: str
) -> None:
    alice, bob = await scope(), await scope()
    hers, free = await session_of(app_role, alice), await session_of(app_role, alice)
    his = await session_of(app_role, bob)

    async def tried() -> list[str]:
        batch = [append_of(alice, hers), append_of(bob, his), append_of(alice, free), append_of(alice, hers)]
        return await fates(app_role, *arguments(batch, OWED, waits=False))

    other = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        await bind(other, alice)
        async with other.transaction():
            if held == "users":
                await other.execute("SELECT FROM users FOR UPDATE")
            else:
                await other.execute("SELECT FROM sessions WHERE id = $1 FOR UPDATE", hers)
            assert await tried() == ["busy", "stored", "busy" if held == "users" else "stored", "busy"]
    finally:
        await other.close()
    assert await tried() == ["stored"] * 4


async def test_its_role_is_bound_to_the_batch_and_can_change_no_user(
    owner: "asyncpg.Connection[asyncpg.Record]", app_role: "asyncpg.Connection[asyncpg.Record]", scope: MakeScope
) -> None:
    alice, bob = await scope(), await scope()
    hers = await session_of(app_role, alice)
    await owner.execute("SET LOCAL ROLE cairn_commit")
    insert = "INSERT INTO messages (tenant, usr, id, session_id, seq, role, body_sealed, created_at, stored_at)"
    values = "VALUES ($1, $2, gen_random_uuid(), $3, 9, 'user', '', now(), now())"
    for batch in ("", "{}", f'{{"{bob.usr}": "{bob.tenant}"}}', f'{{"{alice.usr}": "elsewhere"}}'):
        await owner.execute("SELECT set_config('app.batch', $1, true)", batch)
        assert await owner.fetchval("SELECT count(*) FROM sessions WHERE usr = $1", alice.usr) == 0
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with owner.transaction():
                await owner.execute(f"{insert} {values}", alice.tenant, alice.usr, hers)
    await owner.execute("SELECT set_config('app.batch', $1, true)", f'{{"{alice.usr}": "{alice.tenant}"}}')
    assert await owner.fetchval("SELECT count(*) FROM sessions WHERE usr = $1", alice.usr) == 1
    for statement in (
        "UPDATE users SET change_number = 9",
        "UPDATE users SET state = 'active'",
        "DELETE FROM sessions",
        "SELECT title_sealed FROM sessions",
        "SELECT body_sealed FROM messages",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with owner.transaction():
                await owner.execute(statement)


async def test_names_are_looked_up_where_nobody_else_can_put_any(
    owner: "asyncpg.Connection[asyncpg.Record]", app_role: "asyncpg.Connection[asyncpg.Record]", scope: MakeScope
) -> None:
    alice = await scope()
    hers = await session_of(app_role, alice)
    # All in the owner's transaction: a schema before the product's, with a table and functions of the same names.
    await owner.execute("CREATE SCHEMA evil CREATE TABLE messages (LIKE public.messages)")
    await owner.execute("CREATE FUNCTION evil.floor(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 1/0::numeric'")
    for name in ("enqueue_for(text, text, text[], uuid[])", "count(bigint)"):
        await owner.execute(f"CREATE FUNCTION evil.{name} RETURNS void LANGUAGE sql AS 'SELECT 1/0'")
    await owner.execute("CREATE TEMP TABLE sessions (LIKE public.sessions)")
    await owner.execute("GRANT ALL ON SCHEMA evil TO PUBLIC; GRANT ALL ON evil.messages TO PUBLIC")
    await owner.execute("GRANT EXECUTE ON FUNCTION append_messages TO cairn_owner")
    await owner.execute("SET LOCAL search_path = evil, pg_temp, pg_catalog, public")
    given = arguments([append_of(alice, hers, 2)], OWED, waits=False)
    called = APPEND.replace("append_messages", "public.append_messages")
    assert [row["fate"] for row in await owner.fetch(called, *given)] == ["stored"]
    assert await owner.fetchval("SELECT count(*) FROM evil.messages") == 0
    await owner.execute("SET LOCAL ROLE cairn_commit")
    await owner.execute("SELECT set_config('app.batch', $1, true)", f'{{"{alice.usr}": "{alice.tenant}"}}')
    assert await owner.fetchval("SELECT next_seq FROM public.sessions WHERE id = $1", hers) == 3


async def test_nobody_but_the_app_role_may_call_it_and_nobody_the_part_below(
    app_role: "asyncpg.Connection[asyncpg.Record]", settings: Settings, scope: MakeScope
) -> None:
    alice = await scope()
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await app_role.execute("SELECT enqueue_for('x', 'y', '{t}'::text[], '{}'::uuid[])")
    given = arguments([append_of(alice, uuid.uuid4())], OWED, waits=False)
    for url in (settings.database_log_url, settings.queue_url):
        assert url is not None
        connection = await asyncpg.connect(url.get_secret_value())
        try:
            with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedFunctionError)):
                await connection.fetch(APPEND, *given)
        finally:
            await connection.close()


TOUCHED = """
SELECT sum(seq_tup_read + idx_tup_fetch + n_tup_ins + n_tup_upd + n_tup_del)::int FROM pg_stat_xact_all_tables
WHERE relname IN ('messages', 'sessions', 'segment_items', 'idempotency', 'audit_log')
"""


async def test_an_append_touches_as_many_rows_in_a_long_session_as_in_a_short_one(
    app_role: "asyncpg.Connection[asyncpg.Record]", scope: MakeScope
) -> None:
    alice = await scope()
    session_id = await session_of(app_role, alice)
    touched: dict[bool, list[int]] = {False: [], True: []}
    for growth in (1, 10, 3_000):
        for _ in range(0, growth, 1_000):
            batch = [append_of(alice, session_id, min(growth, 100)) for _ in range(min(growth, 10))]
            assert set(await fates(app_role, *arguments(batch, OWED, waits=False))) == {"stored"}
        for waits, counts in touched.items():
            async with app_role.transaction():
                before = await app_role.fetchval(TOUCHED)
                given = arguments([append_of(alice, session_id)], OWED, waits=waits)
                assert await fates(app_role, *given) == ["stored"]
                counts.append(await app_role.fetchval(TOUCHED) - before)
    assert {waits: len(set(counts)) for waits, counts in touched.items()} == {False: 1, True: 1}, touched
