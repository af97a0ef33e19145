"""Messages sealed and opened: the same bytes in Postgres and in Redis."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from app.core.ids import uuid7
from app.infra.crypto.box import Box, Place
from app.sessions.model import Body, Draft, Message, SealedMessage


def seal_message(
    box: Box,
    session_id: UUID,
    draft: Draft,
    constraints: Sequence[str],
    seq: int,
    at: datetime,
) -> SealedMessage:
    """Return the draft as the message at `seq`, stored at a time, under a new id."""
    created_at, context_id = draft.created_at or at, draft.context_id
    return seal(box, Message(uuid7(), session_id, seq, draft.role, draft.body, created_at, at, context_id, constraints))


def seal(box: Box, message: Message) -> SealedMessage:
    """Return a message as the box's owner holds it."""
    return SealedMessage(
        id=message.id,
        seq=message.seq,
        role=message.role,
        created_at=message.created_at,
        stored_at=message.stored_at,
        context_id=message.context_id,
        body=seal_body(box, message.id, message.body),
        constraints=seal_constraints(box, message.id, message.constraints),
    )


def seal_body(box: Box, message_id: UUID, body: Body) -> bytes:
    """Return what a message says, sealed. Neither its number nor its time is in it: they may not be known yet."""
    said = {
        "content": body.content,
        "name": body.name,
        "tool_calls": [dict(call) for call in body.tool_calls],
        "tool_call_id": body.tool_call_id,
        "metadata": dict(body.metadata),
    }
    return box.seal_json(said, _place(message_id, "body_sealed"))


def seal_constraints(box: Box, message_id: UUID, constraints: Sequence[str]) -> bytes | None:
    """Return what a message binds to, sealed; None where that is nothing."""
    return box.seal_json(list(constraints), _place(message_id, "constraints_sealed")) if constraints else None


def open_message(box: Box, session_id: UUID, sealed: SealedMessage) -> Message:
    """Return what a sealed message says."""
    body = box.open_json(sealed.body, _place(sealed.id, "body_sealed"))
    constraints = (
        box.open_json(sealed.constraints, _place(sealed.id, "constraints_sealed")) if sealed.constraints else ()
    )
    return Message(
        id=sealed.id,
        session_id=session_id,
        seq=sealed.seq,
        role=sealed.role,
        body=Body(**body),
        created_at=sealed.created_at,
        stored_at=sealed.stored_at,
        context_id=sealed.context_id,
        constraints=tuple(constraints),
    )


def _place(message_id: UUID, column: str) -> Place:
    return Place("messages", column, message_id)
