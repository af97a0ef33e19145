"""Claiming: an anonymous session becomes a user's, once, and a process that dies on the way loses and doubles nothing.

First Redis closes the session to everybody but the claimer, so that what is read then is all there will be. Then one
transaction writes the session under its own id. Then Redis forgets it. Whoever died between two of these steps, the
same user's next claim goes on: what is closed opens to them alone, and a claim that is noted in Postgres writes nothing
again, even where its session was deleted since.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Final
from uuid import UUID

import structlog

from app.core.errors import AppError
from app.core.idempotency import Attempt, Replayed
from app.core.scope import Guest, Scope
from app.core.withholding import withheld_json, withheld_text
from app.core.writing import Right
from app.sessions.guests import Guests
from app.sessions.model import Body, Message, Record, View
from app.sessions.service import Sessions

DONE: Final = 200
NOT_FOUND: Final = "not_found"

log = structlog.get_logger("cairn.sessions")


class Claims:
    """Moves anonymous sessions to users."""

    def __init__(self, guests: Guests, sessions: Sessions) -> None:
        """Take where they come from and where they go."""
        self._guests = guests
        self._sessions = sessions

    async def claim(
        self,
        scope: Scope,
        guest: Guest,
        session_id: UUID,
        attempt: Attempt | None = None,
        rights: Collection[Right] = (),
    ) -> View:
        """Make the session the user's, and have the worker read what it states, as far as the token's rights go.

        Raises `not_found` for a wrong token, and for a session that was claimed.
        """
        record = await self._guests.take(guest, session_id, scope.usr)
        kept = None if record is None else _withheld(record)
        try:
            view = await self._sessions.adopt(scope, session_id, kept, attempt, rights)
        except Replayed as replayed:
            if record is not None and replayed.answer.status == DONE:
                await self._forget(session_id)
            raise
        except AppError as error:
            if record is not None and error.code == NOT_FOUND:  # it was claimed, and is deleted since
                await self._forget(session_id)
            raise
        await self._forget(session_id)
        return view

    async def _forget(self, session_id: UUID) -> None:
        try:
            await self._guests.remove(session_id)
        except AppError as error:
            # The claim is done. What is left is closed to all but the user, sealed, and goes by a job.
            log.warning("anonymous_copy_left", session_id=str(session_id), code=error.code)


def _withheld(record: Record) -> Record:
    """Return what a guest has said, who has no tenant, with what the user's tenant never stores masked."""
    title, metadata = record.session.title, withheld_json(record.session.metadata)
    session = replace(record.session, title=None if title is None else withheld_text(title), metadata=metadata)
    return Record(session, [_withheld_message(message) for message in record.messages])


def _withheld_message(message: Message) -> Message:
    constraints = [withheld_text(sentence) for sentence in message.constraints]
    return replace(message, body=_withheld_body(message.body), constraints=constraints)


def _withheld_body(body: Body) -> Body:
    return Body(
        content=None if body.content is None else withheld_text(body.content),
        name=None if body.name is None else withheld_text(body.name),
        tool_calls=withheld_json(list(body.tool_calls)),
        tool_call_id=None if body.tool_call_id is None else withheld_text(body.tool_call_id),
        metadata=withheld_json(body.metadata),
    )
