"""Appends of many users as one statement: what goes in, item by item, and what comes back."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.idempotency import KEEP_S
from app.core.scope import Scope

# Of a message, beside its content: ids, times and headers of what is sealed.
MESSAGE_OVERHEAD_BYTES: Final = 200
_ARGUMENTS: Final = 21
APPEND: Final = f"SELECT * FROM append_messages({', '.join(f'${n}' for n in range(1, _ARGUMENTS + 1))})"  # noqa: S608 - numbers


class Fate(StrEnum):
    """What became of an append."""

    STORED = "stored"
    # The key had its effect already.
    KEPT = "kept"
    NOT_FOUND = "not_found"
    # The user or the session is held by somebody else, or the user is no more.
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class FreshMessage:
    """A message as it is stored, but for its number and, without `created_at`, its time: those the database gives.

    `index_body` is its row of the lexical index; None for one that says nothing.
    """

    id: UUID
    role: str
    body: bytes
    constraints: bytes | None
    created_at: datetime | None
    context_id: UUID | None
    index_body: bytes | None


@dataclass(frozen=True, slots=True)
class AppendKey:
    """A client's idempotency key, and a tag of the request that it stands for."""

    route: str
    tag: bytes
    request_tag: bytes


@dataclass(frozen=True, slots=True)
class Append:
    """Messages for one session of one user, to be stored all or none."""

    scope: Scope
    session_id: UUID
    messages: Sequence[FreshMessage]
    key: AppendKey | None = None
    size_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        """Count what it takes."""
        object.__setattr__(self, "size_bytes", sum(_size(message) for message in self.messages))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one append. Where it is stored: its first number, its time, and the session as it was then.

    Where its key was used: the tag of that request, and its answer, or the numbers, ids and times it is made of.
    """

    fate: Fate
    first: int = 0
    at: datetime | None = None
    summary_seq: int = 0
    content_version: int = 0
    window_size: int = 0
    ttl_s: int = 0
    version: int = 0
    request_tag: bytes = b""
    answer_sealed: bytes | None = None
    message_ids: Sequence[UUID] = ()
    message_times: Sequence[datetime] = ()


@dataclass(frozen=True, slots=True)
class Owed:
    """The jobs that appends owe: one that indexes, once for a user; and, where a model summarises, one for a session
    whose messages have left the window by another `slack` of them.
    """

    index: str
    index_once: str
    summary: str | None = None
    summary_lane: str | None = None
    slack: int | None = None


def arguments(appends: Sequence[Append], owed: Owed, *, waits: bool) -> list[Any]:
    """Return what the statement is given: each column as an array, so that its length doesn't depend on the batch."""
    scopes = [append.scope for append in appends]
    keys = [append.key for append in appends]
    messages = [(item, message) for item, append in enumerate(appends, 1) for message in append.messages]
    later = {
        "index": owed.index,
        "index_once": owed.index_once,
        "summary": owed.summary,
        "summary_lane": owed.summary_lane,
        "slack": owed.slack,
    }
    return [
        waits,
        KEEP_S,
        json.dumps(later),
        [scope.tenant for scope in scopes],
        [scope.usr for scope in scopes],
        [scope.agent for scope in scopes],
        [scope.actor.value for scope in scopes],
        [scope.request_id for scope in scopes],
        [scope.address for scope in scopes],
        [append.session_id for append in appends],
        [key and key.route for key in keys],
        [key and key.tag for key in keys],
        [key and key.request_tag for key in keys],
        [item for item, _ in messages],
        [message.id for _, message in messages],
        [message.role for _, message in messages],
        [message.body for _, message in messages],
        [message.constraints for _, message in messages],
        [message.created_at for _, message in messages],
        [message.context_id for _, message in messages],
        [message.index_body for _, message in messages],
    ]


def outcome(row: Any) -> Outcome:  # noqa: ANN401 - a record of the driver's, which is not typed
    """Return what a row of the answer says."""
    fate = Fate(row["fate"])
    if fate is Fate.STORED:
        return Outcome(
            fate,
            row["first_seq"],
            row["stored_at"],
            row["summary_seq"],
            row["content_version"],
            row["window_size"],
            row["ttl_s"],
            row["version"],
        )
    if fate is Fate.KEPT:
        return Outcome(
            fate,
            row["kept_first"] or 0,
            request_tag=row["kept_digest"],
            answer_sealed=row["kept_answer"],
            message_ids=row["kept_ids"] or (),
            message_times=row["kept_times"] or (),
        )
    return Outcome(fate)


def _size(message: FreshMessage) -> int:
    sealed = (message.body, message.constraints or b"", message.index_body or b"")
    return MESSAGE_OVERHEAD_BYTES + sum(map(len, sealed))


async def appended(connection: AsyncConnection, appends: Sequence[Append], owed: Owed, *, waits: bool) -> list[Outcome]:
    """Ask the driver itself: a hundred arrays' values aren't worth a look at each, and one statement is one commit."""
    raw = await connection.get_raw_connection()
    driver = raw.driver_connection
    if driver is None:
        raise TypeError("a connection has a driver")
    try:
        return [outcome(row) for row in await driver.fetch(APPEND, *arguments(appends, owed, waits=waits))]
    except BaseException:
        # SQLAlchemy knows nothing of it: it would give this connection to the next one.
        if driver.is_closed():
            await connection.invalidate()
        raise
