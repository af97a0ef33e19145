"""What the tests of group commits send, and what they ask the record."""

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from uuid import UUID

from sqlalchemy import select

from app.core.errors import AppError
from app.core.idempotency import Answer, Attempt
from app.core.ids import uuid7
from app.core.scope import Scope
from app.infra.db.appends import Append, AppendKey, FreshMessage
from app.sessions.model import Appended, Body, Draft, Opening, Role
from app.sessions.service import Sessions
from app.sessions.tables import messages
from app.wiring import Wiring

WITHIN_S = 20
Hold = Callable[..., contextlib.AbstractAsyncContextManager[None]]

USER_ROW = "SELECT FROM users WHERE usr = $1 FOR UPDATE"
SESSION_ROW = "SELECT FROM sessions WHERE id = $1 FOR UPDATE"
KEY_ROW = """
INSERT INTO idempotency (tenant, usr, agent, route, key_tag, request_tag, expires_at)
VALUES ($1, $2, '', 'r', $3, '\\x00', now() + interval '1 hour')
"""


async def opened(sessions: Sessions, scope: Scope) -> UUID:
    """Make a session."""
    return (await sessions.open(scope, Opening())).view.session.id


def drafts(*texts: str) -> list[Draft]:
    """Return what a user said."""
    return [Draft(Role.USER, Body(text)) for text in texts]


def append_of(scope: Scope, session_id: UUID, key: str | None = None, role: str = "user", count: int = 1) -> Append:
    """Return an append as the database takes it. Nobody opens what is in it."""
    fresh = [FreshMessage(uuid7(), role, b"sealed", None, None, None, None) for _ in range(count)]
    return Append(scope, session_id, fresh, AppendKey("r", key.encode(), b"request") if key else None)


def attempt_of(key: str, body: bytes = b"1") -> Attempt:
    """Return an attempt whose answer shows the ids and numbers."""
    return Attempt(
        "POST append",
        key,
        hashlib.sha256(body).digest(),
        lambda appended: Answer(201, {}, shown(appended).encode()),
        lambda error: Answer(error.problem.status, {}, error.code.encode()),
    )


def shown(appended: Appended) -> str:
    """Return what an answer tells of an append."""
    return " ".join(f"{message.id}:{message.seq}:{message.created_at.isoformat()}" for message in appended.messages)


async def numbers(wiring: Wiring, scope: Scope, session_id: UUID) -> list[int]:
    """Return the numbers in the record."""
    async with wiring.db.read(scope) as tx:
        query = select(messages.c.seq).filter_by(usr=scope.usr, session_id=session_id)
        return [row.seq for row in await tx.rows(query.order_by(messages.c.seq))]


def codes(outcomes: Sequence[object]) -> list[object]:
    """Return fates, and the codes of errors."""
    return [one.code if isinstance(one, AppError) else getattr(one, "fate", type(one)) for one in outcomes]
