"""Sessions and messages as data, and the pure rule of what stands in a window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypedDict
from uuid import UUID

from app.core.assembly import Assembled, Reason
from app.core.errors import AppError
from app.core.idempotency import Answer
from app.core.recall import Fact
from app.core.superseding import Superseded
from app.core.writing import Update
from app.infra.summarisers.port import Summary

# However many messages its units have, a window has no more than this.
MAX_WINDOW_MESSAGES = 400
# A call and its result may stand apart (other messages come in between), but not further than this.
MAX_SPAN = 64

Json = Mapping[str, Any]  # Any: a client's own JSON, kept as it came


class Role(StrEnum):
    """Who wrote a message, as model providers name them."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Body:
    """What a message says. `name` is the speaker's."""

    content: str | None = None
    name: str | None = None
    tool_calls: Sequence[Json] = ()
    tool_call_id: str | None = None
    metadata: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as it is sent. Without `created_at` it was said when it is stored."""

    role: Role
    body: Body
    created_at: datetime | None = None
    context_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class SealedMessage:
    """A message as every store holds it."""

    id: UUID
    seq: int
    role: Role
    created_at: datetime
    stored_at: datetime
    context_id: UUID | None
    body: bytes
    constraints: bytes | None


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the record. `constraints` are its sentences that bind the answers to come, as they were said."""

    id: UUID
    session_id: UUID
    seq: int
    role: Role
    body: Body
    created_at: datetime
    stored_at: datetime
    context_id: UUID | None = None
    constraints: Sequence[str] = ()

    @property
    def text(self) -> str:
        """What is read, searched and summarised of it."""
        return self.body.content or ""


@dataclass(frozen=True, slots=True)
class Session:
    """A session without its messages. `summary_seq` is the last message that the kept summary covers."""

    id: UUID
    agent: str | None
    external_id: str | None
    title: str | None
    metadata: Json
    window_size: int
    ttl_s: int
    next_seq: int
    message_count: int
    summary: Summary
    summary_seq: int
    content_version: int
    version: int
    created_at: datetime
    last_active_at: datetime
    expires_at: datetime
    pinned: bool = False

    @property
    def last(self) -> int:
        """Return the sequence number of the last message that was appended, 0 before the first."""
        return self.next_seq - 1


