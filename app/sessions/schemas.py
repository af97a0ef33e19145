"""Sessions and messages on the wire."""

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, JsonValue, model_validator

from app.core.assembly import Assembled
from app.core.errors import AppError
from app.core.ids import parse, show
from app.core.superseding import Outdated
from app.core.withholding import withheld_json
from app.core.writing import Update
from app.sessions.model import (
    Appended,
    Body,
    Changes,
    Draft,
    Exchanged,
    Message,
    Opened,
    Opening,
    Role,
    Session,
    View,
)
from app.sessions.summary import text_of
from app.web.context import ContextAnswer, ContextWish, context_answer
from app.web.evidence import EvidenceAnswer, evidence_answer
from app.web.problems import Problem, problem_of
from app.web.superseded import SupersededAnswer, superseded_answers
from app.web.wire import Answer, JsonObject, Moment, Request, wrong

MAX_EXTERNAL_ID_CHARS = 256
MAX_TITLE_CHARS = 200
MAX_NAME_CHARS = 256
MAX_CONTENT_CHARS = 100_000
MAX_CALLS = 128
MAX_CALL_BYTES = 100_000
MAX_BATCH_MESSAGES = 200
MAX_WINDOW = 200
MIN_TTL_S = 60
MAX_TTL_S = 366 * 24 * 3600
# Clocks differ: a message of so little in the future was said now.
CLOCK_SKEW = timedelta(minutes=5)

Window = Annotated[int, Field(ge=1, le=MAX_WINDOW, strict=True)]
Ttl = Annotated[int, Field(ge=MIN_TTL_S, le=MAX_TTL_S, strict=True)]
# A mark of the user's, to find a session by. Where the record is kept for a time only, what is pinned is kept whole.
Pinned = Annotated[bool, Field(strict=True)]
Title = Annotated[str, Field(max_length=MAX_TITLE_CHARS)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]


def _within_bounds(call: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        size = len(json.dumps(call, ensure_ascii=False, allow_nan=False).encode())
    except ValueError:
        raise wrong("must hold only finite numbers") from None
    if size > MAX_CALL_BYTES:
        raise wrong(f"must not be larger than {MAX_CALL_BYTES} bytes")
    return call


def _not_to_come(moment: datetime) -> datetime:
    if moment > datetime.now(UTC) + CLOCK_SKEW:
        raise wrong("must not lie in the future")
    return moment


# A call as the model's provider writes it. Its `id`, where it has one, pairs it with its result.
ToolCall = Annotated[dict[str, JsonValue], AfterValidator(_within_bounds), AfterValidator(withheld_json)]


class SessionRequest(Request):
    """A session to be made, or found by its `external_id`: a framework's own id of the thread."""

    identifiers = frozenset({"external_id"})
    external_id: Annotated[str, Field(min_length=1, max_length=MAX_EXTERNAL_ID_CHARS)] | None = None
    title: Title | None = None
    ttl_seconds: Ttl | None = None
    window: Window | None = None
    metadata: JsonObject = Field(default_factory=dict)


class SessionPatch(Request):
    """What to change; what isn't named stays. A title of null is none."""

    title: Title | None = None
    # Never null and without a default: the factories stand for "not named" and show nowhere.
    ttl_seconds: Ttl = Field(default_factory=int)
    window: Window = Field(default_factory=int)
    metadata: JsonObject = Field(default_factory=dict)
    pinned: Pinned = Field(default_factory=bool)

    @model_validator(mode="after")
    def _names_something(self) -> "SessionPatch":
        if not self.model_fields_set:
            raise wrong("must name something to change")
        return self


class MessageRequest(Request):
    """A message as model providers have it. `name` is the speaker's; `created_at` may lie in the past.

    Where a provider writes blocks: texts make the `content`, each `tool_use` is one of the `tool_calls` as it is, and
    each `tool_result` is a message of the role tool whose `tool_call_id` is the id of its call.
    """

    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(max_length=MAX_CONTENT_CHARS)] | None = None
    name: Name | None = None
    tool_calls: Annotated[list[ToolCall], Field(max_length=MAX_CALLS)] | None = None
    tool_call_id: Name | None = None
    metadata: JsonObject = Field(default_factory=dict)
    created_at: Annotated[Moment, AfterValidator(_not_to_come)] | None = None
    context_id: Annotated[str, Field(pattern=r"^ctx_[0-9a-f]{32}$")] | None = None

    @model_validator(mode="after")
    def _fits_its_role(self) -> "MessageRequest":
        if self.tool_calls and self.role != "assistant":
            raise wrong("must have the role assistant to make tool calls")
        if self.tool_call_id is not None and self.role != "tool":
            raise wrong("must have the role tool to answer a tool call")
        return self


