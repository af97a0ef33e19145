"""Summaries by a model: a job, so that no append and no reader ever waits for one."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.infra.served.permits import Permits, permitted
from app.infra.summarisers.port import Summariser
from app.sessions import store
from app.sessions.model import MAX_WINDOW_MESSAGES, Message, split, units
from app.sessions.sealing import open_message
from app.sessions.summary import fold
from app.sessions.window import Window

SUMMARY_JOB: Final = "summarise_session"
LANE: Final = "model"
MAX_ROUNDS: Final = 20
PAGE_MESSAGES: Final = 100
# What a model is shown at a time. Of a longer message its beginning is read, so that it counts for no more.
PAGE_CHARS: Final = 20_000
MESSAGE_CHARS: Final = 2_000


def summary_job(session_id: UUID) -> Job:
    """Return the job that brings a session's summary up to date: one waits at a time, however often it is owed."""
    return Job(SUMMARY_JOB, {"session": str(session_id)}, lane=LANE, once=str(session_id))


class SummariseSession:
    """Folds what has left the window into the kept summary. A Handler of app.core.jobs.

    The model is asked with no transaction open, and what it made is applied where the session still has the summary
    that it began with and no message was taken out. Where the session has moved past it, it begins anew.
    """

    name = SUMMARY_JOB

    def __init__(self, db: Database, window: Window, summariser: Summariser, permits: Permits) -> None:
        """Take the record, its hot copy, what makes summaries (one that always gives one), and what gives the permits
        that a model outside is asked by.
        """
        self._permits = permits
        self._db = db
        self._window = window
        self._summariser = summariser

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Summarise page by page until nothing is left. May run twice: who comes second finds it done."""
        session_id = UUID(str(args["session"]))
        for _ in range(MAX_ROUNDS):
            async with self._db.read(scope) as tx:
                session = await store.find_session(tx, session_id)
                if session is None:
                    return
                limit = MAX_WINDOW_MESSAGES + PAGE_MESSAGES
                sealed = await store.messages_after(tx, session_id, session.summary_seq, limit)
                box = tx.box
            messages = [open_message(box, session_id, message) for message in sealed]
            leaving = page(split(messages, session.window_size)[0])
            if not leaving:
                return
            with permitted(self._permits.of(scope)):
                summary = await fold(self._summariser, session.summary, leaving)
            async with self._db.maintain(scope) as tx:
                entry = AuditEntry("summarise", "session", session_id)
                is_mine = await store.swap_summary(tx, session, summary, leaving[-1].seq, entry)
            if is_mine:
                await self._window.summarise(scope, session, box, summary, leaving[-1].seq)


def page(leaving: Sequence[Message]) -> Sequence[Message]:
    """Return the oldest of them, as many as a model is shown at a time. What belongs together isn't torn apart."""
    count = chars = 0
    for unit in units(leaving):
        if chars >= PAGE_CHARS or count >= PAGE_MESSAGES:
            break
        count += len(unit)
        chars += sum(min(len(message.text), MESSAGE_CHARS) for message in unit)
    return leaving[:count]
