"""The whole record in SQL, as it is taken out: every session and every message, in the order of their ids."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select, tuple_

from app.infra.db.transaction import Transaction
from app.sessions.model import Message, Session
from app.sessions.sealing import open_message
from app.sessions.store import read_session, sealed_message
from app.sessions.tables import messages, sessions


async def next_sessions(tx: Transaction, after: UUID | None, limit: int) -> Sequence[Session]:
    """Return sessions, oldest first, those made after one where given."""
    asked = select(sessions).where(sessions.c.usr == tx.scope.usr).order_by(sessions.c.id).limit(limit)
    if after is not None:
        asked = asked.where(sessions.c.id > after)
    return [read_session(tx.box, row) for row in await tx.rows(asked)]


async def next_messages(tx: Transaction, after: tuple[UUID, int] | None, limit: int) -> Sequence[Message]:
    """Return messages session by session, in their order, those after a place where given."""
    place = (messages.c.session_id, messages.c.seq)
    asked = select(messages).where(messages.c.usr == tx.scope.usr).order_by(*place).limit(limit)
    if after is not None:
        asked = asked.where(tuple_(*place) > after)
    return [open_message(tx.box, row.session_id, sealed_message(row)) for row in await tx.rows(asked)]
