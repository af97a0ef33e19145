"""How a view of a session is made of its row and its messages: what has left the window is folded into the summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from cachetools import TTLCache

from app.infra.crypto.box import Box
from app.infra.summarisers.port import Summariser, Summary
from app.sessions.model import Message, SealedMessage, Session, View, split
from app.sessions.sealing import open_message
from app.sessions.summary import fold, overlay

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


class ViewMaker:
    """Makes views, and remembers the summaries it made on the way."""

    def __init__(self, summariser: Summariser) -> None:
        """Take what makes summaries: without a network, for readers wait for it."""
        self._summariser = summariser
        self._ahead: TTLCache[tuple[UUID, UUID], _Ahead] = TTLCache(AHEAD_SESSIONS, AHEAD_S)

    async def made(self, box: Box, session: Session, sealed: Sequence[SealedMessage]) -> View:
        """Return the view of a session whose kept summary covers all that comes before these messages."""
        messages = [open_message(box, session.id, message) for message in sealed]
        leaving, window = split(messages, session.window_size)
        summary = await self.summarised(box.usr, session, leaving)
        return View(session, overlay(summary, window), window)

    async def summarised(self, usr: UUID, session: Session, leaving: Sequence[Message]) -> Summary:
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
        summary = await self.folded(summary, left)
        self._ahead[usr, session.id] = _Ahead(session.content_version, session.summary_seq, covered, summary)
        return summary

    async def folded(self, summary: Summary, leaving: Sequence[Message]) -> Summary:
        """Return the summary of what it has and of the messages that leave the window, oldest first."""
        return await fold(self._summariser, summary, leaving)
