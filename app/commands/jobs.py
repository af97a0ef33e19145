"""`cairn jobs`: what is owed, and what was parked because it kept failing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click
import procrastinate
from procrastinate.jobs import Status

from app.commands.environment import load_settings
from app.infra.queue.runner import make_queue

MAX_SHOWN = 200
Result = TypeVar("Result")


@click.group("jobs")
def jobs() -> None:
    """Look at the queue, and deal with parked jobs."""


@jobs.command("ls")
@click.option(
    "--all", "everything", is_flag=True, help="Waiting and running jobs too; by default only the parked ones."
)
def list_jobs(everything: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List jobs: id, state, name, attempts and the user's reference."""
    shown = asyncio.run(_with_queue(_list(everything=everything)))
    for line in shown:
        click.echo(line)
    click.echo(f"{len(shown)} job(s)")


@jobs.command("retry")
@click.argument("job_id", type=int)
def retry_job(job_id: int) -> None:
    """Let a parked job be tried again."""

    async def retry(queue: procrastinate.App) -> None:
        await queue.job_manager.retry_job_by_id_async(job_id, retry_at=procrastinate.utils.utcnow())

    asyncio.run(_with_queue(retry))
    click.echo(f"job {job_id} will be tried again")


@jobs.command("discard")
@click.argument("job_id", type=int)
def discard_job(job_id: int) -> None:
    """Delete a parked or waiting job for good."""

    async def discard(queue: procrastinate.App) -> bool:
        deleted = await queue.connector.execute_query_all_async(
            "DELETE FROM procrastinate_jobs WHERE id = %(job_id)s AND status <> 'doing' RETURNING id",
            job_id=job_id,
        )
        return bool(deleted)

    if not asyncio.run(_with_queue(discard)):
        raise click.ClickException(f"there is no job {job_id} that can be deleted")
    click.echo(f"job {job_id} is deleted")


def _list(*, everything: bool) -> Callable[[procrastinate.App], Awaitable[list[str]]]:
    async def listed(queue: procrastinate.App) -> list[str]:
        found = await queue.job_manager.list_jobs_async(status=None if everything else Status.FAILED.value)
        return [
            f"{job.id}  {job.status}  {job.task_name}  attempts={job.attempts}  {job.task_kwargs.get('usr')}"
            for job in list(found)[:MAX_SHOWN]
        ]

    return listed


async def _with_queue(work: Callable[[procrastinate.App], Awaitable[Result]]) -> Result:
    queue = make_queue(load_settings("jobs").queue_url.get_secret_value(), 1)
    async with queue.open_async():
        return await work(queue)
