"""How a session is read: from the hot copy where that shows what Postgres has, else from the record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from cachetools import TTLCache

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.crypto.box import Box
from app.infra.db.transaction import Database, Transaction
from app.infra.summarisers.port import Summariser, Summary
from app.sessions import store
from app.sessions.model import MAX_WINDOW_MESSAGES, Message, Reserved, SealedMessage, Session, View, split
from app.sessions.sealing import open_message
from app.sessions.summarising import summary_job
from app.sessions.summary import fold, overlay
from app.sessions.window import Window

# So many messages may have left the window before the kept summary is brought up to date; readers do the rest.
SLACK: Final = 16
# Where a model summarises, it may be slow or gone: beyond so many the summary is brought up to date without it.
PATIENCE: Final = 200
FOLD_PAGE: Final = 500
MAX_FOLDS: Final = 1_000
# A reader that would have to look at more than this brings the summary up to date first.
MAX_UNCOVERED: Final = 1_000
# What readers have made of messages that left is remembered for so long: the next one goes on from there.
AHEAD_S: Final = 60
AHEAD_SESSIONS: Final = 2_000


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A summary that this process has made and that isn't kept yet: what it covers, in which epoch of the session.

    `base` is what the kept summary covered: once another is kept (a model's, perhaps), this one is of no use.
    """

    content_version: int
    base: int
    seq: int
    summary: Summary


class Views:
    """Reads sessions with their summary and window, and keeps the summary up to date."""

    def __init__(self, db: Database, window: Window, summariser: Summariser, *, by_model: bool = False) -> None:
        """Take the record, its hot copy and what makes summaries: without a network, for readers wait for it.

        With `by_model` the summaries that are kept come from jobs (app/sessions/summarising.py).
        """
        self._by_model = by_model
        self._db = db
        self._window = window
        self._summariser = summariser
        self._ahead: TTLCache[tuple[UUID, UUID], _Ahead] = TTLCache(AHEAD_SESSIONS, AHEAD_S)

    async def view(self, scope: Scope, session_id: UUID) -> View:
        """Return the session as it is now. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            session = await _find(tx, session_id)
            box = tx.box
            tx.saw(AuditEntry("read", "session", session_id))
        sealed = await self._window.read(scope, session) if session.last > session.summary_seq else []
        if sealed is None:
            if session.last - session.summary_seq > MAX_UNCOVERED:
                await self.fold(scope, session_id)
            async with self._db.read(scope) as tx:
                session = await _find(tx, session_id)
                sealed = await store.messages_after(tx, session_id, session.summary_seq)
            await self._window.rebuild(scope, session, sealed)
        return await self.made(box, session, sealed)

    async def view_in(self, tx: Transaction, session: Session) -> View:
        """Return the session as a transaction sees it: what it has changed included."""
        sealed = await store.messages_after(tx, session.id, session.summary_seq)
        return await self.made(tx.box, session, sealed)

    def is_due(self, reserved: Reserved, count: int) -> bool:
        """Say whether an append of `count` messages leaves enough behind for the summary to be brought up to date.

        Asked at every SLACK-th message only: where a call waits for its result, there may be nothing to fold for long.
        """
        return _is_behind(reserved, count, PATIENCE if self._by_model else SLACK)

    def owed(self, session_id: UUID, reserved: Reserved, count: int) -> Sequence[Job]:
        """Return the job that an append of `count` messages owes, where a model summarises and has enough to do."""
        return [summary_job(session_id)] if self._by_model and _is_behind(reserved, count, SLACK) else []

    async def fold(self, scope: Scope, session_id: UUID) -> None:
        """Bring the kept summary up to date. Who comes second finds it done."""
        for _ in range(MAX_FOLDS):
            async with self._db.read(scope) as tx:
                session = await _find(tx, session_id)
                limit = MAX_WINDOW_MESSAGES + FOLD_PAGE
                sealed = await store.messages_after(tx, session_id, session.summary_seq, limit)
                box = tx.box
            messages = [open_message(box, session_id, message) for message in sealed]
            leaving, _kept = split(messages, session.window_size)
            if not leaving:
                return
            summary = await self._summarised(scope.usr, session, leaving)
            async with self._db.write(scope) as tx:
                entry = AuditEntry("summarise", "session", session_id)
                is_mine = await store.swap_summary(tx, session, summary, leaving[-1].seq, entry)
            if not is_mine or len(sealed) < limit:
                return

    async def summarised_anew(self, tx: Transaction, session: Session) -> Summary:
        """Return the summary of what the kept one covers, made from the record as the transaction sees it."""
        summary, after = Summary(), 0
        while after < session.summary_seq:
            page = await store.messages_after(tx, session.id, after, FOLD_PAGE)
            covered = [open_message(tx.box, session.id, one) for one in page if one.seq <= session.summary_seq]
            if not covered:
                break
            summary = await fold(self._summariser, summary, covered)
            after = covered[-1].seq
        return summary

    async def made(self, box: Box, session: Session, sealed: Sequence[SealedMessage]) -> View:
        """Return the view of a session whose kept summary covers all that comes before these messages."""
        messages = [open_message(box, session.id, message) for message in sealed]
        leaving, window = split(messages, session.window_size)
        summary = await self._summarised(box.usr, session, leaving)
        return View(session, overlay(summary, window), window)

    async def _summarised(self, usr: UUID, session: Session, leaving: Sequence[Message]) -> Summary:
        """Return the summary of what the kept one covers and of what is leaving.

        Folding in part by part or all at once comes to the same, so that any summary made on the way will do to begin.
        """
        if not leaving:
            return session.summary
        covered = leaving[-1].seq
        ahead = self._ahead.get((usr, session.id))
        summary, after = session.summary, session.summary_seq
        if ahead and (ahead.content_version, ahead.base) == (session.content_version, after) and ahead.seq <= covered:
            summary, after = ahead.summary, ahead.seq
        left = [message for message in leaving if message.seq > after]
        summary = await fold(self._summariser, summary, left)
        self._ahead[usr, session.id] = _Ahead(session.content_version, session.summary_seq, covered, summary)
        return summary


def _is_behind(reserved: Reserved, count: int, slack: int) -> bool:
    last = reserved.first + count - 1
    crossed = last // SLACK != (reserved.first - 1) // SLACK
    return crossed and last - reserved.summary_seq > reserved.window_size + slack


async def _find(tx: Transaction, session_id: UUID) -> Session:
    session = await store.find_session(tx, session_id)
    if session is None:
        raise AppError("not_found")
    return session
