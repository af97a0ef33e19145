"""`cairn doctor`: one line for each thing that an operator at night wants to know, and what to do about it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import asyncpg
import click
import httpx
import redis.asyncio

from app.base import model_names
from app.commands.environment import load_settings
from app.infra.crypto.master import MasterKeyError, MasterKeys
from app.infra.db import migrations
from app.infra.embedders.port import EmbedderMisconfiguredError
from app.infra.keys.store import KeyStore, open_pool
from app.infra.keys.vault import open_vault
from app.settings import Settings

TIMEOUT_S = 5
MEASURED_REDIS = (7, 0)
MEASURED_POSTGRES = 15
# Connections of one worker process beside its pool: the queue's, the audit's, the lease's.
BESIDE_POOL = 8
KEYS_POOL = 4
# Connections of one API process beside its pools: the audit's, the lease's.
BESIDE_API_POOLS = 2


@dataclass(frozen=True)
class Finding:
    """What a check found, and what to do where it isn't well."""

    well: bool
    text: str


Check = Callable[[Settings], Awaitable[Finding]]


@click.command("doctor")
@click.option(
    "--replicas", default=1, show_default=True, type=click.IntRange(1), help="API machines of the deployment."
)
def doctor(replicas: int) -> None:
    """Look at every store and every setting, and say what is wrong. The exit status is 1 where something is."""
    settings = load_settings("doctor")
    findings = asyncio.run(_examine(settings, replicas))
    for name, finding in findings.items():
        click.echo(f"{'ok  ' if finding.well else 'FAIL'}  {name}: {finding.text}")
    sys.exit(0 if all(finding.well for finding in findings.values()) else 1)


async def _examine(settings: Settings, replicas: int) -> Mapping[str, Finding]:
    async def connections(settings: Settings) -> Finding:
        return await _connections(settings, replicas)

    checks: Mapping[str, Check] = {
        "postgres": _postgres,
        "schema": _schema,
        "row-level security": _row_security,
        "connections": connections,
        "keys": _keys,
        "redis": _redis,
        "lease": _lease,
        "chroma": _chroma,
        "embedder": _embedder,
        "queue": _queue,
    }
    results = await asyncio.gather(*(_guarded(check, settings) for check in checks.values()))
    return dict(zip(checks, results, strict=True))


async def _guarded(check: Check, settings: Settings) -> Finding:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await check(settings)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return Finding(
            well=False, text=f"doesn't answer ({type(error).__name__}): is the server up, and the URL right?"
        )


async def _query(url: str, statement: str) -> asyncpg.Record:
    connection = await asyncpg.connect(url, timeout=TIMEOUT_S, statement_cache_size=0)
    try:
        rows = await connection.fetch(statement)
    finally:
        await connection.close()
    return rows[0]


async def _postgres(settings: Settings) -> Finding:
    row = await _query(settings.database_url.get_secret_value(), "SHOW server_version_num")
    major = int(row[0]) // 10_000
    return Finding(major >= MEASURED_POSTGRES, f"answers, version {major} (15 or later is needed)")


async def _schema(settings: Settings) -> Finding:
    try:
        await migrations.require_supported(settings.database_url.get_secret_value())
    except migrations.UnsupportedSchemaError as error:
        return Finding(well=False, text=str(error))
    return Finding(well=True, text="the one this version works on")


async def _row_security(settings: Settings) -> Finding:
    row = await _query(
        settings.database_url.get_secret_value(),
        "SELECT r.rolsuper OR r.rolbypassrls"
        " OR EXISTS (SELECT FROM pg_class c WHERE c.relowner = r.oid AND c.relkind = 'r')"
        " FROM pg_roles r WHERE r.rolname = current_user",
    )
    if row[0]:
        return Finding(
            well=False, text="the app's role is a superuser, bypasses or owns tables: use the plain role cairn_app"
        )
    open_tables = await _query(
        settings.database_url.get_secret_value(),
        "SELECT count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'usr'"
        " WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
        " AND NOT (c.relrowsecurity AND c.relforcerowsecurity)",
    )
    return Finding(open_tables[0] == 0, f"{open_tables[0]} table(s) of users' data without it")


async def _connections(settings: Settings, replicas: int) -> Finding:
    row = await _query(
        settings.database_url.get_secret_value(),
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int",
    )
    api = replicas * settings.workers * (settings.db_pool_size + KEYS_POOL + BESIDE_API_POOLS)
    worker = settings.db_pool_size + KEYS_POOL + BESIDE_POOL
    text = (
        f"{api + worker} at most ({replicas} x {settings.workers} API processes, one worker), the server takes {row[0]}"
    )
    return Finding(api + worker <= row[0], text)


