"""The record in SQL: sessions and messages, sealed on the way in and opened on the way out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, delete, func, insert, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.infra.crypto.box import Box, Place
from app.infra.db.transaction import Transaction
from app.infra.summarisers.port import Summary
from app.sessions.model import (
    Changes,
    Json,
    Message,
    Opening,
    Role,
    SealedMessage,
    Session,
)
from app.sessions.sealing import open_message
from app.sessions.tables import messages, sessions


async def insert_session(
    tx: Transaction,
    session_id: UUID,
    opening: Opening,
    window_size: int,
    ttl_s: int,
    entry: AuditEntry,
) -> Session | None:
    """Make a session; None where there is one with its external id already."""
    external_id = opening.external_id
    made = (
        upsert(sessions)
        .values(
            **tx.owner,
            id=session_id,
            agent=tx.scope.agent or "",
            external_tag=None if external_id is None else external_tag(tx.box, external_id),
            external_id_sealed=sealed_field(tx.box, session_id, "external_id_sealed", external_id),
            title_sealed=sealed_field(tx.box, session_id, "title_sealed", opening.title),
            metadata_sealed=sealed_field(tx.box, session_id, "metadata_sealed", dict(opening.metadata) or None),
            window_size=window_size,
            ttl_s=ttl_s,
            created_at=func.now(),
            last_active_at=func.now(),
            expires_at=func.now() + timedelta(seconds=ttl_s),
        )
        .on_conflict_do_nothing(index_elements=["usr", "external_tag"])
        .returning(sessions)
    )
    row = (await tx.change(made, entry)).one_or_none()
    return None if row is None else read_session(tx.box, row)


async def adopt_session(tx: Transaction, session: Session, entry: AuditEntry) -> bool:
    """Write a session as it is elsewhere; False where the user has one of that id already."""
    made = (
        upsert(sessions)
        .values(
            **tx.owner,
            id=session.id,
            agent=tx.scope.agent or "",
            title_sealed=sealed_field(tx.box, session.id, "title_sealed", session.title),
            metadata_sealed=sealed_field(tx.box, session.id, "metadata_sealed", dict(session.metadata) or None),
            window_size=session.window_size,
            ttl_s=session.ttl_s,
            next_seq=session.next_seq,
            message_count=session.message_count,
            version=session.version + 1,
            created_at=session.created_at,
            last_active_at=session.last_active_at,
            expires_at=session.expires_at,
            pinned=session.pinned,
        )
        .on_conflict_do_nothing(index_elements=["usr", "id"])
    )
    return (await tx.change(made, entry)).rowcount == 1


async def hold_session(tx: Transaction, session_id: UUID) -> int | None:
    """Keep the session, and what it says, from being deleted before the transaction ends; return its version, None
    where there is no such session.

    Appends don't wait for this; deletions do, and come after whatever this transaction writes about the session.
    """
    held = select(sessions.c.version).where(_is(tx, session_id)).with_for_update(read=True, key_share=True)
    version: int | None = await tx.scalar(held)
    return version


async def find_session(tx: Transaction, session_id: UUID) -> Session | None:
    """Return the session, None where the user has none of that id."""
    row = await tx.row(select(sessions).where(_is(tx, session_id)))
    return None if row is None else read_session(tx.box, row)


async def lock_session(tx: Transaction, session_id: UUID) -> Session | None:
    """Return the session and hold its row: no append comes between this and the end of the transaction."""
    row = await tx.row(select(sessions).where(_is(tx, session_id)).with_for_update())
    return None if row is None else read_session(tx.box, row)


async def find_by_external_id(tx: Transaction, external_id: str) -> Session | None:
    """Return the session of that external id, held as by `hold_session`: the answer that shows it may be kept."""
    tag = external_tag(tx.box, external_id)
    found = select(sessions).where(sessions.c.usr == tx.scope.usr, sessions.c.external_tag == tag)
    row = await tx.row(found.with_for_update(read=True, key_share=True))
    return None if row is None else read_session(tx.box, row)


async def page_sessions(
    tx: Transaction,
    before: UUID | None,
    limit: int,
    pinned: bool | None = None,  # noqa: FBT001 - a filter by a column that is one; None leaves it out
) -> Sequence[Session]:
    """Return sessions, the newest made first, those made before the session `before` where given."""
    query = select(sessions).where(sessions.c.usr == tx.scope.usr).order_by(sessions.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(sessions.c.id < before)
    if pinned is not None:
        query = query.where(sessions.c.pinned.is_(pinned))
    return [read_session(tx.box, row) for row in await tx.rows(query)]


async def change_session(
    tx: Transaction,
    session_id: UUID,
    version: int,
    changes: Changes,
    entry: AuditEntry,
) -> Session | None:
    """Change what `changes` names where the session is still at `version`; None where it isn't."""
    values: dict[str, Any] = {
        "version": sessions.c.version + 1,
        "content_version": sessions.c.content_version + 1,
    }
    if "title" in changes:
        values["title_sealed"] = sealed_field(tx.box, session_id, "title_sealed", changes["title"])
    if "metadata" in changes:
        values["metadata_sealed"] = sealed_field(
            tx.box, session_id, "metadata_sealed", dict(changes["metadata"]) or None
        )
    if "window_size" in changes:
        values["window_size"] = changes["window_size"]
    if "pinned" in changes:
        values["pinned"] = changes["pinned"]
    if "ttl_s" in changes:
        values["ttl_s"] = changes["ttl_s"]
        values["expires_at"] = sessions.c.last_active_at + timedelta(seconds=changes["ttl_s"])
    changed = (
        update(sessions).where(_is(tx, session_id), sessions.c.version == version).values(values).returning(sessions)
    )
    row = (await tx.change(changed, entry)).one_or_none()
    return None if row is None else read_session(tx.box, row)


