"""Both kinds of caller at the same routes: users, whose sessions are in Postgres, and guests, whose one is in Redis."""

from collections.abc import Collection, Sequence
from uuid import UUID

from app.core.assembly import Ask
from app.core.idempotency import Attempt
from app.core.scope import Guest, Scope
from app.core.superseding import NOTHING_OUTDATED, Outdated
from app.core.versions import Precondition
from app.core.writing import Right
from app.sessions.exchange import Exchanges
from app.sessions.guests import Guests
from app.sessions.marks import Marks
from app.sessions.model import Changes, Draft, Exchanged, Message, MessagePage, Opened, Opening, View
from app.sessions.service import Sessions

Caller = Scope | Guest


class Hosts:
    """Takes a caller to where their sessions are. What each method does stands there."""

    def __init__(self, sessions: Sessions, exchanges: Exchanges, guests: Guests, marks: Marks) -> None:
        """Take the sessions of users, their appends with a context, the sessions of guests, and what marks texts."""
        self._marks = marks
        self._sessions = sessions
        self._exchanges = exchanges
        self._guests = guests

    async def open(self, caller: Caller, opening: Opening, attempt: Attempt | None) -> Opened:
        """Make a session. A guest who tries again makes another: nobody knows them yet."""
        if isinstance(caller, Guest):
            return await self._guests.open(opening)
        return await self._sessions.open(caller, opening, attempt)

    async def view(self, caller: Caller, session_id: UUID) -> View:
        """Return a session with its summary and window."""
        if isinstance(caller, Guest):
            return await self._guests.view(caller, session_id)
        return await self._sessions.view(caller, session_id)

    async def outdated(self, caller: Caller) -> Outdated:
        """Return what was in force once in the caller's memory, and isn't now. A guest has no memory."""
        return NOTHING_OUTDATED if isinstance(caller, Guest) else await self._marks.outdated(caller)

    async def change(
        self,
        caller: Caller,
        session_id: UUID,
        changes: Changes,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> View:
        """Change a session where the precondition holds. A guest's retry under a version is told that it is stale."""
        if isinstance(caller, Guest):
            return await self._guests.change(caller, session_id, changes, precondition)
        return await self._sessions.change(caller, session_id, changes, precondition, attempt)

    async def delete(
        self,
        caller: Caller,
        session_id: UUID,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> None:
        """Delete a session with all that was said in it."""
        if isinstance(caller, Guest):
            return await self._guests.delete(caller, session_id, precondition)
        return await self._sessions.delete(caller, session_id, precondition, attempt)

    async def append(
        self,
        caller: Caller,
        session_id: UUID,
        drafts: Sequence[Draft],
        ask: Ask | None,
        attempt: Attempt | None,
        rights: Collection[Right],
    ) -> Exchanged:
        """Append messages. A guest has no memory to make a context of: the route has refused to ask for one."""
        if isinstance(caller, Guest):
            return Exchanged(await self._guests.append(caller, session_id, drafts, attempt))
        return await self._exchanges.append(caller, session_id, drafts, ask, attempt, rights)

    async def page_messages(self, caller: Caller, session_id: UUID, before: int | None, limit: int) -> MessagePage:
        """Return messages, the newest first."""
        if isinstance(caller, Guest):
            return await self._guests.page_messages(caller, session_id, before, limit)
        return await self._sessions.page_messages(caller, session_id, before, limit)

    async def read_message(self, caller: Caller, session_id: UUID, message_id: UUID) -> Message:
        """Return one message."""
        if isinstance(caller, Guest):
            return await self._guests.read_message(caller, session_id, message_id)
        return await self._sessions.read_message(caller, session_id, message_id)

    async def delete_message(
        self,
        caller: Caller,
        session_id: UUID,
        message_id: UUID,
        attempt: Attempt | None,
    ) -> None:
        """Delete one message."""
        if isinstance(caller, Guest):
            return await self._guests.delete_message(caller, session_id, message_id)
        return await self._sessions.delete_message(caller, session_id, message_id, attempt)
