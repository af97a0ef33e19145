"""What the roles may do, and that nothing a user said is written where PostgreSQL logs."""

import asyncio
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from importlib.resources import files
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from app.infra.embedded import bootstrap
from app.infra.embedded.binaries import find_postgres
from app.infra.embedded.stack import Stack

RECOVERED_WITHIN_S = 20
OWN_ROLES = ("cairn_owner", "cairn_app", "cairn_log", "cairn_queue", "cairn_keys", "cairn_commit")


async def fetch(url: str | None, statement: str, *values: object) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url, ssl=False)
    try:
        return await connection.fetch(statement, *values)
    finally:
        await connection.close()


def on(url: str | None, database: str) -> str:
    assert url
    return bootstrap.on_database(url, database)


def test_secrets_are_closed_to_everyone_else(servers: Stack) -> None:
    folder = servers.data / "secrets"
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert set(modes) == {"postgres", "valkey", *OWN_ROLES} - {"cairn_commit"}
    assert set(modes.values()) == {0o600}
    assert (servers.data / "run" / "valkey.conf").stat().st_mode & 0o777 == 0o600
    assert servers.secrets.keep("valkey") in (servers.urls.redis or "")
    assert servers.secrets.keep("valkey") not in repr(servers.urls)


async def test_no_role_of_ours_is_more_than_it_should_be(servers: Stack) -> None:
    rows = await fetch(servers.admin_url, "SELECT * FROM pg_roles WHERE rolname LIKE 'cairn%'")
    assert {row["rolname"] for row in rows} == set(OWN_ROLES)
    for row in rows:
        privileges = ("rolsuper", "rolbypassrls", "rolcreaterole", "rolcreatedb", "rolreplication")
        assert not [privilege for privilege in privileges if row[privilege]], row["rolname"]
        assert row["rolcanlogin"] == (row["rolname"] != "cairn_commit")


async def test_row_level_security_binds_even_the_owner(servers: Stack) -> None:
    database = await a_copy(servers)
    owner_url, app_url = on(servers.urls.database_owner, database), on(servers.urls.database, database)
    owner = await asyncpg.connect(owner_url, ssl=False)
    await owner.execute(
        "CREATE TABLE mine (usr text); INSERT INTO mine VALUES ('someone'); GRANT SELECT ON mine TO cairn_app;"
        "ALTER TABLE mine ENABLE ROW LEVEL SECURITY; ALTER TABLE mine FORCE ROW LEVEL SECURITY"
    )
    await owner.close()
    assert await fetch(owner_url, "SELECT * FROM mine") == []
    assert await fetch(app_url, "SELECT * FROM mine") == []
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await fetch(app_url, "CREATE TABLE other ()")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await fetch(app_url, "SET ROLE cairn_owner")


async def test_the_key_store_lets_nobody_else_in(servers: Stack) -> None:
    for url in (servers.urls.database, servers.urls.database_owner, servers.urls.database_log, servers.urls.queue):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await fetch(on(url, "cairn_keys"), "SELECT 1")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await fetch(on(servers.urls.keys, "cairn"), "SELECT 1")


async def test_the_queue_role_lives_in_its_own_schema(servers: Stack) -> None:
    (path,) = await fetch(servers.urls.queue, "SHOW search_path")
    assert path[0] == "queue"
    (schema,) = await fetch(
        servers.urls.database_owner, "SELECT nspowner::regrole::text AS owner FROM pg_namespace WHERE nspname = 'queue'"
    )
    assert schema["owner"] == "cairn_owner"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await fetch(servers.urls.queue, "CREATE TABLE public.other ()")


async def test_the_owner_can_give_a_function_to_the_committing_role(servers: Stack) -> None:
    database = await a_copy(servers)
    await fetch(
        on(servers.urls.database_owner, database), "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql RETURN 1"
    )
    await fetch(on(servers.urls.database_owner, database), "ALTER FUNCTION public.f() OWNER TO cairn_commit")


async def test_a_role_that_bypasses_row_level_security_is_refused(servers: Stack) -> None:
    await fetch(servers.admin_url, "ALTER ROLE cairn_log BYPASSRLS")
    try:
        with pytest.raises(asyncpg.RaiseError, match="bypasses row-level security"):
            await bootstrap.prepare(servers.admin_url, {})
    finally:
        await fetch(servers.admin_url, "ALTER ROLE cairn_log NOBYPASSRLS")
    await bootstrap.prepare(servers.admin_url, {})


