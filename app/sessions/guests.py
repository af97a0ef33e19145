"""Anonymous sessions: the use cases of whoever holds a session token. Nothing of them is written to Postgres."""

import asyncio
import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from app.core.errors import AppError, invalid
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.scope import Guest
from app.core.versions import Anything, Precondition, expected
from app.infra.crypto.anonymous import anonymous_box
from app.infra.crypto.box import Box, Place, SealError
from app.infra.summarisers.port import Summary
from app.sessions.guest_store import MAX_BYTES, MAX_MESSAGES, MAX_TTL_S, GuestStore, Kept, Outcome
from app.sessions.making import ViewMaker
from app.sessions.model import (
    Appended,
    Changes,
    Draft,
    Message,
    MessagePage,
    Opened,
    Opening,
    Record,
    SealedMessage,
    Session,
    View,
)
from app.sessions.sealing import open_message, seal_message
from app.sessions.service import Defaults
from app.sessions.summary import stated

TOKEN_BYTES: Final = 32
# Under `If-Match: *` what is appended between reading and changing makes it begin anew.
CHANGE_TRIES: Final = 5

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class Guests:
    """Begins anonymous sessions and works on them. A wrong token and a session that isn't there are the same 404."""

    def __init__(self, kept: GuestStore, maker: ViewMaker, defaults: Defaults) -> None:
        """Take where they live, what makes views of them, and what a session has that nothing else was asked for."""
        self._kept = kept
        self._maker = maker
        self._defaults = defaults

    async def open(self, opening: Opening) -> Opened:
        """Make a session, and the token that is the only way into it."""
        if opening.external_id is not None:
            raise invalid("external_id", "needs a token: it is found among the sessions of a user")
        ttl_s = opening.ttl_s or min(self._defaults.ttl_s, MAX_TTL_S)
        _require_short(ttl_s)
        token, session_id, now = secrets.token_urlsafe(TOKEN_BYTES), uuid7(), datetime.now(UTC)
        box = anonymous_box(token, session_id)
        window_size = opening.window_size or self._defaults.window_size
        said = {"title": opening.title, "metadata": dict(opening.metadata)}
        body = box.seal_json(said, _place(session_id))
        await self._kept.begin(session_id, body, window_size, ttl_s, now)
        kept = Kept(body, 1, 1, 1, window_size, ttl_s, now, now, ())
        view = await self._maker.made(box, _session(box, session_id, kept), ())
        return Opened(view, is_new=True, token=token)

    async def view(self, guest: Guest, session_id: UUID) -> View:
        """Return the session with its summary and window. Raises `not_found`."""
        box, kept = await self._opened(guest, session_id)
        return await self._maker.made(box, _session(box, session_id, kept), kept.messages)

    async def change(self, guest: Guest, session_id: UUID, changes: Changes, precondition: Precondition) -> View:
        """Change the session where the precondition holds. Raises `not_found`, `stale_version`, `exists`."""
        ttl_s = changes.get("ttl_s")
        if ttl_s is not None:
            _require_short(ttl_s)
        for _ in range(CHANGE_TRIES):
            box, kept = await self._opened(guest, session_id)
            expected(precondition, kept.version)
            session = replace(_session(box, session_id, kept), **changes, version=kept.version + 1)
            session = replace(session, expires_at=session.last_active_at + timedelta(seconds=session.ttl_s))
            body = _body(box, session)
            if await self._kept.change(session_id, kept.version, body, session.window_size, session.ttl_s):
                return await self._maker.made(box, session, kept.messages)
        raise AppError("conflict")

    async def delete(self, guest: Guest, session_id: UUID, precondition: Precondition) -> None:
        """Delete the session with all there is of it. Raises `not_found`, `stale_version`, `exists`."""
        _, kept = await self._opened(guest, session_id)
        version = expected(precondition, kept.version)
        if not await self._kept.remove(session_id, None if isinstance(precondition, Anything) else version):
            raise AppError("conflict")

    async def append(
        self,
        guest: Guest,
        session_id: UUID,
        drafts: Sequence[Draft],
        attempt: Attempt | None = None,
    ) -> Appended:
        """Append messages. Raises `not_found`, `quota_exceeded` where the session is full, and `invalid` for a context:
        a guest has none.

        A retry is told where the messages stand that are still there.
        """
        box, now = await self._box(guest, session_id), datetime.now(UTC)
        if any(draft.context_id is not None for draft in drafts):
            raise invalid("messages[].context_id", "must be a context of the user's own")
        sealed = await asyncio.to_thread(_sealed, box, session_id, drafts, now)
        append = box.tag("append", f"{attempt.route} {attempt.key}" if attempt else uuid4().hex).hex()
        request = box.tag("append-request", attempt.request.hex()).hex() if attempt else ""
        added = await self._kept.add(session_id, sealed, append, request, now)
        if added is None:
            raise AppError("not_found")
        if added.outcome is Outcome.FULL:
            raise AppError("quota_exceeded", f"an anonymous session holds {MAX_MESSAGES} messages, {MAX_BYTES} bytes")
        if added.request != request:
            raise AppError("idempotency_mismatch")
        numbers = range(added.first, added.first + added.count)
        if added.outcome is Outcome.KEPT:
            return Appended(session_id, [replace(one, seq=seq) for one, seq in zip(sealed, numbers, strict=True)])
        _, kept = await self._opened(guest, session_id)
        return Appended(session_id, [message for message in kept.messages if message.seq in numbers])

    async def page_messages(self, guest: Guest, session_id: UUID, before: int | None, limit: int) -> MessagePage:
        """Return messages, the newest first, those before the sequence number `before`."""
        box, kept = await self._opened(guest, session_id)
        older = [message for message in reversed(kept.messages) if before is None or message.seq < before]
        return MessagePage([open_message(box, session_id, one) for one in older[:limit]], len(older) > limit)

    async def read_message(self, guest: Guest, session_id: UUID, message_id: UUID) -> Message:
        """Return one message. Raises `not_found`."""
        box, kept = await self._opened(guest, session_id)
        found = next((message for message in kept.messages if message.id == message_id), None)
        if found is None:
            raise AppError("not_found")
        return open_message(box, session_id, found)

    async def delete_message(self, guest: Guest, session_id: UUID, message_id: UUID) -> None:
        """Delete one message; a summary is made when it is read, so there is none that knows of it."""
        message = await self.read_message(guest, session_id, message_id)
        await self._kept.take_out(session_id, message.seq)

    async def take(self, guest: Guest, session_id: UUID, usr: UUID) -> Record | None:
        """Close the session to everybody but this user, and return it; None where there is none, or another took it."""
        box, body = _box(guest, session_id), await self._kept.body(session_id)
        if box is None or not _opens(box, session_id, body):
            return None
        kept = await self._kept.mark(session_id, box.tag("claimer", usr.hex))
        return None if kept is None else _record(box, session_id, kept)

    async def remove(self, session_id: UUID) -> None:
        """Remove what is left of a session that has become a user's."""
        await self._kept.remove(session_id, None)

    async def _box(self, guest: Guest, session_id: UUID) -> Box:
        box, body = _box(guest, session_id), await self._kept.body(session_id)
        if box is None or not _opens(box, session_id, body):
            raise AppError("not_found")
        return box

    async def _opened(self, guest: Guest, session_id: UUID) -> tuple[Box, Kept]:
        box, kept = _box(guest, session_id), await self._kept.read(session_id)
        if box is None or kept is None or not _opens(box, session_id, kept.body):
            raise AppError("not_found")
        return box, kept


