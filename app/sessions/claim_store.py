"""The notes of claims in Postgres."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, func
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction
from app.sessions.tables import session_claims


async def note_claim(tx: Transaction, session_id: UUID, entry: AuditEntry) -> bool:
    """Note that an anonymous session is the user's; False where that was noted before."""
    made = upsert(session_claims).values(**tx.owner, session_id=session_id, claimed_at=func.now())
    return (await tx.change(made.on_conflict_do_nothing(), entry)).rowcount == 1


async def drop_claims(tx: Transaction, older_s: int, entry: AuditEntry) -> None:
    """Remove the notes of claims so old that nothing of their sessions can be in Redis any more."""
    old = session_claims.c.claimed_at < func.now() - timedelta(seconds=older_s)
    await tx.change(delete(session_claims).where(session_claims.c.usr == tx.scope.usr, old), entry)