class AppendRequest(Request):
    """Messages to append, all of them or none, in this order."""

    messages: Annotated[list[MessageRequest], Field(min_length=1, max_length=MAX_BATCH_MESSAGES)]
    context: Annotated[
        ContextWish | None,
        Field(description="As in `POST /v1/context`, for this session: one request a turn. Needs `context:read` too."),
    ] = None


class SessionItem(Answer):
    """A session without what is made of its messages."""

    id: str
    external_id: str | None
    title: str | None
    agent: str | None
    metadata: dict[str, JsonValue]
    window: int
    ttl_seconds: int
    message_count: int
    pinned: bool
    version: int
    created_at: Moment
    last_active_at: Moment
    expires_at: Moment


class SessionAnswer(SessionItem):
    """A session. Its summary begins with the constraints that the user stated, in their words, however long ago."""

    summary: str
    constraints: list[str]
    # How many of the oldest had to go: a hundred are kept.
    constraints_omitted: int


class ReadSessionAnswer(SessionAnswer):
    """A session that was read. `superseded`: what has changed since, of values that its title and summary hold."""

    superseded: list[SupersededAnswer]


class OpenedAnswer(SessionAnswer):
    """A session that was opened. `session_token` is told this once, of an anonymous session alone."""

    session_token: Annotated[str | None, Field(description="To be sent as `Cairn-Session-Token`.")] = None


class SessionPageAnswer(Answer):
    """Sessions, the newest first."""

    items: list[SessionItem]
    next_cursor: str | None


class MessageAnswer(Answer):
    """A message of the record."""

    id: str
    session_id: str
    seq: int
    role: str
    content: str | None
    name: str | None
    tool_calls: list[dict[str, JsonValue]] | None
    tool_call_id: str | None
    metadata: dict[str, JsonValue]
    created_at: Moment
    stored_at: Moment
    context_id: str | None


class ReadMessageAnswer(MessageAnswer):
    """A message that was read. `superseded`: what has changed since, of values that it holds."""

    superseded: list[SupersededAnswer]


class MessagePageAnswer(Answer):
    """Messages, the newest first."""

    items: list[ReadMessageAnswer]
    next_cursor: str | None


class AppendedMessage(Answer):
    """Where an appended message stands."""

    id: str
    seq: int
    created_at: Moment


class MemoryUpdate(Answer):
    """What a message states of its author, and what became of it.

    `applied`: it holds now, as a preference, in the profile or, under the key `other`, as a fact. `candidate`: it is
    concluded only, and waits for the user's word among the candidates of its kind; of the kind `memory` it tells that
    the message is about the user. `refused`: it isn't kept, for its category is sensitive or the catalogue has it so.
    """

    kind: str = Field(examples=["preference", "profile", "memory", "withdraw"])
    key: str | None
    value: JsonValue
    trust: str = Field(examples=["explicit", "inferred"])
    state: str = Field(examples=["applied", "candidate", "refused"])
    confidence: float
    evidence: EvidenceAnswer | None


class AppendAnswer(Answer):
    """The appended messages, in the order sent, and the context that was asked for: it has read them."""

    messages: list[AppendedMessage]
    memory_updates: list[MemoryUpdate]
    context: Annotated[
        ContextAnswer | None,
        Field(description="As `POST /v1/context` answers; null where none was asked for, or with `context_problem`."),
    ] = None
    context_problem: Annotated[
        Problem | None,
        Field(
            description="Why there is no context. The messages are stored all the same: don't append them again, ask"
            " `POST /v1/context`.",
        ),
    ] = None


def opening(body: SessionRequest) -> Opening:
    """Return what a caller wants of a session."""
    return Opening(body.external_id, body.title, body.metadata, body.window, body.ttl_seconds)


