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
    body = {
        "content": message.body.content,
        "name": message.body.name,
        "tool_calls": [dict(call) for call in message.body.tool_calls],
        "tool_call_id": message.body.tool_call_id,
        "metadata": dict(message.body.metadata),
    }
    bound = box.seal_json(list(message.constraints), _place(message.id, "constraints_sealed"))
    return SealedMessage(
        id=message.id,
        seq=message.seq,
        role=message.role,
        created_at=message.created_at,
        stored_at=message.stored_at,
        context_id=message.context_id,
        body=box.seal_json(body, _place(message.id, "body_sealed")),
        constraints=bound if message.constraints else None,
    )


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
