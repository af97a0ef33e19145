"""`cairn serve`, `cairn worker`, `cairn migrate`: the processes of a deployment."""

import asyncio

import click
import uvicorn

from app.commands.environment import load_settings
from app.infra.db import migrations
from app.infra.observability.logs import set_up_logs
from app.worker import work

# Idle clients are agents with people behind them: the usual 5 s cut 10 % of their calls off at human think times.
KEEP_ALIVE_S = 75
BACKLOG = 2_048
GRACE_S = 30


@click.command("serve")
def serve() -> None:
    """Serve the API. The schema must be migrated; nothing is created here."""
    settings = load_settings("serve")
    uvicorn.run(
        "app.main:application",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        backlog=BACKLOG,
        access_log=False,
        log_config=None,
        server_header=False,
    )


@click.command("worker")
def worker() -> None:
    """Do what is owed: ingestion, indexing, erasures that a request didn't finish."""
    settings = load_settings("worker")
    set_up_logs(settings.log_level)
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
