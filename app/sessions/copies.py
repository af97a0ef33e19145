"""What Redis holds of a session: the bytes of its messages, its row sealed as a whole, and how both are read back."""

import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from app.infra.crypto.box import Box, Place
from app.infra.summarisers.port import Summary
from app.sessions.model import Role, SealedMessage, Session

# id, context id, role, created and stored in microseconds, length of the body; then the body and the constraints.
_HEAD: Final = struct.Struct(">16s16sBqqI")
_HOLE: Final = struct.Struct(">Q")
_ROLES: Final = tuple(Role)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_CONTEXT: Final = bytes(16)
_MICROSECOND: Final = timedelta(microseconds=1)
_TIMES: Final = ("created_at", "last_active_at", "expires_at")


@dataclass(frozen=True, slots=True)
class Copy:
    """A session as Redis shows it: the row as it was when the copy was made, and what appends have changed since."""

    row: bytes
    summary: bytes
    summary_seq: int
    last: int
    version: int
    last_active_at: datetime
    messages: Sequence[SealedMessage]


def sealed_row(box: Box, session: Session) -> bytes:
    """Return a session without its summary, sealed."""
    row = {name: value for name, value in asdict(session).items() if name not in {"id", "summary", *_TIMES}}
    times = {name: microseconds(getattr(session, name)) for name in _TIMES}
    return box.seal_json({**row, **times}, _place(session.id, "row"))


def sealed_summary(box: Box, session_id: UUID, summary: Summary) -> bytes:
    """Return a summary, sealed."""
    return box.seal_json(asdict(summary), _place(session_id, "summary"))


def opened(box: Box, session_id: UUID, copy: Copy) -> Session:
    """Return the session that a copy shows."""
    row = box.open_json(copy.row, _place(session_id, "row"))
    summary = box.open_json(copy.summary, _place(session_id, "summary"))
    session = Session(
        **{**row, **{name: moment(row[name]) for name in _TIMES}},
        id=session_id,
        summary=Summary(tuple(summary["constraints"]), summary["gist"], summary["omitted"]),
    )
    session = replace(session, summary_seq=copy.summary_seq, version=copy.version)
    if copy.last == session.last:
        return session
    return replace(
        session,
        next_seq=copy.last + 1,
        message_count=session.message_count + copy.last - session.last,
        last_active_at=copy.last_active_at,
        expires_at=copy.last_active_at + timedelta(seconds=session.ttl_s),
    )


def packed(message: SealedMessage) -> bytes:
    """Return the bytes that Redis holds of a message, which don't tell its sequence number."""
    head = _HEAD.pack(
        message.id.bytes,
        message.context_id.bytes if message.context_id else _NO_CONTEXT,
        _ROLES.index(message.role),
        microseconds(message.created_at),
        microseconds(message.stored_at),
        len(message.body),
    )
    return head + message.body + (message.constraints or b"")


def members(session: Session, sealed: Sequence[SealedMessage]) -> dict[int, bytes]:
    """Return what stands at each sequence number after the summary: a message, or that there is none any more."""
    found = {seq: _HOLE.pack(seq) for seq in range(session.summary_seq + 1, session.next_seq)}
    return found | {message.seq: packed(message) for message in sealed}


def is_hole(member: bytes) -> bool:
    """Say whether these bytes stand for a message that there is no more."""
    return len(member) == _HOLE.size


def unpacked(member: bytes, seq: int) -> SealedMessage:
    """Return the message of which these are the bytes."""
    message_id, context_id, role, created, stored, length = _HEAD.unpack_from(member)
    body_end = _HEAD.size + length
    return SealedMessage(
        id=UUID(bytes=message_id),
        seq=seq,
        role=_ROLES[role],
        created_at=moment(created),
        stored_at=moment(stored),
        context_id=None if context_id == _NO_CONTEXT else UUID(bytes=context_id),
        body=member[_HEAD.size : body_end],
        constraints=member[body_end:] or None,
    )


def microseconds(at: datetime) -> int:
    """Return a time as Redis holds it."""
    return (at - _EPOCH) // _MICROSECOND


def moment(since_epoch: int) -> datetime:
    """Return the time that these microseconds are."""
    return _EPOCH + since_epoch * _MICROSECOND


def _place(session_id: UUID, part: str) -> Place:
    return Place("hot_sessions", part, session_id)
