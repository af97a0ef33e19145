"""The use cases of sessions: each method one transaction; what follows in Redis is done before it is acknowledged."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from app.core.audit import AuditEntry
from app.core.errors import AppError, invalid
from app.core.idempotency import Attempt, Replayed
from app.core.ids import uuid7
from app.core.jobs import Job
from app.core.scope import Scope
from app.core.versions import Precondition, expected
from app.core.writing import Right
from app.infra.db.appends import Fate
from app.infra.db.between import Traces
from app.infra.db.group_commit import GroupCommit
from app.infra.db.transaction import Database, Transaction
from app.infra.segments.store import SegmentStore
from app.sessions import appending, claim_store, store
from app.sessions.hearing import Found, Hearing
from app.sessions.indexing import INDEX_JOB, ONCE, items
from app.sessions.leftovers import CLAIMS_KEPT_S, leftover_job
from app.sessions.model import (
    Appended,
    Changes,
    Draft,
    Message,
    MessagePage,
    Opened,
    Opening,
    Record,
    Reserved,
    SealedMessage,
    Session,
    SessionPage,
    View,
)
from app.sessions.sealing import seal
from app.sessions.view import Views
from app.sessions.window import Window

OPEN_TRIES: Final = 3

# Refusals that show what the record has now.
_SHOWN: Final = frozenset({"not_found", "stale_version", "exists"})

log = structlog.get_logger("cairn.sessions")


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a session has that nothing else was asked for."""

    window_size: int = 20
    ttl_s: int = 24 * 3600


