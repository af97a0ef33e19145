"""`cairn serve`, `cairn worker`, `cairn migrate`: the processes of a deployment."""

import asyncio
import sys
import time
from contextlib import suppress

import click
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from app.base import require_own_keys
from app.commands.environment import load_settings
from app.core.errors import AppError
from app.infra.audit.writer import AuditWriter
from app.infra.crypto.master import MasterKeyError, MasterKeys
from app.infra.db import migrations
from app.infra.db.engine import make_engine
from app.infra.db.transaction import Database
from app.infra.keys.store import KeyStore, open_pool
from app.infra.keys.vault import Vault, WrongKeyStoreError, open_vault
from app.infra.observability.logs import set_up_logs
from app.settings import Settings
from app.web.draining import end_well
from app.web.heads import BoundedHeads

# Idle clients are agents with people behind them: the usual 5 s cut 10 % of their calls off at human think times.
KEEP_ALIVE_S = 75
BACKLOG = 2_048
GRACE_S = 30
# Only what hangs is to be replaced. The usual 5 s replace, for ever, processes that begin slowly on a busy machine.
PROCESS_ANSWERS_WITHIN_S = 30
# A process that is started while its stores come up waits for them: who starts it again and again waits longer.
STORES_WITHIN_S = 10
STORES_LOOK_S = 0.2


@click.command("serve")
def serve() -> None:
    """Serve the API. The schema must be migrated; nothing is created here."""
    settings = load_settings("serve")
    require_keys(settings)
    end_well()
    config = uvicorn.Config(
        "app.main:application",
        factory=True,
        http=BoundedHeads,
        # There are none here, and uvicorn logs the address and the whole path of who asks for one.
        ws="none",
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        timeout_worker_healthcheck=PROCESS_ANSWERS_WITHIN_S,
        backlog=BACKLOG,
        access_log=False,
        log_config=None,
        server_header=False,
    )
    with suppress(KeyboardInterrupt):
        sys.exit(_run(config))


class _Processes(Multiprocess):
    """Processes that share a port. It is closed when the last of them has stopped listening.

    uvicorn's parent keeps it open until they have ended: who connects meanwhile is taken by the kernel, and answered by
    nobody.
    """

    def terminate_all(self) -> None:
        """Let go of the port, and tell the processes to end."""
        for listening in self.sockets:
            listening.close()
        super().terminate_all()


def _run(config: uvicorn.Config) -> int:
    """Serve until the end and return the status. `uvicorn.run` would end well where its processes couldn't begin."""
    if config.workers == 1:
        server = uvicorn.Server(config)
        server.run()
        return 0 if server.started else STARTUP_FAILURE
    processes = _Processes(config, sockets=[config.bind_socket()])
    processes.run()
    return STARTUP_FAILURE if any(each.exitcode == STARTUP_FAILURE for each in processes.processes) else 0


@click.command("worker")
def worker() -> None:
    """Do what is owed: ingestion, indexing, erasures that a request didn't finish."""
    settings = load_settings("worker")
    require_keys(settings)
    set_up_logs(settings.log_level)
    from app.worker import work  # noqa: PLC0415 - the parent of `serve` has no use for it, and it loads everything

    asyncio.run(work(settings))


@click.command("migrate")
@click.option("--check", is_flag=True, help="Compare the migrated schema with the code instead of migrating.")
def migrate(check: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Bring both databases to the newest schema, as the owner."""
    settings = load_settings("migrate")
    owner_url = settings.database_owner_url.get_secret_value()
    if check:
        migrations.differences(owner_url)
        return
    migrations.upgrade(owner_url, settings.keys_url.get_secret_value())
    click.echo("both databases are at the newest schema")


async def _require_own_keys(settings: Settings, vault: Vault) -> None:
    """Raise WrongKeyStoreError. On a schema that this version doesn't know nothing is asked, for nothing is served."""
    url = settings.database_url.get_secret_value()
    with suppress(migrations.UnsupportedSchemaError):
        await migrations.require_supported(url)
        engine = make_engine(url, 1)
        try:
            await require_own_keys(Database(engine, vault, AuditWriter(url)), vault)
        finally:
            await engine.dispose()


def require_keys(settings: Settings) -> None:
    """Fail with the reason where the master keys don't open the key store, or where it isn't this data's."""

    async def open_once() -> None:
        store = KeyStore(await open_pool(settings.keys_url.get_secret_value(), 1))
        try:
            vault = await open_vault(store, MasterKeys.parse(settings.master_key.get_secret_value()))
            await _require_own_keys(settings, vault)
        finally:
            await store.close()

    async def open_in_time() -> None:
        end = time.monotonic() + STORES_WITHIN_S
        while True:
            try:
                return await open_once()
            except AppError as error:
                if error.code != "store_unavailable" or time.monotonic() > end:
                    raise
            await asyncio.sleep(STORES_LOOK_S)

    try:
        asyncio.run(open_in_time())
    except MasterKeyError as error:
        raise click.ClickException(f"CAIRN_MASTER_KEY: {error}") from None
    except WrongKeyStoreError as error:
        raise click.ClickException(f"CAIRN_KEYS_URL: {error}") from None
    except AppError as error:
        raise click.ClickException(f"{error.problem.title}: {error.detail}") from None