async def delete_session(tx: Transaction, session_id: UUID, entry: AuditEntry) -> None:
    """Remove the session; its messages go with it."""
    await tx.change(delete(sessions).where(_is(tx, session_id)), entry)


async def insert_messages(
    tx: Transaction, session_id: UUID, sealed: Sequence[SealedMessage], entry: AuditEntry
) -> None:
    """Write messages at the numbers that were reserved for them."""
    rows = [message_row(tx, session_id, message) for message in sealed]
    await tx.change(insert(messages), entry, rows)


def message_row(tx: Transaction, session_id: UUID, message: SealedMessage) -> dict[str, Any]:
    """Return the row of a message."""  # Any: each column has a type of its own
    return {
        **tx.owner,
        "id": message.id,
        "session_id": session_id,
        "seq": message.seq,
        "role": message.role.value,
        "body_sealed": message.body,
        "constraints_sealed": message.constraints,
        "created_at": message.created_at,
        "stored_at": message.stored_at,
        "context_id": message.context_id,
    }


async def find_message(tx: Transaction, session_id: UUID, message_id: UUID) -> Message | None:
    """Return one message of the session."""
    row = await tx.row(select(messages).where(_in(tx, session_id), messages.c.id == message_id))
    return None if row is None else open_message(tx.box, session_id, sealed_message(row))


async def find_messages(tx: Transaction, ids: Sequence[UUID]) -> Sequence[Message]:
    """Return those of the messages that the user has, in no order."""
    query = select(messages).where(messages.c.usr == tx.scope.usr, messages.c.id.in_(ids))
    return [open_message(tx.box, row.session_id, sealed_message(row)) for row in await tx.rows(query)]


async def existing_messages(tx: Transaction, ids: Collection[UUID]) -> Collection[UUID]:
    """Return those of the ids that are messages of the user's; nothing is opened."""
    query = select(messages.c.id).where(messages.c.usr == tx.scope.usr, messages.c.id.in_(ids))
    return {row.id for row in await tx.rows(query)}


async def context_of(tx: Transaction, message_id: UUID) -> UUID | None:
    """Return the context that a message was made with; None where it names none, or isn't there."""
    found: UUID | None = await tx.scalar(select(messages.c.context_id).filter_by(usr=tx.scope.usr, id=message_id))
    return found


async def turns(tx: Transaction, context_ids: Collection[UUID]) -> Mapping[UUID, Sequence[UUID]]:
    """Return for contexts the messages of their turns, oldest first: what the user said last before the answer that
    was made with the context, and that answer.
    """
    answer, asked, other = messages.alias("answer"), messages.alias("asked"), messages.alias("other")

    def last(role: Role, before: ColumnElement[int]) -> ColumnElement[int]:
        there = (other.c.usr == answer.c.usr) & (other.c.session_id == answer.c.session_id)
        found = select(func.max(other.c.seq)).where(there, other.c.role == role.value, other.c.seq < before)
        return func.coalesce(found.correlate_except(other).scalar_subquery(), 0)

    is_asked = (
        (asked.c.role == Role.USER.value)
        & (asked.c.seq < answer.c.seq)
        & (asked.c.seq > last(Role.ASSISTANT, last(Role.USER, answer.c.seq)))
    )
    within = (asked.c.usr == answer.c.usr) & (asked.c.session_id == answer.c.session_id)
    rows = await tx.rows(
        select(answer.c.context_id, asked.c.id)
        .join_from(answer, asked, within & (is_asked | (asked.c.id == answer.c.id)))
        .where(answer.c.usr == tx.scope.usr, answer.c.context_id.in_(context_ids))
        .order_by(asked.c.seq)
    )
    found: dict[UUID, list[UUID]] = {}
    for row in rows:
        found.setdefault(row.context_id, []).append(row.id)
    return found


async def find_neighbours(tx: Transaction, places: Sequence[tuple[UUID, int]]) -> Sequence[Message]:
    """Return the messages at (session, sequence number), those that there are."""
    at = tuple_(messages.c.session_id, messages.c.seq).in_(places)
    query = select(messages).where(messages.c.usr == tx.scope.usr, at)
    return [open_message(tx.box, row.session_id, sealed_message(row)) for row in await tx.rows(query)]


