"""Sessions and the record of what was said in an export. An Exported of app.core.portability."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field, JsonValue

from app.core.ids import show
from app.core.portability import BITE, ArchiveFile
from app.infra.db.transaction import Transaction
from app.sessions import record_store
from app.sessions.model import Message, Session
from app.sessions.schemas import (
    MAX_CALLS,
    MAX_CONTENT_CHARS,
    MAX_EXTERNAL_ID_CHARS,
    Name,
    Title,
    ToolCall,
    Ttl,
    Window,
)
from app.sessions.summary import text_of
from app.sessions.tables import messages, sessions
from app.web.records import Agent, Record, json_lines
from app.web.wire import JsonObject, Moment

SESSIONS: Final = "sessions.jsonl"
MESSAGES: Final = "messages.jsonl"

SessionId = Annotated[str, Field(pattern=r"^ses_[0-9a-f]{32}$")]


class SummaryRecord(Record):
    """What a session's summary was when it was made last. It is made of the messages, and is made of them again."""

    text: str
    constraints: list[str]
    constraints_omitted: int
    covers_seq: int = Field(description="The last message that it covers.")


class SessionRecord(Record):
    """A session without its messages."""

    identifiers = frozenset({"external_id"})
    id: SessionId
    agent: Agent | None
    external_id: Annotated[str, Field(min_length=1, max_length=MAX_EXTERNAL_ID_CHARS)] | None
    title: Title | None
    metadata: JsonObject
    window: Window
    ttl_seconds: Ttl
    message_count: int
    summary: SummaryRecord
    pinned: bool
    version: int
    created_at: Moment
    last_active_at: Moment
    expires_at: Moment


class MessageRecord(Record):
    """A message of the record. Those of a session stand together, in their order.

    `constraints` are its sentences that bind the answers to come.
    """

    id: Annotated[str, Field(pattern=r"^msg_[0-9a-f]{32}$")]
    session_id: SessionId
    seq: Annotated[int, Field(ge=1)]
    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(max_length=MAX_CONTENT_CHARS)] | None
    name: Name | None
    tool_calls: Annotated[list[ToolCall], Field(max_length=MAX_CALLS)] | None
    tool_call_id: Name | None
    metadata: JsonObject
    constraints: list[str]
    created_at: Moment
    stored_at: Moment
    context_id: str | None


class SessionExport:
    """Gives sessions and messages, those that came from anonymous sessions too."""

    tables: tuple[str, ...] = (sessions.name, messages.name)
    records: Mapping[str, type] = {SESSIONS: SessionRecord, MESSAGES: MessageRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give both files."""
        yield ArchiveFile(SESSIONS, json_lines(_sessions(tx)))
        yield ArchiveFile(MESSAGES, json_lines(_messages(tx)))


async def _sessions(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: UUID | None = None
    while page := await record_store.next_sessions(tx, last, BITE):
        last = page[-1].id
        yield [_session(session) for session in page]


async def _messages(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: tuple[UUID, int] | None = None
    while page := await record_store.next_messages(tx, last, BITE):
        last = (page[-1].session_id, page[-1].seq)
        yield [_message(message) for message in page]


def _session(session: Session) -> SessionRecord:
    summary = session.summary
    return SessionRecord.kept(
        id=show("ses", session.id),
        agent=session.agent,
        external_id=session.external_id,
        title=session.title,
        metadata=dict(session.metadata),
        window=session.window_size,
        ttl_seconds=session.ttl_s,
        message_count=session.message_count,
        summary=SummaryRecord.kept(
            text=text_of(summary),
            constraints=list(summary.constraints),
            constraints_omitted=summary.omitted,
            covers_seq=session.summary_seq,
        ),
        pinned=session.pinned,
        version=session.version,
        created_at=session.created_at,
        last_active_at=session.last_active_at,
        expires_at=session.expires_at,
    )


def _message(message: Message) -> MessageRecord:
    body = message.body
    calls: list[dict[str, JsonValue]] | None = [dict(call) for call in body.tool_calls] or None
    return MessageRecord.kept(
        id=show("msg", message.id),
        session_id=show("ses", message.session_id),
        seq=message.seq,
        role=message.role.value,
        content=body.content,
        name=body.name,
        tool_calls=calls,
        tool_call_id=body.tool_call_id,
        metadata=dict(body.metadata),
        constraints=list(message.constraints),
        created_at=message.created_at,
        stored_at=message.stored_at,
        context_id=show("ctx", message.context_id) if message.context_id else None,
    )
