"""What messages state of their author: read before they are stored, written right after."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog

from app.core.errors import AppError
from app.core.scope import Scope
from app.core.writing import Finding, Heard, Right, Update, Writing
from app.infra.db.transaction import Transaction
from app.sessions import store
from app.sessions.model import Draft, Message, Role

# Reading this much takes a millisecond or two: more is read beside the event loop.
INLINE_CHARS: Final = 1_000

# By the place of a message in its append.
Found = Mapping[int, Sequence[Finding]]

log = structlog.get_logger("cairn.sessions")


class Hearing:
    """Reads what users say, and has it written. Only what has the role `user` is the user's."""

    def __init__(self, writing: Writing[Transaction]) -> None:
        """Take what reads and writes."""
        self._writing = writing

    async def read(self, drafts: Sequence[Draft]) -> Found:
        """Return what the messages state."""

        def read_all() -> Found:
            found = {
                place: self._writing.read(draft.body.content or "")
                for place, draft in enumerate(drafts)
                if draft.role is Role.USER
            }
            return {place: each for place, each in found.items() if each}

        is_short = sum(len(draft.body.content or "") for draft in drafts) <= INLINE_CHARS
        return read_all() if is_short else await asyncio.to_thread(read_all)

    async def intend(
        self,
        scope: Scope,
        rights: Collection[Right],
        found: Found,
        drafts: Sequence[Draft],
        ids: Sequence[UUID],
    ) -> None:
        """Owe what was found, before its messages are stored: no crash between the two loses it."""
        said = [each for draft, each in zip(drafts, ids, strict=True) if rights and draft.role is Role.USER]
        if said:
            await self._writing.intend(scope, rights, [ids[place] for place in found], said)

    async def owe(self, tx: Transaction, rights: Collection[Right], messages: Sequence[Message]) -> None:
        """Have the user's own of these messages read later, which the caller's transaction stores."""
        await self._writing.owe(tx, rights, [each.id for each in messages if each.role is Role.USER])

    async def write(
        self,
        scope: Scope,
        found: Found,
        ids: Sequence[UUID],
        at: datetime | None = None,
    ) -> Sequence[Update]:
        """Write what was found in messages that are stored now, or told to be; say what became of it. Where the stores
        can't now, the worker does later: the messages are stored all the same.
        """
        heard = [Heard(ids[place], at or _made(ids[place]), each) for place, each in found.items()]
        if not heard:
            return ()
        try:
            return await self._writing.write(scope, heard)
        except AppError as error:
            log.warning("memory_waits", code=error.code)
            return ()


async def heard_again(tx: Transaction, ids: Sequence[UUID]) -> Sequence[tuple[UUID, str, datetime]]:
    """Return what those of the messages say that are there and are the user's own words, and since when."""
    found = await store.find_messages(tx, ids)
    return [(each.id, each.text, each.stored_at) for each in found if each.role is Role.USER]


def _made(message_id: UUID) -> datetime:
    return datetime.fromtimestamp((message_id.int >> 80) / 1000, UTC)
