"""An append as the database takes it, and what comes back: all is sealed before the numbers and the time are known."""

import asyncio
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from app.core.errors import AppError
from app.core.idempotency import Answer, Attempt
from app.core.ids import uuid7
from app.core.scope import Scope
from app.core.writing import Update
from app.infra.crypto.box import Box
from app.infra.db import answers
from app.infra.db.appends import Append, AppendKey, FreshMessage, Outcome, Owed
from app.infra.segments.store import SegmentStore
from app.sessions.indexing import INDEX_JOB, ONCE, Words, fresh_item, words_of
from app.sessions.model import Appended, Draft, Message, Reserved, Role, SealedMessage, Stored
from app.sessions.sealing import seal_body, seal_constraints
from app.sessions.summarising import LANE, SUMMARY_JOB
from app.sessions.summary import stated
from app.sessions.view import SLACK

# Reading this much text takes a millisecond or two: more is read beside the event loop.
INLINE_CHARS: Final = 5_000

Read = tuple[Sequence[str], Words | None]


def owed(*, by_model: bool) -> Owed:
    """Return the jobs that appends owe; `by_model`: a model writes the summaries."""
    if by_model:
        return Owed(INDEX_JOB, ONCE, SUMMARY_JOB, LANE, SLACK)
    return Owed(INDEX_JOB, ONCE)


async def prepare(
    scope: Scope,
    box: Box,
    session_id: UUID,
    drafts: Sequence[Draft],
    segments: SegmentStore,
    attempt: Attempt | None,
) -> Append:
    """Return an append of these drafts: sealed, and ready for the index."""

    def prepared() -> list[FreshMessage]:
        return [_fresh(box, session_id, draft, segments) for draft in drafts]

    fresh = prepared() if _is_short(drafts) else await asyncio.to_thread(prepared)
    key = None
    if attempt is not None:
        tag = answers.key_of(scope, box, attempt)["key_tag"]
        key = AppendKey(attempt.route, tag, answers.request_tag(box, attempt))
    return Append(scope, session_id, fresh, key)


async def read(box: Box, drafts: Sequence[Draft | Message]) -> list[Read]:
    """Return what each message binds to, and its words for the index."""

    def read_all() -> list[Read]:
        return [(stated(draft), words_of(box, draft)) for draft in drafts]

    return read_all() if _is_short(drafts) else await asyncio.to_thread(read_all)


def reserved(outcome: Outcome) -> Reserved:
    """Return what the append got of its session."""
    if outcome.at is None:
        raise TypeError("it isn't stored")
    return Reserved(
        outcome.first,
        outcome.summary_seq,
        outcome.content_version,
        outcome.window_size,
        outcome.ttl_s,
        outcome.version,
        outcome.at,
    )


def sealed(append: Append, reserved: Reserved) -> list[SealedMessage]:
    """Return the messages as they are stored now."""
    return [
        SealedMessage(
            id=message.id,
            seq=seq,
            role=Role(message.role),
            created_at=message.created_at or reserved.at,
            stored_at=reserved.at,
            context_id=message.context_id,
            body=message.body,
            constraints=message.constraints,
        )
        for seq, message in enumerate(append.messages, reserved.first)
    ]


def require_same(box: Box, attempt: Attempt, outcome: Outcome) -> None:
    """Raise `idempotency_mismatch` where the key had its effect for another request."""
    if outcome.request_tag != answers.request_tag(box, attempt):
        raise AppError("idempotency_mismatch")


def kept_answer(
    box: Box,
    session_id: UUID,
    attempt: Attempt,
    outcome: Outcome,
    updates: Sequence[Update],
) -> Answer:
    """Return the answer to a key that had its effect, and what became of what was said. Raises `not_found` (api.md)."""
    if not outcome.message_ids:
        return answers.opened(box, outcome.answer_sealed)
    numbered = enumerate(zip(outcome.message_ids, outcome.message_times, strict=True), outcome.first)
    stored = [Stored(message_id, seq, at) for seq, (message_id, at) in numbered]
    return attempt.render(Appended(session_id, stored, updates))


def _fresh(box: Box, session_id: UUID, draft: Draft, segments: SegmentStore) -> FreshMessage:
    message_id, words = uuid7(), words_of(box, draft)
    return FreshMessage(
        id=message_id,
        role=draft.role.value,
        body=seal_body(box, message_id, draft.body),
        constraints=seal_constraints(box, message_id, stated(draft)),
        created_at=draft.created_at,
        context_id=draft.context_id,
        index_body=segments.sealed(box, fresh_item(session_id, message_id, draft.role, words)) if words else None,
    )


def _is_short(drafts: Sequence[Draft | Message]) -> bool:
    return sum(len(draft.body.content or "") for draft in drafts) <= INLINE_CHARS