class Sessions:
    """Makes sessions, appends to them, reads and deletes them."""

    def __init__(
        self,
        db: Database,
        window: Window,
        views: Views,
        segments: SegmentStore,
        commits: GroupCommit,
        defaults: Defaults,
        traces: Traces,
        hearing: Hearing,
    ) -> None:
        """Take the record, its hot copy, how both are read, the index of messages, what commits appends, what others
        keep of sessions, and what hears what users say of themselves.
        """
        self._db = db
        self._window = window
        self._views = views
        self._segments = segments
        self._commits = commits
        self._defaults = defaults
        self._traces = traces
        self._hearing = hearing

    async def open(self, scope: Scope, opening: Opening, attempt: Attempt | None = None) -> Opened:
        """Make a session; where its external id has one already, return that as it is."""
        session_id = uuid7()
        window_size = opening.window_size or self._defaults.window_size
        ttl_s = opening.ttl_s or self._defaults.ttl_s
        async with self._db.write(scope, attempt) as tx:
            for _ in range(OPEN_TRIES):
                session = await self._found(tx, opening)
                if session is not None:
                    break
                entry = AuditEntry("create", "session", session_id)
                session = await store.insert_session(tx, session_id, opening, window_size, ttl_s, entry)
                if session is not None:
                    break
            else:  # made by others and deleted again, again and again between the two statements
                raise AppError("in_progress", headers={"Retry-After": "1"})
            opened = Opened(await self._views.view_in(tx, session), is_new=session.id == session_id)
            await tx.answer(opened, session.id)
        return opened

    async def view(self, scope: Scope, session_id: UUID) -> View:
        """Return a session with its summary and window. Raises `not_found`."""
        return await self._views.view(scope, session_id)

    async def page(
        self,
        scope: Scope,
        before: UUID | None,
        limit: int,
        *,
        pinned: bool | None = None,
    ) -> SessionPage:
        """Return sessions, the newest made first, those made before the session `before`; with `pinned` only those that
        are, or aren't.
        """
        async with self._db.read(scope) as tx:
            found = await store.page_sessions(tx, before, limit + 1, pinned)
            tx.saw(AuditEntry("list", "session"))
        return SessionPage(found[:limit], len(found) > limit)

    async def change(
        self,
        scope: Scope,
        session_id: UUID,
        changes: Changes,
        precondition: Precondition,
        attempt: Attempt | None = None,
    ) -> View:
        """Change a session where the precondition holds. Raises `not_found`, `stale_version`, `exists`."""
        async with self._overtaking(scope, session_id), self._db.write(scope, attempt) as tx:
            version = await self._locked_version(tx, session_id, precondition)
            entry = AuditEntry("change", "session", session_id)
            session = await store.change_session(tx, session_id, version, changes, entry)
            if session is None:
                raise AppError("conflict")
            view = await self._views.view_in(tx, session)
            await tx.answer(view, session_id)
        await self._window.drop(scope, session_id)
        return view

    async def delete(
        self,
        scope: Scope,
        session_id: UUID,
        precondition: Precondition,
        attempt: Attempt | None = None,
    ) -> None:
        """Delete a session with all that was said in it, and what was inferred from that alone.

        Raises `not_found`, `stale_version`, `exists`.
        """
        async with self._overtaking(scope, session_id), self._db.retract(scope, attempt) as tx:
            await tx.hold_changes()
            await self._locked_version(tx, session_id, precondition)
            entry = AuditEntry("delete", "session", session_id)
            messages = await store.message_ids(tx, session_id)
            await self._segments.remove(tx, messages, entry)
            await store.delete_session(tx, session_id, entry)
            await self._traces.lose_inferred(tx, messages)
            await self._traces.forget_session(tx, session_id, None, entry)
            await tx.forget_answers(session_id, entry)
            await tx.answer(None)
        await self._window.drop(scope, session_id)

    async def append(
        self,
        scope: Scope,
        session_id: UUID,
        drafts: Sequence[Draft],
        attempt: Attempt | None = None,
        rights: Collection[Right] = (),
    ) -> Appended:
        """Append messages: when this returns they are in Postgres, all of them, and every later reader sees them.

        With `rights` to, what they state of their author is written into the user's memory.

        Raises `not_found`, `overloaded` where too many wait, and `store_unavailable` where a reader could miss what is
        stored.
        """
        async with self._overtaking(scope, session_id):
            found = await self._hearing.read(drafts) if rights else {}
            reserved, sealed = await self._stored(scope, session_id, drafts, attempt, rights, found)
        await self._window.append(scope, session_id, reserved, sealed)
        if self._views.is_due(reserved, len(drafts)):
            await self._fold(scope, session_id)
        updates = await self._hearing.write(scope, found, [each.id for each in sealed], reserved.at)
        return Appended(session_id, sealed, updates)

    async def adopt(
        self,
        scope: Scope,
        session_id: UUID,
        record: Record | None,
        attempt: Attempt | None = None,
        rights: Collection[Right] = (),
    ) -> View:
        """Make an anonymous session the user's, with its id, its messages and theirs. One that is the user's already
        stays as it is, and one that was and is deleted isn't brought back. Without a record it is `not_found`, unless
        the attempt had its effect. With `rights` to, the worker reads what the messages state.
        """
        async with self._db.write(scope, attempt) as tx:
            if record is None:
                raise AppError("not_found")
            entry = AuditEntry("claim", "session", session_id)
            await claim_store.drop_claims(tx, CLAIMS_KEPT_S, entry)
            is_first = await claim_store.note_claim(tx, session_id, entry)
            tx.enqueue(leftover_job(session_id))
            if is_first and await store.adopt_session(tx, record.session, entry) and record.messages:
                read = await appending.read(tx.box, record.messages)
                sealed = [seal(tx.box, message) for message in record.messages]
                await store.insert_messages(tx, session_id, sealed, entry)
                await self._segments.add(tx, items(session_id, [words for _, words in read], sealed), entry)
                tx.enqueue(Job(INDEX_JOB, once=ONCE))
                await self._hearing.owe(tx, rights, record.messages)
            if not await store.hold_session(tx, session_id):
                raise AppError("not_found")
            view = await self._views.view_in(tx, await self._required(tx, session_id))
            await tx.answer(view, session_id)
        return view

    async def page_messages(self, scope: Scope, session_id: UUID, before: int | None, limit: int) -> MessagePage:
        """Return a session's messages, the newest first, those before the sequence number `before`."""
        async with self._db.read(scope) as tx:
            await self._required(tx, session_id)
            found = await store.page_messages(tx, session_id, before, limit + 1)
            tx.saw(AuditEntry("list", "message", session_id))
        return MessagePage(found[:limit], len(found) > limit)

    async def read_message(self, scope: Scope, session_id: UUID, message_id: UUID) -> Message:
        """Return one message. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            message = await store.find_message(tx, session_id, message_id)
            if message is None:
                raise AppError("not_found")
            tx.saw(AuditEntry("read", "message", message_id))
        return message

    async def delete_message(
        self,
        scope: Scope,
        session_id: UUID,
        message_id: UUID,
        attempt: Attempt | None = None,
    ) -> None:
        """Delete one message, what the summary has of it, and what was inferred from it alone. Raises `not_found`."""
        async with self._overtaking(scope, session_id), self._db.retract(scope, attempt) as tx:
            await tx.hold_changes()
            session = await store.lock_session(tx, session_id)
            message = await store.find_message(tx, session_id, message_id) if session else None
            if session is None or message is None:
                raise AppError("not_found")
            entry = AuditEntry("delete", "message", message_id)
            await store.delete_message(tx, message_id, entry)
            await self._segments.remove(tx, [message_id], entry)
            await self._traces.lose_inferred(tx, [message_id])
            summary = session.summary
            if message.seq <= session.summary_seq:
                summary = await self._views.summarised_anew(tx, session)
            await store.shrink_session(tx, session_id, summary, entry)
            await self._traces.forget_words(tx, session_id, message.text, message.stored_at, entry)
            await tx.forget_answers(session_id, entry)
            await tx.answer(None)
        await self._window.drop(scope, session_id)

    @asynccontextmanager
    async def _overtaking(self, scope: Scope, session_id: UUID) -> AsyncIterator[None]:
        """Drop the hot copy where a write answers without writing: with what was kept, or with a refusal.

        What it answers by, another request may have committed that died before it came to Redis: a reader who was told
        of it must see it.
        """
        try:
            yield
        except Replayed:
            await self._window.drop(scope, session_id)
            raise
        except AppError as error:
            if error.code in _SHOWN:
                await self._window.drop(scope, session_id)
            raise

    async def _stored(
        self,
        scope: Scope,
        session_id: UUID,
        drafts: Sequence[Draft],
        attempt: Attempt | None,
        rights: Collection[Right],
        found: Found,
    ) -> tuple[Reserved, Sequence[SealedMessage]]:
        await self._require_contexts(scope, drafts, attempt)
        box = await self._db.box(scope)
        append = await appending.prepare(scope, box, session_id, drafts, self._segments, attempt)
        await self._hearing.intend(scope, rights, found, drafts, [each.id for each in append.messages])
        outcome = await self._commits.submit(append)
        if outcome.fate is Fate.KEPT and attempt is not None:
            appending.require_same(box, attempt, outcome)
            updates = await self._hearing.write(scope, found, outcome.message_ids) if outcome.message_ids else ()
            raise Replayed(appending.kept_answer(box, session_id, attempt, outcome, updates))
        if outcome.fate is not Fate.STORED:
            refusal = AppError("not_found")
            if attempt is not None:
                await self._db.refuse(scope, attempt, refusal)
            raise refusal
        reserved = appending.reserved(outcome)
        return reserved, appending.sealed(append, reserved)

    async def _require_contexts(self, scope: Scope, drafts: Sequence[Draft], attempt: Attempt | None) -> None:
        """Raise `invalid` where a message names a context that isn't one of the user's."""
        named = {draft.context_id for draft in drafts if draft.context_id is not None}
        if not named:
            return
        async with self._db.read(scope) as tx:
            known = await self._traces.find_contexts(tx, named)
        for place, draft in enumerate(drafts):
            if draft.context_id is not None and draft.context_id not in known:
                refusal = invalid(f"messages[{place}].context_id", "must be a context of the user's own")
                if attempt is not None:
                    # It may have been known when this was asked first: then that is answered.
                    await self._db.refuse(scope, attempt, refusal)
                raise refusal

    async def _found(self, tx: Transaction, opening: Opening) -> Session | None:
        if opening.external_id is None:
            return None
        session = await store.find_by_external_id(tx, opening.external_id)
        if session is not None:
            tx.saw(AuditEntry("read", "session", session.id))
        return session

    async def _fold(self, scope: Scope, session_id: UUID) -> None:
        try:
            await self._views.fold(scope, session_id)
        except AppError as error:
            # Readers fold for themselves until a later append gets through.
            log.warning("summary_waits", session_id=str(session_id), code=error.code)

    async def _required(self, tx: Transaction, session_id: UUID) -> Session:
        session = await store.find_session(tx, session_id)
        if session is None:
            raise AppError("not_found")
        return session

    async def _locked_version(self, tx: Transaction, session_id: UUID, precondition: Precondition) -> int:
        session = await store.lock_session(tx, session_id)
        if session is None:
            raise AppError("not_found")
        return expected(precondition, session.version) or session.version