@dataclass(frozen=True, slots=True)
class Opening:
    """What a caller wants of a session that is made; None is the service's default."""

    external_id: str | None = None
    title: str | None = None
    metadata: Json = field(default_factory=dict)
    window_size: int | None = None
    ttl_s: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A session as a reader sees it: the summary of all that left the window, under every constraint, and the window.

    How much of the summary was kept and how much was made while reading makes no difference.
    """

    session: Session
    summary: Summary
    window: Sequence[Message]


@dataclass(frozen=True, slots=True)
class Record:
    """A session with all of its messages, oldest first."""

    session: Session
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class Opened:
    """The session that was asked for, and whether it was made for that."""

    view: View
    is_new: bool
    # The only way into an anonymous session; None for a user's.
    token: str | None = field(default=None, repr=False)


class Changes(TypedDict, total=False):
    """What to change of a session; what isn't there stays."""

    title: str | None
    metadata: Json
    window_size: int
    ttl_s: int
    pinned: bool


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a message stands."""

    id: UUID
    seq: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Appended:
    """The messages of one append, in the order sent, and what they changed in the user's memory."""

    session_id: UUID
    messages: Sequence[Stored | SealedMessage]
    updates: Sequence[Update] = ()


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What came of an append: the messages as stored now, or the answer that was kept when they were; and the context
    that was asked for, or why there is none. None where none was asked for.
    """

    stored: Appended | Answer
    context: Assembled | AppError | None = None


@dataclass(frozen=True, slots=True)
class Reserved:
    """The sequence numbers that an append got, and the session as it was then."""

    first: int
    summary_seq: int
    content_version: int
    window_size: int
    ttl_s: int
    # The session's after this append: its ETag. Of several appends in one statement each has its own.
    version: int
    at: datetime


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Sessions, the newest first, and whether others follow."""

    items: Sequence[Session]
    more: bool


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Messages, the newest first, and whether others follow."""

    items: Sequence[Message]
    more: bool


@dataclass(frozen=True, slots=True)
class Recall:
    """What to look for in the record: what was said in [after, before), where these are given."""

    query: str
    limit: int
    session_id: UUID | None = None
    before: datetime | None = None
    after: datetime | None = None
    role: Role | None = None
    with_neighbours: bool = False
    # Facts belong to no session and have no role: they are looked for where neither is asked for.
    with_facts: bool = False
    # Whether hits are to tell what of them isn't current any more.
    with_superseded: bool = False
    # Until when (time.monotonic) the embedder is waited for, where that isn't as long as usual.
    waits_until_s: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found, and the ones beside it where they were asked for.

    `superseded` tells what of it and of those isn't current any more.
    """

    message: Message
    score: float
    before: Message | None = None
    after: Message | None = None
    superseded: Sequence[Superseded] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, best first. `pending` messages and facts are found by their words alone so far.

    `merged` are the messages with the facts among them, where these were asked for; they tell what isn't current.
    `lacks` says why all of it was found by words alone, where that is so.
    """

    hits: Sequence[Hit]
    pending: int
    merged: Sequence[Hit | Fact] = ()
    lacks: Reason | None = None


def units(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """Return the messages in what may not be torn apart: a tool call with its results, and what stands between them.

    Model providers refuse a call without its result, and a result without its call.
    """
    starts = list(range(len(messages)))
    calls: dict[str, int] = {}
    for place, message in enumerate(messages):
        calls.update(dict.fromkeys(call_ids(message), place))
        call = _call_of(messages, place, calls)
        if call is not None and place - call <= MAX_SPAN:
            for between in range(call, place + 1):
                starts[between] = min(starts[between], starts[call])
    borders = [place for place in range(len(messages)) if starts[place] == place]
    return [messages[start:end] for start, end in zip(borders, [*borders, len(messages)][1:], strict=True)]


def split(messages: Sequence[Message], window_size: int) -> tuple[Sequence[Message], Sequence[Message]]:
    """Return what has left the window, and the window: the newest `window_size` units.

    A call whose result is still to come holds the window open from there on, for MAX_SPAN messages at most.
    """
    grouped = units(messages)
    border, spare = 0, len(grouped) - window_size
    for unit in grouped[:-1]:
        left = len(messages) - border
        if left <= MAX_WINDOW_MESSAGES and (spare <= 0 or _waits(messages, border, len(unit))):
            break
        border += len(unit)
        spare -= 1
    # A last unit that is larger than a window is the one that is cut.
    border = max(border, len(messages) - MAX_WINDOW_MESSAGES)
    return messages[:border], messages[border:]


def _waits(messages: Sequence[Message], start: int, length: int) -> bool:
    """Say whether a call in the unit is near enough to the end for its result to come."""
    near = max(start, len(messages) - MAX_SPAN)
    return any(_is_open(messages, place) for place in range(near, start + length))


def call_ids(message: Message) -> list[str]:
    """Return the ids of the tool calls that a message makes, where they have any."""
    return [call["id"] for call in message.body.tool_calls if isinstance(call.get("id"), str)]


def _call_of(messages: Sequence[Message], place: int, calls: Mapping[str, int]) -> int | None:
    """Return the place of the call that the message at `place` is a result of; None where it is none."""
    message = messages[place]
    if message.role is not Role.TOOL:
        return None
    named = calls.get(message.body.tool_call_id or "")
    if named is not None or place == 0:
        return named
    # Some providers name no calls: then a result follows its call, or another result of it.
    before = messages[place - 1]
    return place - 1 if before.role is Role.TOOL or before.body.tool_calls else None


def _is_open(messages: Sequence[Message], place: int) -> bool:
    waiting = set(call_ids(messages[place]))
    if not waiting:
        return False
    answered = {message.body.tool_call_id for message in messages[place + 1 :] if message.role is Role.TOOL}
    return not waiting <= answered
