"""The whole record in SQL, as it is taken out and in: every session and every message, in the order of their ids."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction
from app.sessions.model import Message, SealedMessage, Session
from app.sessions.sealing import open_message
from app.sessions.store import (
    existing_messages,
    external_tag,
    message_row,
    read_session,
    sealed_field,
    sealed_message,
)
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


async def find_any(tx: Transaction, ids: Sequence[UUID]) -> UUID | None:
    """Return the session that has one of the ids, held as it is until the transaction ends; None where none has."""
    asked = select(sessions.c.id).where(sessions.c.usr == tx.scope.usr, sessions.c.id.in_(ids)).limit(1)
    found: UUID | None = await tx.scalar(asked.with_for_update())
    return found


async def adopt(tx: Transaction, session: Session, entry: AuditEntry, *, with_external_id: bool) -> bool:
    """Write a session as it is elsewhere; False where there is one of its id, or of its external id."""
    external_id = session.external_id if with_external_id else None
    made = upsert(sessions).values(
        **tx.owner,
        id=session.id,
        agent=session.agent or "",
        external_tag=None if external_id is None else external_tag(tx.box, external_id),
        external_id_sealed=sealed_field(tx.box, session.id, "external_id_sealed", external_id),
        title_sealed=sealed_field(tx.box, session.id, "title_sealed", session.title),
        metadata_sealed=sealed_field(tx.box, session.id, "metadata_sealed", dict(session.metadata) or None),
        window_size=session.window_size,
        ttl_s=session.ttl_s,
        version=session.version,
        created_at=session.created_at,
        last_active_at=session.last_active_at,
        expires_at=session.last_active_at + timedelta(seconds=session.ttl_s),
        pinned=session.pinned,
    )
    return (await tx.change(made.on_conflict_do_nothing(), entry)).rowcount == 1


async def known(tx: Transaction, ids: Collection[UUID]) -> set[UUID]:
    """Return those of the ids that are messages of the user's."""
    return set(await existing_messages(tx, ids))


async def insert_missing(
    tx: Transaction, session_id: UUID, sealed: Sequence[SealedMessage], entry: AuditEntry
) -> set[UUID]:
    """Write messages at the numbers that they had; return those whose places were free."""
    rows = [message_row(tx, session_id, message) for message in sealed]
    written = upsert(messages).values(rows).on_conflict_do_nothing().returning(messages.c.id)
    return {row.id for row in await tx.change(written, entry)}


async def grow(tx: Transaction, session_id: UUID, count: int, last: int, entry: AuditEntry) -> None:
    """Note that messages were put in: the next one comes after the last, and hot copies are of an older epoch."""
    values = {
        "next_seq": func.greatest(sessions.c.next_seq, last + 1),
        "message_count": sessions.c.message_count + count,
        "content_version": sessions.c.content_version + 1,
        "version": sessions.c.version + 1,
    }
    grown = update(sessions).where(sessions.c.usr == tx.scope.usr, sessions.c.id == session_id).values(values)
    await tx.change(grown, entry)
