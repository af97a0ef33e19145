"""The old part of the record in SQL: who has one, what it is, and how it goes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Row, Uuid, bindparam, delete, func, select, text, update

from app.core.audit import AuditEntry
from app.infra.crypto.box import Place
from app.infra.db.transaction import Database, Transaction
from app.infra.summarisers.port import Summary
from app.sessions.tables import messages, sessions

_BY_AGE = text(
    "SELECT tenant, usr, id, is_due FROM sessions_by_age(:older_than, :past_usr, :past_id, :most)"
).bindparams(
    bindparam("older_than", type_=DateTime(timezone=True)),
    bindparam("past_usr", type_=Uuid),
    bindparam("past_id", type_=Uuid),
)


@dataclass(frozen=True, slots=True)
class Old:
    """A session of which something is too old: its messages up to `last`, or where that is 0, all of it."""

    id: UUID
    last: int
    content_version: int


async def page_by_age(db: Database, older_than: datetime, past: tuple[UUID, UUID], most: int) -> Sequence[Row[Any]]:
    """Return the sessions of all users that were made before a time, those after (user, session) `past`: references,
    and whether something of them is due.
    """
    asked = {"older_than": older_than, "past_usr": past[0], "past_id": past[1], "most": most}
    return await db.survey(_BY_AGE, asked)


async def find_old(tx: Transaction, older_than: datetime) -> Old | None:
    """Return a session of the user's of which something is too old. What is pinned is kept."""
    of_session = (messages.c.usr == sessions.c.usr) & (messages.c.session_id == sessions.c.id)
    first = select(messages.c.stored_at).where(of_session).order_by(messages.c.seq).limit(1).scalar_subquery()
    is_empty = (sessions.c.message_count == 0) & (sessions.c.last_active_at < older_than)
    found = (
        select(sessions.c.id, sessions.c.content_version)
        .where(
            sessions.c.usr == tx.scope.usr,
            sessions.c.created_at < older_than,
            sessions.c.pinned.is_(False),
            (first < older_than) | (is_empty & (sessions.c.expires_at < func.now())),
        )
        .order_by(sessions.c.id)
        .limit(1)
    )
    row = await tx.row(found)
    if row is None:
        return None
    newest = select(func.max(messages.c.seq)).where(
        messages.c.usr == tx.scope.usr, messages.c.session_id == row.id, messages.c.stored_at < older_than
    )
    return Old(row.id, await tx.scalar(newest) or 0, row.content_version)


async def delete_oldest(tx: Transaction, session_id: UUID, last: int, most: int, entry: AuditEntry) -> Sequence[UUID]:
    """Remove the oldest messages up to number `last`, `most` of them; return their ids."""
    mine = (messages.c.usr == tx.scope.usr) & (messages.c.session_id == session_id) & (messages.c.seq <= last)
    oldest = select(messages.c.seq).where(mine).order_by(messages.c.seq).limit(most)
    gone = delete(messages).where(mine, messages.c.seq.in_(oldest)).returning(messages.c.id)
    return [row.id for row in await tx.change(gone, entry)]


async def shorten_session(tx: Transaction, session_id: UUID, count: int, summary: Summary, entry: AuditEntry) -> None:
    """Note that so many messages are gone, and the summary without them: hot copies are of an older epoch now."""
    place = Place("sessions", "summary_sealed", session_id)
    await tx.change(
        update(sessions)
        .where(sessions.c.usr == tx.scope.usr, sessions.c.id == session_id)
        .values(
            message_count=sessions.c.message_count - count,
            content_version=sessions.c.content_version + 1,
            version=sessions.c.version + 1,
            summary_sealed=tx.box.seal_json(asdict(summary), place),
        ),
        entry,
    )
