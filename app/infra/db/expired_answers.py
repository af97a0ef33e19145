"""The age of answers that are kept for retries: a day after the request nobody asks for them again, and they go."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from sqlalchemy import delete, select, text, tuple_

from app.core.audit import AuditEntry
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.db.tables import idempotency
from app.infra.db.transaction import Database

EXPIRED_JOB: Final = "remove_expired_answers"
# One look finds whose the oldest so many are; the next look finds more.
LOOK_ANSWERS: Final = 50_000
BITE_ANSWERS: Final = 500
MAX_BITES: Final = 200
_EXPIRED: Final = text("SELECT tenant, usr FROM expired_answers(:most)")
_KEY: Final = tuple_(idempotency.c.agent, idempotency.c.route, idempotency.c.key_tag)


class ExpiredAnswers:
    """Finds and removes them. A Handler of app.core.jobs, and an Ageing of app.core.ageing."""

    name = job = EXPIRED_JOB

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def due(self) -> AsyncIterator[tuple[str, UUID]]:
        """Yield everybody who has some of the oldest."""
        for row in await self._db.survey(_EXPIRED, {"most": LOOK_ANSWERS}):
            yield row.tenant, row.usr

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Remove the user's, bite by bite. May run twice."""
        del args
        for _ in range(MAX_BITES):
            if await self._bite(scope) < BITE_ANSWERS:
                return
        async with self._db.maintain(scope) as tx:
            tx.enqueue(Job(EXPIRED_JOB, once=EXPIRED_JOB))

    async def _bite(self, scope: Scope) -> int:
        is_expired = idempotency.c.expires_at < datetime.now(UTC)
        some = select(*_KEY.clauses).where(idempotency.c.usr == scope.usr, is_expired).limit(BITE_ANSWERS)
        # Asked again where it is deleted: a key that is claimed anew at this moment stays.
        removed = delete(idempotency).where(idempotency.c.usr == scope.usr, is_expired, _KEY.in_(some))
        async with self._db.maintain(scope) as tx:
            return (await tx.change(removed, AuditEntry("expire", "answer"))).rowcount
