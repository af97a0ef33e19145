"""The jobs that a transaction owes: their rows are written by it."""

import json
from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.jobs import Job
from app.core.scope import Scope

_ENQUEUE = text("SELECT enqueue(:name, CAST(:args AS jsonb), :priority, :lane, :once, :delay_s)")


async def owe(connection: AsyncConnection, scope: Scope, jobs: Sequence[Job]) -> None:
    """Write the rows of jobs."""
    for job in jobs:
        args = {**job.args, "tenant": scope.tenant, "usr": str(scope.usr)}
        await connection.execute(
            _ENQUEUE,
            {
                "name": job.name,
                "args": json.dumps(args),
                "priority": job.priority,
                "lane": job.lane,
                "once": job.once,
                "delay_s": job.delay_s,
            },
        )
