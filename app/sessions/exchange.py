"""One request a turn: messages are appended, and what the agent should know now is assembled."""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

import structlog

from app.core.assembly import Ask, Assembled, Assembler
from app.core.errors import AppError
from app.core.idempotency import Answer, Attempt, Replayed
from app.core.scope import Scope
from app.core.writing import Right
from app.sessions.model import Appended, Draft, Exchanged
from app.sessions.service import Sessions

CREATED: Final = 201

log = structlog.get_logger("cairn.sessions")


class Exchanges:
    """Appends, then assembles. Nothing that befalls the context makes an append look failed that is stored."""

    def __init__(self, sessions: Sessions, assembler: Assembler) -> None:
        """Take the record, and what assembles contexts."""
        self._sessions = sessions
        self._assembler = assembler

    async def append(
        self,
        scope: Scope,
        session_id: UUID,
        drafts: Sequence[Draft],
        ask: Ask | None,
        attempt: Attempt | None = None,
        rights: Collection[Right] = (),
    ) -> Exchanged:
        """Append messages; when they are in Postgres, answer the context where one is asked for. Raises `not_found`.

        A retry gets the first messages with a context of its own: what was kept would be a prompt, and of memories
        that may be gone by now.
        """
        if ask is None:
            return Exchanged(await self._sessions.append(scope, session_id, drafts, attempt, rights))
        stored = await self._stored(scope, session_id, drafts, attempt, rights)
        return Exchanged(stored, await self._assembled(scope, ask))

    async def _stored(
        self,
        scope: Scope,
        session_id: UUID,
        drafts: Sequence[Draft],
        attempt: Attempt | None,
        rights: Collection[Right],
    ) -> Appended | Answer:
        try:
            return await self._sessions.append(scope, session_id, drafts, attempt, rights)
        except Replayed as replayed:
            if replayed.answer.status != CREATED:  # a refusal is repeated as it was
                raise
            return replayed.answer

    async def _assembled(self, scope: Scope, ask: Ask) -> Assembled | AppError:
        try:
            return await self._assembler.assemble(scope, ask)
        except AppError as error:
            return error
        except Exception:
            # A 500 would have the client append again what is stored.
            log.exception("context_failed")
            return AppError("internal")