def changes(body: SessionPatch) -> Changes:
    """Return what a caller wants to change."""
    names = {"window": "window_size", "ttl_seconds": "ttl_s"}
    return cast("Changes", {names.get(field, field): getattr(body, field) for field in body.model_fields_set})


def drafts(body: AppendRequest) -> list[Draft]:
    """Return the messages that a caller sends."""
    return [
        Draft(
            role=Role(message.role),
            body=Body(
                content=message.content,
                name=message.name,
                tool_calls=message.tool_calls or (),
                tool_call_id=message.tool_call_id,
                metadata=message.metadata,
            ),
            created_at=message.created_at,
            context_id=parse("ctx", message.context_id) if message.context_id else None,
        )
        for message in body.messages
    ]


def session_item(session: Session) -> SessionItem:
    """Show a session in a list."""
    return SessionItem(**_session_fields(session))


def session_answer(view: View) -> SessionAnswer:
    """Show a session with its summary."""
    return SessionAnswer(
        **_session_fields(view.session),
        summary=text_of(view.summary),
        constraints=list(view.summary.constraints),
        constraints_omitted=view.summary.omitted,
    )


def opened_answer(opened: Opened) -> SessionAnswer:
    """Show a session that was opened, with its token where it has one."""
    shown = session_answer(opened.view)
    return OpenedAnswer(**dict(shown), session_token=opened.token) if opened.token else shown


def message_answer(message: Message) -> MessageAnswer:
    """Show a message."""
    body = message.body
    return MessageAnswer(
        id=show("msg", message.id),
        session_id=show("ses", message.session_id),
        seq=message.seq,
        role=message.role.value,
        content=body.content,
        name=body.name,
        tool_calls=[dict(call) for call in body.tool_calls] or None,
        tool_call_id=body.tool_call_id,
        metadata=dict(body.metadata),
        created_at=message.created_at,
        stored_at=message.stored_at,
        context_id=show("ctx", message.context_id) if message.context_id else None,
    )


def read_session_answer(view: View, outdated: Outdated) -> ReadSessionAnswer:
    """Show a session that was read, with what isn't current of it."""
    summary = view.summary
    found = outdated.of(view.session.title, text_of(summary), *summary.constraints)
    return ReadSessionAnswer(**dict(session_answer(view)), superseded=superseded_answers(found))


def read_message_answer(message: Message, outdated: Outdated) -> ReadMessageAnswer:
    """Show a message that was read, with what isn't current of it."""
    found = outdated.of(message.text)
    return ReadMessageAnswer(**dict(message_answer(message)), superseded=superseded_answers(found))


def append_answer(appended: Appended) -> AppendAnswer:
    """Show where messages stand now."""
    messages = appended.messages
    return AppendAnswer(
        messages=[
            AppendedMessage(id=show("msg", message.id), seq=message.seq, created_at=message.created_at)
            for message in messages
        ],
        memory_updates=[_update(update) for update in appended.updates],
    )


def _update(update: Update) -> MemoryUpdate:
    finding = update.finding
    return MemoryUpdate(
        kind=finding.kind,
        key=finding.key,
        value=cast("JsonValue", finding.value),
        trust=finding.trust,
        state=update.fate,
        confidence=finding.confidence,
        evidence=evidence_answer(update.evidence),
    )


def exchange_answer(exchanged: Exchanged) -> AppendAnswer:
    """Show where messages stand, and what came of the context that was asked for."""
    stored, context = exchanged.stored, exchanged.context
    shown = append_answer(stored) if isinstance(stored, Appended) else AppendAnswer.model_validate_json(stored.body)
    return shown.model_copy(
        update={
            "context": context_answer(context) if isinstance(context, Assembled) else None,
            "context_problem": problem_of(context) if isinstance(context, AppError) else None,
        },
    )


def _session_fields(session: Session) -> dict[str, Any]:
    return {
        "id": show("ses", session.id),
        "external_id": session.external_id,
        "title": session.title,
        "agent": session.agent,
        "metadata": dict(session.metadata),
        "window": session.window_size,
        "ttl_seconds": session.ttl_s,
        "message_count": session.message_count,
        "pinned": session.pinned,
        "version": session.version,
        "created_at": session.created_at,
        "last_active_at": session.last_active_at,
        "expires_at": session.expires_at,
    }
