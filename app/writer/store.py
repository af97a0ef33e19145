"""Messages that state something, in Postgres. Each function is one statement."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.core.writing import Right
from app.infra.db.transaction import Transaction
from app.writer.tables import heard_messages


@dataclass(frozen=True, slots=True)
class Note:
    """A message that states something. `fates` is None while it is owed."""

    message_id: UUID
    rights: frozenset[Right]
    fates: Sequence[str] | None


async def note(tx: Transaction, message_ids: Sequence[UUID], rights: Collection[Right], entry: AuditEntry) -> None:
    """Note that messages state something."""
    rows = [
        {**tx.owner, "message_id": each, "rights": sorted(rights), "heard_at": func.clock_timestamp()}
        for each in message_ids
    ]
    await tx.change(upsert(heard_messages).values(rows).on_conflict_do_nothing(), entry)


async def hold(tx: Transaction, message_id: UUID) -> Note | None:
    """Return what is noted of a message, and keep others from writing it meanwhile."""
    asked = select(heard_messages).filter_by(usr=tx.scope.usr, message_id=message_id).with_for_update()
    row = await tx.row(asked)
    return Note(row.message_id, frozenset(map(Right, row.rights)), row.fates) if row else None


async def owed(tx: Transaction, limit: int) -> Sequence[UUID]:
    """Return messages that are owed, the oldest first."""
    asked = select(heard_messages.c.message_id).filter_by(usr=tx.scope.usr, fates=None)
    rows = await tx.rows(asked.order_by(heard_messages.c.message_id).limit(limit))
    return [row.message_id for row in rows]


async def settle(tx: Transaction, message_id: UUID, fates: Sequence[str], entry: AuditEntry) -> None:
    """Note what became of a message's findings."""
    of_it = update(heard_messages).filter_by(usr=tx.scope.usr, message_id=message_id)
    await tx.change(of_it.values(fates=list(fates)), entry)


async def drop_old(tx: Transaction, older_than: timedelta, entry: AuditEntry) -> None:
    """Remove notes that no retry can ask for any more, and those of messages that were never stored."""
    old = heard_messages.c.heard_at < func.clock_timestamp() - older_than
    await tx.change(delete(heard_messages).where(heard_messages.c.usr == tx.scope.usr, old), entry)