async def _keys(settings: Settings) -> Finding:
    try:
        masters = MasterKeys.parse(settings.master_key.get_secret_value())
        store = KeyStore(await open_pool(settings.keys_url.get_secret_value(), 1))
        try:
            await open_vault(store, masters)
        finally:
            await store.close()
    except MasterKeyError as error:
        return Finding(well=False, text=f"{error}: without it everything is unreadable; find it before anything else")
    return Finding(well=True, text=f"the master key '{masters.current}' opens the key store")


async def _redis(settings: Settings) -> Finding:
    client = redis.asyncio.from_url(settings.redis_url.get_secret_value(), socket_timeout=TIMEOUT_S)
    try:
        info = await client.info()
    except redis.RedisError as error:
        return Finding(
            well=False, text=f"doesn't answer ({type(error).__name__}); sessions are read from PostgreSQL meanwhile"
        )
    finally:
        await client.aclose()
    version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:2])
    policy = info.get("maxmemory_policy", "noeviction")
    return Finding(version >= MEASURED_REDIS, f"answers, version {info['redis_version']}, {policy}")


async def _lease(settings: Settings) -> Finding:
    row = await _query(
        settings.database_url.get_secret_value(),
        "SELECT cardinality(servers), is_settled, is_here, age_s::int FROM read_generation()",
    )
    if row[0] and row[2]:
        return Finding(well=True, text=f"Redis is trusted, {row[0]} server(s) for {row[3]} s")
    why = "closed" if row[2] else "of before PostgreSQL's last start"
    text = (
        f"{why} for {row[3]} s: sessions are read from PostgreSQL; an API process or worker that reaches Redis opens it"
    )
    # It is shut for a moment after every failover. What stays shut is Redis's trouble: see its line.
    return Finding(well=True, text=text)


async def _chroma(settings: Settings) -> Finding:
    async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
        try:
            answer = await client.get(f"{settings.chroma_url}/api/v2/heartbeat")
        except httpx.HTTPError as error:
            way_out = "searches go over PostgreSQL meanwhile, and it catches up when it is back"
            return Finding(well=False, text=f"doesn't answer ({type(error).__name__}); {way_out}")
    return Finding(answer.is_success, f"answers {answer.status_code}")


async def _embedder(settings: Settings) -> Finding:
    try:
        names = await asyncio.to_thread(model_names, settings)
    except EmbedderMisconfiguredError as error:
        return Finding(well=False, text=str(error))
    statement = "SELECT model, sum(made)::bigint, sum(items)::bigint FROM index_by_model($1) GROUP BY model"
    connection = await asyncpg.connect(
        settings.database_url.get_secret_value(), timeout=TIMEOUT_S, statement_cache_size=0
    )
    try:
        made = {row[0]: (row[1], row[2]) for row in await connection.fetch(statement, list(names))}
    finally:
        await connection.close()
    told = ", ".join(f"{made[name][0]} of {made[name][1]} vectors are of {name}" for name in names if name in made)
    wanted = made.get(names[0], (0, 0))
    if wanted[0] == wanted[1]:
        done = ": take CAIRN_EMBEDDER_BEFORE away, and its vectors go" if len(names) > 1 else ""
        return Finding(well=True, text=f"{told or names[0]}{done}")
    if len(names) > 1:
        return Finding(well=True, text=f"{told}: a worker makes the rest, and who lacks some is searched by {names[1]}")
    way_out = "set CAIRN_EMBEDDER_BEFORE to the model of before, so that it is asked until a worker has made the rest"
    return Finding(well=False, text=f"{told}; what has none is found by words alone: {way_out}")


async def _queue(settings: Settings) -> Finding:
    row = await _query(
        settings.queue_url.get_secret_value(),
        "SELECT count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'todo')"
        " FROM queue.procrastinate_jobs",
    )
    workers = await _query(
        settings.queue_url.get_secret_value(),
        "SELECT count(*) FROM queue.procrastinate_workers WHERE last_heartbeat > now() - interval '30 seconds'",
    )
    if not workers[0]:
        return Finding(well=False, text=f"no worker is alive, {row[1]} job(s) wait: start `cairn worker`")
    text = f"{row[1]} job(s) wait, {row[0]} parked" + (": see `cairn jobs ls`" if row[0] else "")
    return Finding(row[0] == 0, text)
