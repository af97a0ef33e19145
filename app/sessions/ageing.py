"""The record's own age: messages that were stored too long ago go, with all that was made of them.

A job a user, which takes a bite at a time: an append to the same session waits for one bite at most. Killed between two
bites, it goes on where it was. A session that is pinned is kept whole.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.db.between import ForgetTraces
from app.infra.db.transaction import Database
from app.infra.segments.store import SegmentStore
from app.infra.summarisers.port import Summariser, Summary
from app.sessions import ageing_store, store
from app.sessions.ageing_store import Old
from app.sessions.model import Session
from app.sessions.sealing import open_message
from app.sessions.summary import fold
from app.sessions.window import Window

AGE_JOB: Final = "remove_old_messages"
BITE_MESSAGES: Final = 100
MAX_BITES: Final = 500
PAGE_SESSIONS: Final = 1_000
PAGE_MESSAGES: Final = 500
_FIRST: Final = UUID(int=0)


class OldMessages:
    """Finds and removes them. A Handler of app.core.jobs, and an Ageing of app.core.ageing."""

    name = job = AGE_JOB

    def __init__(
        self,
        db: Database,
        segments: SegmentStore,
        window: Window,
        summariser: Summariser,
        forget_traces: ForgetTraces,
        keep: timedelta | None,
    ) -> None:
        """Take the record, its index and hot copy, what makes summaries without a network, what else goes with
        messages, and how long they are kept: None is until they are forgotten.
        """
        self._db = db
        self._segments = segments
        self._window = window
        self._summariser = summariser
        self._forget_traces = forget_traces
        self._keep = keep

    async def due(self) -> AsyncIterator[tuple[str, UUID]]:
        """Return everybody who has messages, or an empty and expired session, older than what is kept."""
        if self._keep is None:
            return
        older_than, past, told = datetime.now(UTC) - self._keep, (_FIRST, _FIRST), _FIRST
        while page := await ageing_store.page_by_age(self._db, older_than, past, PAGE_SESSIONS):
            for row in page:
                if row.is_due and row.usr != told:
                    told = row.usr
                    yield row.tenant, row.usr
            past = page[-1].usr, page[-1].id

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Remove what is too old of this user's, bite by bite. May run twice."""
        del args
        if self._keep is None:
            return
        older_than = datetime.now(UTC) - self._keep
        bites = 0
        while bites < MAX_BITES:
            async with self._db.read(scope) as tx:
                old = await ageing_store.find_old(tx, older_than)
            if old is None:
                return
            if old.last:
                bites += await self._shorten(scope, old, older_than)
            else:
                await self._remove(scope, old.id)
            bites += 1
        async with self._db.maintain(scope) as tx:
            tx.enqueue(Job(AGE_JOB, once=AGE_JOB))

    async def _shorten(self, scope: Scope, old: Old, older_than: datetime) -> int:
        """Remove a session's messages up to the last old one; return how many bites that took.

        The first bite puts a summary without them in place of the kept one. It is made before the session is locked,
        however long that takes. Where somebody has taken a message out meanwhile, it is for the next round.
        """
        clean: Summary | None = Summary()
        covered = old.last
        for bite in range(1, MAX_BITES):
            if clean is not None:
                async with self._db.read(scope) as tx:
                    session = await store.find_session(tx, old.id)
                if session is None or session.content_version != old.content_version:
                    return bite
                clean, covered = await self._extended(scope, session, clean, covered)
            gone = await self._bite(scope, old, clean, covered, older_than)
            if gone is None:
                # The summary that is kept was brought up to date: what was made goes on from where it is.
                continue
            await self._window.drop(scope, old.id)
            if gone < BITE_MESSAGES:
                return bite
            old, clean = replace(old, content_version=old.content_version + 1), None
        return MAX_BITES

    async def _bite(
        self,
        scope: Scope,
        old: Old,
        clean: Summary | None,
        covered: int,
        older_than: datetime,
    ) -> int | None:
        """Remove the oldest messages of a session; return how many. None where the kept summary covers more than the
        clean one that is to take its place.
        """
        async with self._db.maintain(scope) as tx:
            session = await store.lock_session(tx, old.id)
            if session is None or session.pinned or session.content_version != old.content_version:
                return 0
            if clean is not None and session.summary_seq > covered:
                return None
            entry = AuditEntry("expire", "session", old.id)
            gone = await ageing_store.delete_oldest(tx, old.id, old.last, BITE_MESSAGES, entry)
            await self._segments.remove(tx, gone, entry)
            await ageing_store.shorten_session(tx, old.id, len(gone), clean or session.summary, entry)
            await tx.forget_answers(old.id, entry)
            await self._forget_traces(tx, old.id, older_than, entry)
        return len(gone)

    async def _extended(self, scope: Scope, session: Session, summary: Summary, after: int) -> tuple[Summary, int]:
        """Return a summary with what the session's kept one covers beyond a number, and the number it reaches."""
        while after < session.summary_seq:
            async with self._db.read(scope) as tx:
                sealed = await store.messages_after(tx, session.id, after, PAGE_MESSAGES)
                box = tx.box
            beyond = [open_message(box, session.id, one) for one in sealed if one.seq <= session.summary_seq]
            if not beyond:
                return summary, session.summary_seq
            summary, after = await fold(self._summariser, summary, beyond), beyond[-1].seq
        return summary, after

    async def _remove(self, scope: Scope, session_id: UUID) -> None:
        """Remove a session that is empty and expired, if it still is."""
        async with self._db.maintain(scope) as tx:
            session = await store.lock_session(tx, session_id)
            if session is None or session.pinned or session.message_count or session.expires_at > datetime.now(UTC):
                return
            entry = AuditEntry("expire", "session", session_id)
            await store.delete_session(tx, session_id, entry)
            await self._forget_traces(tx, session_id, None, entry)
            await tx.forget_answers(session_id, entry)
        await self._window.drop(scope, session_id)
