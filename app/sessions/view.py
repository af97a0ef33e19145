"""How a session is read: from its hot copy alone while the lease is good, else from the record."""

import asyncio
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Actor, Scope
from app.infra.crypto.box import Box
from app.infra.db.transaction import Database, Transaction
from app.infra.summarisers.port import Summary
from app.sessions import store
from app.sessions.copies import opened
from app.sessions.making import ViewMaker
from app.sessions.model import MAX_WINDOW_MESSAGES, Reserved, SealedMessage, Session, View, split
from app.sessions.sealing import open_message
from app.sessions.window import Ticket, Window

# So many messages may have left the window before the kept summary is brought up to date; readers do the rest.
SLACK: Final = 16
# Where a model summarises, it may be slow or gone: beyond so many the summary is brought up to date without it.
PATIENCE: Final = 200
FOLD_PAGE: Final = 500
MAX_FOLDS: Final = 1_000
# A reader that would have to look at more than this brings the summary up to date first.
MAX_UNCOVERED: Final = 1_000
# A reader waits no longer than this for another one of this process to make the hot copy.
JOIN_S: Final = 0.3


class Views:
    """Reads sessions with their summary and window, and keeps the summary up to date."""

    def __init__(self, db: Database, window: Window, maker: ViewMaker, *, by_model: bool = False) -> None:
        """Take the record, its hot copy, and what makes views.

        With `by_model` the summaries that are kept come from jobs (app/sessions/summarising.py).
        """
        self._by_model = by_model
        self._db = db
        self._window = window
        self._maker = maker
        # The hot copies that readers of this process are making at this moment.
        self._making: dict[tuple[UUID, UUID], asyncio.Future[None]] = {}

    async def view(self, scope: Scope, session_id: UUID) -> View:
        """Return the session as it is now. Raises `not_found`."""
        # What an operator reads is read for them, and leaves no copy.
        if not self._window.is_trusted or scope.actor is Actor.OPERATOR:
            return await self._recorded(scope, session_id)
        view = await self._hot(scope, session_id)
        if view is not None:
            return view
        making = self._making.get((scope.usr, session_id))
        if making is None:
            return await self._warmed(scope, session_id)
        # What the other reader has found may be older than this question: so it is looked up again.
        await asyncio.wait({making}, timeout=JOIN_S)
        return await self._hot(scope, session_id) or await self._recorded(scope, session_id)

    async def view_in(self, tx: Transaction, session: Session) -> View:
        """Return the session as a transaction sees it: what it has changed included."""
        sealed = await store.messages_after(tx, session.id, session.summary_seq)
        return await self._maker.made(tx.box, session, sealed)

    def is_due(self, reserved: Reserved, count: int) -> bool:
        """Say whether an append of `count` messages leaves enough behind for the summary to be brought up to date.

        Asked at every SLACK-th message only: where a call waits for its result, there may be nothing to fold for long.
        """
        return _is_behind(reserved, count, PATIENCE if self._by_model else SLACK)

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
            summary = await self._maker.summarised(scope.usr, session, leaving)
            async with self._db.maintain(scope) as tx:
                entry = AuditEntry("summarise", "session", session_id)
                is_mine = await store.swap_summary(tx, session, summary, leaving[-1].seq, entry)
            if is_mine:
                await self._window.summarise(scope, session, box, summary, leaving[-1].seq)
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
            summary = await self._maker.folded(summary, covered)
            after = covered[-1].seq
        return summary

    async def _hot(self, scope: Scope, session_id: UUID) -> View | None:
        """Return the session as its hot copy shows it; None where that can't be trusted, or isn't there."""
        copy = await self._window.read(scope, session_id)
        if copy is None:
            return None
        box = await self._db.box(scope)
        view = await self._maker.made(box, opened(box, session_id, copy), copy.messages)
        await self._db.saw(scope, AuditEntry("read", "session", session_id))
        return view

    async def _warmed(self, scope: Scope, session_id: UUID) -> View:
        """Return the session from the record, and make its hot copy, unless another process is about to."""
        key = (scope.usr, session_id)
        made = self._making[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._recorded(scope, session_id, await self._window.take_ticket(scope, session_id))
        finally:
            made.set_result(None)
            del self._making[key]

    async def _recorded(self, scope: Scope, session_id: UUID, ticket: Ticket | None = None) -> View:
        """Return the session from the record. A ticket must be older than the question that is put here."""
        box, session, sealed = await self._read(scope, session_id, MAX_UNCOVERED)
        if sealed is None:
            await self.fold(scope, session_id)
            box, session, sealed = await self._read(scope, session_id, None)
        if ticket is not None:
            await ticket.put(scope, session, box, sealed or ())
        return await self._maker.made(box, session, sealed or ())

    async def _read(
        self,
        scope: Scope,
        session_id: UUID,
        most: int | None,
    ) -> tuple[Box, Session, Sequence[SealedMessage] | None]:
        """Return a session with the messages after its summary; None for these where they are more than `most`."""
        async with self._db.read(scope) as tx:
            session = await _find(tx, session_id)
            if most is not None and session.last - session.summary_seq > most:
                return tx.box, session, None
            tx.saw(AuditEntry("read", "session", session_id))
            return tx.box, session, await store.messages_after(tx, session_id, session.summary_seq)


def _is_behind(reserved: Reserved, count: int, slack: int) -> bool:
    last = reserved.first + count - 1
    crossed = last // SLACK != (reserved.first - 1) // SLACK
    return crossed and last - reserved.summary_seq > reserved.window_size + slack


async def _find(tx: Transaction, session_id: UUID) -> Session:
    session = await store.find_session(tx, session_id)
    if session is None:
        raise AppError("not_found")
    return session