def _require_short(ttl_s: int) -> None:
    if ttl_s > MAX_TTL_S:
        raise invalid("ttl_seconds", f"must be at most {MAX_TTL_S} without a token")


def _body(box: Box, session: Session) -> bytes:
    """Return what is said of a session, sealed."""
    said = {"title": session.title, "metadata": dict(session.metadata), "pinned": session.pinned}
    return box.seal_json(said, _place(session.id))


def _sealed(box: Box, session_id: UUID, drafts: Sequence[Draft], at: datetime) -> list[SealedMessage]:
    return [seal_message(box, session_id, draft, stated(draft), 0, at) for draft in drafts]


def _box(guest: Guest, session_id: UUID) -> Box | None:
    """Return the box that the guest's token makes for a session, the right one or not; None for what is no token."""
    token = guest.session_token
    return anonymous_box(token, session_id) if _TOKEN.fullmatch(token) else None


def _opens(box: Box, session_id: UUID, body: bytes | None) -> bool:
    if body is None:
        return False
    try:
        box.open(body, _place(session_id))
    except SealError:
        return False
    return True


def _place(session_id: UUID) -> Place:
    return Place("anonymous", "body", session_id)


def _record(box: Box, session_id: UUID, kept: Kept) -> Record:
    messages = [open_message(box, session_id, message) for message in kept.messages]
    return Record(_session(box, session_id, kept), messages)


def _session(box: Box, session_id: UUID, kept: Kept) -> Session:
    body = box.open_json(kept.body, _place(session_id))
    return Session(
        id=session_id,
        agent=None,
        external_id=None,
        title=body["title"],
        metadata=body["metadata"],
        window_size=kept.window_size,
        ttl_s=kept.ttl_s,
        next_seq=kept.next_seq,
        message_count=len(kept.messages),
        # Made when it is read, of all that has left the window: there is an end to how much that is.
        summary=Summary(),
        summary_seq=0,
        content_version=kept.epoch,
        version=kept.version,
        created_at=kept.created_at,
        last_active_at=kept.last_active_at,
        expires_at=kept.last_active_at + timedelta(seconds=kept.ttl_s),
        pinned=body.get("pinned", False),
    )
