"""What a claim leaves in Redis where it couldn't be told to forget: it goes by a job, and with the user."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, select

from app.core.audit import AuditEntry
from app.core.jobs import Job
from app.core.memory import Retention
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.sessions.guest_store import MAX_TTL_S, GuestStore
from app.sessions.tables import session_claims

LEFTOVER_JOB: Final = "remove_leftover"
# A claim is noted for longer than anything of an anonymous session can be in Redis.
CLAIMS_KEPT_S: Final = 2 * MAX_TTL_S


def leftover_job(session_id: UUID) -> Job:
    """Return the job that removes the anonymous session that has become a user's."""
    return Job(LEFTOVER_JOB, {"session": str(session_id)}, once=str(session_id))


class RemoveLeftover:
    """Removes what is left of a session that was claimed. A Handler of app.core.jobs."""

    name = LEFTOVER_JOB

    def __init__(self, kept: GuestStore) -> None:
        """Take where anonymous sessions live."""
        self._kept = kept

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Remove it, if it is there. While Redis is down the queue waits."""
        del scope
        await self._kept.remove(UUID(str(args["session"])), None)


class ClaimData:
    """The notes of a user's claims, and what is left of those sessions. A UserData of app.core.memory."""

    name = "session_claims"
    store = "postgres"
    tables: tuple[str, ...] = (session_claims.name,)
    retained: Retention | None = None

    def __init__(self, db: Database, kept: GuestStore) -> None:
        """Take the doors, and where anonymous sessions live."""
        self._db = db
        self._kept = kept

    async def erase(self, scope: Scope) -> None:
        """Remove what is left, then the notes that it is found by."""
        for session_id in await self._claimed(scope):
            await self._kept.remove(session_id, None)
        async with self._db.erase(scope) as tx:
            await tx.change(delete(session_claims).filter_by(usr=scope.usr), AuditEntry("erase", self.name))

    async def count(self, scope: Scope) -> int:
        """Return how many claims are noted."""
        async with self._db.erase(scope) as tx:
            noted = select(func.count()).select_from(session_claims).filter_by(usr=scope.usr)
            count: int = await tx.scalar(noted)
        return count

    async def _claimed(self, scope: Scope) -> Sequence[UUID]:
        async with self._db.erase(scope) as tx:
            rows = await tx.rows(select(session_claims.c.session_id).filter_by(usr=scope.usr))
        return [row.session_id for row in rows]