async def page_messages(tx: Transaction, session_id: UUID, before: int | None, limit: int) -> Sequence[Message]:
    """Return messages, the newest first, those before the sequence number `before` where given."""
    query = select(messages).where(_in(tx, session_id)).order_by(messages.c.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(messages.c.seq < before)
    return [open_message(tx.box, session_id, sealed_message(row)) for row in await tx.rows(query)]


async def messages_after(
    tx: Transaction,
    session_id: UUID,
    after: int,
    limit: int | None = None,
) -> Sequence[SealedMessage]:
    """Return the messages after a sequence number in their order, sealed: some go on to Redis as they are."""
    query = select(messages).where(_in(tx, session_id), messages.c.seq > after).order_by(messages.c.seq).limit(limit)
    return [sealed_message(row) for row in await tx.rows(query)]


async def message_ids(tx: Transaction, session_id: UUID) -> Sequence[UUID]:
    """Return the ids of all messages of the session."""
    return [row.id for row in await tx.rows(select(messages.c.id).where(_in(tx, session_id)))]


async def delete_message(tx: Transaction, message_id: UUID, entry: AuditEntry) -> None:
    """Remove one message."""
    await tx.change(delete(messages).where(messages.c.usr == tx.scope.usr, messages.c.id == message_id), entry)


async def shrink_session(tx: Transaction, session_id: UUID, summary: Summary, entry: AuditEntry) -> None:
    """Note that a message was taken out: the hot copies of the session are of an older epoch from now on."""
    await tx.change(
        update(sessions)
        .where(_is(tx, session_id))
        .values(
            message_count=sessions.c.message_count - 1,
            content_version=sessions.c.content_version + 1,
            version=sessions.c.version + 1,
            summary_sealed=sealed_field(tx.box, session_id, "summary_sealed", asdict(summary)),
        ),
        entry,
    )


async def swap_summary(
    tx: Transaction,
    session: Session,
    summary: Summary,
    summary_seq: int,
    entry: AuditEntry,
) -> bool:
    """Put a summary in the place of the one that `session` shows; False where the session has moved past it.

    The version stays: what a reader is shown doesn't depend on how much of it was made before.
    """
    swapped = (
        update(sessions)
        .where(
            _is(tx, session.id),
            sessions.c.summary_seq == session.summary_seq,
            sessions.c.content_version == session.content_version,
        )
        .values(
            summary_sealed=sealed_field(tx.box, session.id, "summary_sealed", asdict(summary)),
            summary_seq=summary_seq,
        )
    )
    return (await tx.change(swapped, entry)).rowcount == 1


def sealed_message(row: Row[Any]) -> SealedMessage:
    """Return a row of messages as every store holds it."""
    return SealedMessage(
        id=row.id,
        seq=row.seq,
        role=Role(row.role),
        created_at=row.created_at,
        stored_at=row.stored_at,
        context_id=row.context_id,
        body=row.body_sealed,
        constraints=row.constraints_sealed,
    )


def read_session(box: Box, row: Row[Any]) -> Session:
    """Return a row of sessions, opened."""

    def opened(column: str) -> Any:  # noqa: ANN401 - what was sealed: a text or a client's JSON
        blob = row._mapping[column]  # noqa: SLF001 - SQLAlchemy's public name for it
        return None if blob is None else box.open_json(blob, _place(row.id, column))

    return Session(
        id=row.id,
        agent=row.agent or None,
        external_id=opened("external_id_sealed"),
        title=opened("title_sealed"),
        metadata=opened("metadata_sealed") or {},
        window_size=row.window_size,
        ttl_s=row.ttl_s,
        next_seq=row.next_seq,
        message_count=row.message_count,
        summary=_summary(opened("summary_sealed")),
        summary_seq=row.summary_seq,
        content_version=row.content_version,
        version=row.version,
        created_at=row.created_at,
        last_active_at=row.last_active_at,
        # Of the same moment as `last_active_at`: the column was computed a microsecond later.
        expires_at=row.last_active_at + timedelta(seconds=row.ttl_s),
        pinned=row.pinned,
    )


def _summary(kept: Json | None) -> Summary:
    return Summary() if kept is None else Summary(tuple(kept["constraints"]), kept["gist"], kept["omitted"])


def sealed_field(box: Box, session_id: UUID, column: str, value: str | Json | None) -> bytes | None:
    """Return what a column of a session holds of a value."""
    return None if value is None else box.seal_json(value, _place(session_id, column))


def external_tag(box: Box, external_id: str) -> bytes:
    """Return what a session is found by under its external id."""
    return box.tag("session.external_id", external_id)


def _place(session_id: UUID, column: str) -> Place:
    return Place("sessions", column, session_id)


def _is(tx: Transaction, session_id: UUID) -> ColumnElement[bool]:
    return (sessions.c.usr == tx.scope.usr) & (sessions.c.id == session_id)


def _in(tx: Transaction, session_id: UUID) -> ColumnElement[bool]:
    return (messages.c.usr == tx.scope.usr) & (messages.c.session_id == session_id)
