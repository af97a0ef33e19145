"""The runner: claims jobs, mints their scope and hands them to their handlers. One of three places that catch
everything.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

import procrastinate
import structlog
from procrastinate import JobContext, RetryDecision
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Job as ClaimedJob
from procrastinate.manager import QUEUEING_LOCK_CONSTRAINT, JobManager
from procrastinate.worker import Worker

from app.core.errors import AppError
from app.core.jobs import Handler
from app.core.scope import Actor, Scope

# A worker that was killed is noticed by its silence; its jobs are taken up again after STALLED_S.
HEARTBEAT_S = 2.0
STALLED_S = 8.0
POLL_S = 1.0
SHUTDOWN_GRACE_S = 20.0
ERASURE_SLOTS = 2
MODEL_SLOTS = 2
MAX_ATTEMPTS = 8
FIRST_RETRY_S = 1
LONGEST_RETRY_S = 300
# A store that is down isn't the job's fault, nor what the user doesn't let be done now: such a job waits as long as it
# takes and is never parked.
PATIENT_CODES = frozenset({"store_unavailable", "overloaded", "in_progress", "processing_stopped"})
GONE_CODES = frozenset({"erasing", "erased"})

log = structlog.get_logger("cairn.queue")


class Patience(procrastinate.BaseRetryStrategy):
    """Tries again later and later, and parks what keeps failing: a parked job has the status `failed`."""

    def get_retry_decision(self, *, exception: BaseException, job: ClaimedJob) -> RetryDecision | None:
        """Return when to try again, None to park the job."""
        patient = isinstance(exception, AppError) and exception.code in PATIENT_CODES
        if job.attempts + 1 >= MAX_ATTEMPTS and not patient:
            return None
        wait_s = min(FIRST_RETRY_S * 2 ** min(job.attempts, 16), LONGEST_RETRY_S)
        # A job that waits holds its user's lane shut for the jobs behind it: it goes on in a lane of its own.
        return RetryDecision(retry_in={"seconds": wait_s}, lock=f"later:{job.id}")


class Manager(JobManager):
    """Puts a job back into the queue, where it is owed once and another waits by now: then that one does its work."""

    async def retry_job_by_id_async(
        self,
        job_id: int,
        retry_at: datetime,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Let a job be tried again. Procrastinate's own fails where two would wait, and the job runs for ever."""
        try:
            await super().retry_job_by_id_async(job_id, retry_at, priority, queue, lock)
        except UniqueViolation as error:
            if error.constraint_name != QUEUEING_LOCK_CONSTRAINT:
                raise
            log.info("job_waits_already", job_id=job_id)
            await self.connector.execute_query_async(
                "DELETE FROM procrastinate_jobs WHERE id = %(job_id)s AND status IN ('doing', 'failed')",
                job_id=job_id,
            )


def make_queue(url: str, pool_size: int = 5) -> procrastinate.App:
    """Return Procrastinate's app on the queue's own role, whose search path is the queue's schema."""
    # It logs the arguments of jobs.
    for name in ("procrastinate", "psycopg"):
        logging.getLogger(name).setLevel(logging.ERROR)
    connector = procrastinate.PsycopgConnector(conninfo=url, min_size=1, max_size=pool_size, timeout=5)
    queue = procrastinate.App(connector=connector)
    queue.job_manager = Manager(connector)
    return queue


class Runner:
    """Runs the handlers' jobs until it is told to stop."""

    def __init__(self, queue: procrastinate.App, handlers: Iterable[Handler], concurrency: int = 4) -> None:
        """Register a task for each handler."""
        self._queue = queue
        self._concurrency = concurrency
        for handler in handlers:
            self._register(handler)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then let what runs finish for SHUTDOWN_GRACE_S and give the rest back."""
        async with self._queue.open_async():
            lanes = [
                asyncio.create_task(self._work("user", self._concurrency, stop)),
                # Erasures have slots of their own, however long the other jobs run.
                asyncio.create_task(self._work("erase", ERASURE_SLOTS, stop)),
                # So has what waits for a model outside: slow as it may be, nothing else waits with it.
                asyncio.create_task(self._work("model", MODEL_SLOTS, stop)),
            ]
            rescue = asyncio.create_task(self._rescue(stop))
            try:
                await asyncio.gather(*lanes, rescue)
            finally:
                stop.set()
                await asyncio.gather(*lanes, rescue, return_exceptions=True)

    async def _work(self, lane: str, concurrency: int, stop: asyncio.Event) -> None:
        """Work in one lane until `stop` is set, beginning anew when the queue's database went away.

        The worker is told to stop and not cancelled: a cancellation that meets it as it begins can get lost.
        """
        while not stop.is_set():
            worker = Worker(
                self._queue,
                queues=[lane],
                concurrency=concurrency,
                install_signal_handlers=False,
                fetch_job_polling_interval=POLL_S,
                shutdown_graceful_timeout=SHUTDOWN_GRACE_S,
                update_heartbeat_interval=HEARTBEAT_S,
                stalled_worker_timeout=STALLED_S,
                delete_jobs="successful",
            )
            running = asyncio.create_task(worker.run())  # type: ignore[no-untyped-call] # the library leaves it so
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            worker.stop()  # type: ignore[no-untyped-call] # the library leaves it so
            try:
                await running
            except ConnectorException as error:
                log.warning("queue_unavailable", error=type(error).__name__)
                await _waited(stop, POLL_S)

    async def _rescue(self, stop: asyncio.Event) -> None:
        """Take up again the jobs of workers that fell silent."""
        manager = self._queue.job_manager
        while not stop.is_set():
            try:
                await manager.prune_stalled_workers(STALLED_S)
                for job in await manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_S):
                    log.warning("job_rescued", job_id=job.id, job=job.task_name)
                    await manager.retry_job(job)
            except ConnectorException as error:
                log.warning("queue_unavailable", error=type(error).__name__)
            await _waited(stop, HEARTBEAT_S)

    def _register(self, handler: Handler) -> None:
        @self._queue.task(name=handler.name, pass_context=True, retry=Patience())
        async def run(context: JobContext, /, tenant: str, usr: str, **args: Any) -> None:  # noqa: ANN401 - Procrastinate's JSON
            scope = Scope(tenant, UUID(usr), None, Actor.WORKER, request_id=f"job_{context.job.id}")
            try:
                await handler.run(scope, args)
            except AppError as error:
                if error.code in GONE_CODES:
                    log.info("job_refused", job=handler.name, usr=usr, code=error.code)
                    return
                log.warning("job_failed", job=handler.name, usr=usr, code=error.code, attempts=context.job.attempts)
                raise
            except Exception as error:  # the job runner: what a handler raises is logged by its name and tried again
                log.warning(
                    "job_failed", job=handler.name, usr=usr, error=type(error).__name__, attempts=context.job.attempts
                )
                raise


async def _waited(stop: asyncio.Event, longest_s: float) -> None:
    """Wait so long, or until `stop` is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(longest_s):
            await stop.wait()
