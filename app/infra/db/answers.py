"""The answers that are kept for retries: a row for each idempotency key, sealed, in the transaction of its effect."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import literal, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.errors import AppError
from app.core.idempotency import KEEP_S, Answer, Attempt, Replayed
from app.core.scope import Scope
from app.infra.crypto.box import Box, Place
from app.infra.db.tables import idempotency

HTTP_SERVER_ERROR = 500
_NOT_KEPT = frozenset(
    {"in_progress", "idempotency_mismatch", "rate_limited", "erasing", "erased", "processing_stopped"}
)


def request_tag(box: Box, attempt: Attempt) -> bytes:
    """Return what is kept to know the same request by."""
    return box.tag("idempotency-request", attempt.request.hex())


def key_of(scope: Scope, box: Box, attempt: Attempt) -> dict[str, Any]:
    """Return the columns that a client's key is found by: another agent's or route's is another key."""
    return {
        "usr": scope.usr,
        "agent": scope.agent or "",
        "route": attempt.route,
        "key_tag": box.tag("idempotency", attempt.key),
    }


async def claim(connection: AsyncConnection, scope: Scope, box: Box, attempt: Attempt) -> None:
    """Claim the client's idempotency key. Raises Replayed where it had its effect, `idempotency_mismatch` where it
    named another request. A twin that is still running is waited for, up to the lock time-out.
    """
    key = key_of(scope, box, attempt)
    now = datetime.now(UTC)
    fresh = {
        "request_tag": request_tag(box, attempt),
        "answer_sealed": None,
        "first_seq": None,
        "message_ids": None,
        "message_times": None,
        "expires_at": now + timedelta(seconds=KEEP_S),
    }
    claimed = (
        upsert(idempotency)
        .values(tenant=scope.tenant, **key, **fresh)
        .on_conflict_do_update(
            index_elements=["usr", "agent", "route", "key_tag"],
            set_=fresh,
            where=idempotency.c.expires_at < now,
        )
        .returning(literal(1))
    )
    if (await connection.execute(claimed)).first():
        return
    kept = (await connection.execute(select(idempotency).filter_by(**key))).one_or_none()
    if kept is None:
        raise AppError("in_progress", headers={"Retry-After": "1"})
    if kept.request_tag != fresh["request_tag"]:
        raise AppError("idempotency_mismatch")
    raise Replayed(opened(box, kept.answer_sealed))


def opened(box: Box, sealed: bytes | None) -> Answer:
    """Return the answer that was kept. Raises `not_found` where it is forgotten: it had its effect, and what it made
    was deleted. A late retry mustn't bring it back.
    """
    if sealed is None:
        raise AppError("not_found")
    answer = box.open_json(sealed, _place(box.usr))
    return Answer(answer["status"], answer["headers"], answer["body"].encode())


async def keep(
    connection: AsyncConnection,
    scope: Scope,
    box: Box,
    attempt: Attempt,
    answer: Answer,
    shown: Sequence[UUID] = (),
) -> None:
    """Keep an answer to the attempt whose key this transaction has claimed. `shown` are the items that it shows."""
    sealed = box.seal_json(
        {"status": answer.status, "headers": answer.headers, "body": answer.body.decode()},
        _place(scope.usr),
    )
    await connection.execute(
        update(idempotency).filter_by(**key_of(scope, box, attempt)).values(answer_sealed=sealed, item_ids=list(shown)),
    )


def _place(usr: UUID) -> Place:
    return Place("idempotency", "answer_sealed", usr)


def is_kept(error: AppError) -> bool:
    """Say whether a refusal is kept as the answer: not what may come out otherwise at the next try."""
    return error.problem.status < HTTP_SERVER_ERROR and error.code not in _NOT_KEPT