def test_psql_runs_the_role_file_for_an_operator(servers: Stack) -> None:
    psql = find_postgres().folder / "psql"
    program = str(psql) if psql.exists() else shutil.which("psql")
    if program is None:
        pytest.skip("no psql here")
    url = urlsplit(servers.admin_url)
    connection = ["-h", "127.0.0.1", "-p", str(url.port), "-U", "postgres", "-d", "postgres"]
    script = str(files("app.infra.embedded").joinpath("roles.sql"))
    subprocess.run(  # noqa: S603 (our own)
        [program, "-X", "-q", "-v", "ON_ERROR_STOP=1", *connection, "-f", script],
        check=True,
        env={"PGPASSWORD": url.password or "", "PATH": os.environ["PATH"]},
        timeout=20,
    )


async def test_a_database_from_a_template_has_its_content_owner_and_doors(servers: Stack) -> None:
    database = await a_copy(servers)
    (row,) = await fetch(
        servers.admin_url, "SELECT datdba::regrole::text FROM pg_database WHERE datname = $1", database
    )
    assert row[0] == "cairn_owner"
    for url in (servers.urls.database, servers.urls.database_log, servers.urls.queue):
        assert await fetch(on(url, database), "SELECT 1")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await fetch(on(servers.urls.keys, database), "SELECT 1")
    await bootstrap.drop_database(servers.admin_url, database)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await fetch(on(servers.urls.database, database), "SELECT 1")


async def test_nothing_a_user_said_is_in_a_log(servers: Stack) -> None:
    phrase = f"walnut{uuid4().hex}"
    database = await a_copy(servers)
    url = on(servers.urls.database_owner, database)
    await fetch(url, "CREATE TABLE said (it text PRIMARY KEY)")
    await fetch(url, "INSERT INTO said VALUES ($1)", phrase)
    for statement in (
        f"INSERT INTO said VALUES ('{phrase}')",  # noqa: S608 (DETAIL quotes the key)
        f"SELECT '{phrase}'::uuid",  # the message quotes the value
        f"SELEKT {phrase}",  # STATEMENT quotes the statement
        f"DO $$ BEGIN RAISE EXCEPTION 'no {phrase}'; END $$",
        f"DO $$ BEGIN RAISE WARNING 'no {phrase}'; RAISE division_by_zero; END $$",
    ):
        with pytest.raises(asyncpg.PostgresError):
            await fetch(url, statement)
    with pytest.raises(asyncpg.PostgresError):
        await fetch(url, "SELECT $1::text::uuid", phrase)
    await kill_a_backend_that_runs(f"SELECT pg_sleep(60), '{phrase}'", servers)  # the server's own DETAIL quotes it
    await bootstrap.drop_database(servers.admin_url, database)
    logs = list((servers.data / "logs").iterdir())
    assert {log.name for log in logs} == {"postgres.log", "valkey.log", "chroma.log"}
    assert b"was terminated by signal 9" in b"".join(log.read_bytes() for log in logs)
    assert not [log.name for log in logs if phrase.encode() in log.read_bytes()]


async def kill_a_backend_that_runs(statement: str, servers: Stack) -> None:
    """Returns when the server has recovered: it restarts itself, and all its sessions."""
    connection = await asyncpg.connect(servers.urls.database_owner, ssl=False)
    victim: int = await connection.fetchval("SELECT pg_backend_pid()")
    running = asyncio.ensure_future(connection.execute(statement))
    seen = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active'"
    async with asyncio.timeout(RECOVERED_WITHIN_S):
        while not await fetch(servers.admin_url, seen, victim):
            pass
    os.kill(victim, signal.SIGKILL)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
        await running
    async with asyncio.timeout(RECOVERED_WITHIN_S):
        while True:
            with suppress(asyncpg.PostgresError, ConnectionError):
                await fetch(servers.admin_url, "SELECT 1")
                return
            await asyncio.sleep(0.02)


async def a_copy(servers: Stack) -> str:
    """A database like `cairn`, to spoil."""
    name = f"copy_{uuid4().hex}"
    await bootstrap.create_database_from_template(servers.admin_url, "cairn", name)
    return name
