"""Sessions and messages from an archive: under the numbers and times that they had. Two Imported of
app.core.portability.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.ids import parse
from app.core.jobs import Job
from app.core.portability import TAKEN, UNCHANGED, Outcome, Taking
from app.core.scope import Scope
from app.infra.db.adopting import imported_id
from app.infra.db.transaction import Transaction
from app.infra.segments.store import SegmentStore
from app.infra.summarisers.port import Summary
from app.sessions import record_store
from app.sessions.appending import read
from app.sessions.exporting import MESSAGES, SESSIONS, MessageRecord, SessionRecord
from app.sessions.indexing import INDEX_JOB, ONCE, items
from app.sessions.model import Body, Message, Role, Session
from app.sessions.sealing import seal
from app.sessions.summarising import summary_job
from app.sessions.window import Window


class SessionImport:
    """Takes sessions, without what was said in them."""

    file: str = SESSIONS
    record: type = SessionRecord
    permission: str = "sessions:write"

    def item(self, record: SessionRecord) -> str:
        """Return the id of the session."""
        return record.id

    async def take(self, tx: Transaction, taking: Taking, records: Sequence[SessionRecord]) -> Sequence[Outcome]:
        """Make those that aren't here."""
        return [await self._take(tx, taking, record) for record in records]

    async def committed(self, scope: Scope) -> None:
        """Do nothing: no copy has a session before somebody reads it."""

    async def _take(self, tx: Transaction, taking: Taking, record: SessionRecord) -> Outcome:
        source = parse("ses", record.id)
        session_id = imported_id(tx.box, "ses", source)
        if await record_store.find_any(tx, [session_id, source]):
            return UNCHANGED
        session = _session(session_id, record, taking)
        entry = AuditEntry("import", "session", session_id)
        if await record_store.adopt(tx, session, entry, with_external_id=True):
            return TAKEN
        # Another session has its external id: what is looked up by that stays what it was.
        await record_store.adopt(tx, session, entry, with_external_id=False)
        return Outcome.conflict("external_id_exists")


class MessageImport:
    """Takes messages into their sessions; they are found like all others. Contexts aren't taken, so none is named."""

    file: str = MESSAGES
    record: type = MessageRecord
    permission: str = "sessions:write"

    def __init__(self, segments: SegmentStore, window: Window) -> None:
        """Take the index of messages, and the hot copies of sessions."""
        self._segments = segments
        self._window = window
        self._touched: dict[UUID, set[UUID]] = {}

    def item(self, record: MessageRecord) -> str:
        """Return the id of the message."""
        return record.id

    async def take(self, tx: Transaction, _: Taking, records: Sequence[MessageRecord]) -> Sequence[Outcome]:
        """Write those that aren't here."""
        sessions = await _sessions(tx, {record.session_id for record in records})
        known = await record_store.known(tx, [each for record in records for each in _ids(tx, record)])
        outcomes: dict[int, Outcome] = {}
        new: dict[int, Message] = {}
        for place, record in enumerate(records):
            session_id = sessions.get(record.session_id)
            if session_id is None:
                outcomes[place] = Outcome.refused("no_session")
            elif known.intersection(_ids(tx, record)):
                outcomes[place] = UNCHANGED
            else:
                new[place] = _message(_ids(tx, record)[0], session_id, record)
        written = await self._write(tx, list(new.values()))
        for place, message in new.items():
            outcomes[place] = TAKEN if message.id in written else Outcome.conflict("place_taken")
        return [outcomes[place] for place in range(len(records))]

    async def committed(self, scope: Scope) -> None:
        """Let go of the hot copies of sessions that have grown otherwise than by an append."""
        for session_id in self._touched.pop(scope.usr, ()):
            await self._window.drop(scope, session_id)

    async def _write(self, tx: Transaction, messages: Sequence[Message]) -> Collection[UUID]:
        if not messages:
            return ()
        readings = await read(tx.box, messages)
        bound = [_bound(message, said) for message, (said, _) in zip(messages, readings, strict=True)]
        sealed = await asyncio.to_thread(lambda: [seal(tx.box, message) for message in bound])
        written: set[UUID] = set()
        for session_id in dict.fromkeys(message.session_id for message in messages):
            own = [one for one, message in zip(sealed, messages, strict=True) if message.session_id == session_id]
            entry = AuditEntry("import", "session", session_id)
            ids = await record_store.insert_missing(tx, session_id, own, entry)
            written |= ids
            if not ids:
                continue
            kept = [(one, words) for one, (_, words) in zip(sealed, readings, strict=True) if one.id in ids]
            await self._segments.add(
                tx, items(session_id, [words for _, words in kept], [one for one, _ in kept]), entry
            )
            await record_store.grow(tx, session_id, len(ids), max(one.seq for one, _ in kept), entry)
            tx.enqueue(summary_job(session_id))
            self._touched.setdefault(tx.scope.usr, set()).add(session_id)
        if written:
            tx.enqueue(Job(INDEX_JOB, once=ONCE))
        return written


async def _sessions(tx: Transaction, ids: Collection[str]) -> Mapping[str, UUID]:
    """Return which session here stands for each of the archive's."""
    found: dict[str, UUID] = {}
    for each in ids:
        source = parse("ses", each)
        here = await record_store.find_any(tx, [imported_id(tx.box, "ses", source), source])
        if here:
            found[each] = here
    return found


def _ids(tx: Transaction, record: MessageRecord) -> tuple[UUID, UUID]:
    # As evidence names it: by its kind.
    source = parse("msg", record.id)
    return imported_id(tx.box, "message", source), source


def _session(session_id: UUID, record: SessionRecord, taking: Taking) -> Session:
    now = datetime.now(UTC)
    return Session(
        id=session_id,
        agent=record.agent if taking.keeps_trust else taking.agent,
        external_id=record.external_id,
        title=record.title,
        metadata=record.metadata,
        window_size=record.window,
        ttl_s=record.ttl_seconds,
        next_seq=1,
        message_count=0,
        summary=Summary(),
        summary_seq=0,
        content_version=1,
        version=record.version,
        created_at=min(record.created_at, now),
        last_active_at=min(record.last_active_at, now),
        expires_at=record.expires_at,
        pinned=record.pinned,
    )


def _message(message_id: UUID, session_id: UUID, record: MessageRecord) -> Message:
    now = datetime.now(UTC)
    body = Body(record.content, record.name, tuple(record.tool_calls or ()), record.tool_call_id, record.metadata)
    created_at, stored_at = min(record.created_at, now), min(record.stored_at, now)
    return Message(message_id, session_id, record.seq, Role(record.role), body, created_at, stored_at)


def _bound(message: Message, said: Sequence[str]) -> Message:
    """Return a message with what it binds to, found here: an archive doesn't say what answers are bound to."""
    return Message(
        message.id,
        message.session_id,
        message.seq,
        message.role,
        message.body,
        message.created_at,
        message.stored_at,
        constraints=said,
    )
