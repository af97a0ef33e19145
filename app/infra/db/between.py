"""What a kind of memory does with another kind's rows, in a transaction of its own: functions that wiring hands over.

Features don't import each other, and a row of one may be of no use, or say too much, without a row of the other.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction

# Keep a session from being deleted before the transaction ends, and return its version; None where there is none.
HoldSession = Callable[[Transaction, UUID], Awaitable[int | None]]
# Remove what was kept about a session: all of it, or what is older than a time.
ForgetTraces = Callable[[Transaction, UUID, datetime | None, AuditEntry], Awaitable[None]]
# Take the words of a message out of what was kept about its session: its text, and the time it was stored at.
ForgetWords = Callable[[Transaction, UUID, str, datetime, AuditEntry], Awaitable[None]]
# Return those of the ids that are contexts of the user's.
FindContexts = Callable[[Transaction, Collection[UUID]], Awaitable[Collection[UUID]]]
# Withdraw what was inferred from messages that are being deleted, and from nothing else.
LoseInferred = Callable[[Transaction, Sequence[UUID]], Awaitable[None]]
# Return the context that a message was made with, None where there is none.
ContextOf = Callable[[Transaction, UUID], Awaitable[UUID | None]]
# Return for contexts the messages of the turns that they were made for.
Turns = Callable[[Transaction, Collection[UUID]], Awaitable[Mapping[UUID, Sequence[UUID]]]]


@dataclass(frozen=True, slots=True)
class Traces:
    """What others keep of sessions: how it goes with a session or a message, and which contexts there are."""

    forget_session: ForgetTraces
    forget_words: ForgetWords
    find_contexts: FindContexts
    lose_inferred: LoseInferred


@dataclass(frozen=True, slots=True)
class Talk:
    """What contexts ask of sessions: to stay while a line about them is written, and which messages belong to it."""

    hold: HoldSession
    context_of: ContextOf
    turns: Turns
