"""The request of a context, the memory log and feedback on the wire. What a context looks like stands in
app/web/context.py.
"""

from typing import Annotated

from pydantic import Field

from app.context.comparing import Change, Difference, Replayed
from app.context.model import Feedback, LogLine, Opinion
from app.core.assembly import Decision, Reason
from app.core.ids import show
from app.core.updates import Update
from app.web.context import ContextWish, DecisionAnswer, decision_answer, usage_of
from app.web.moments import SnapshotAnswer, snapshot_fields
from app.web.wire import Answer, Moment, Request

MAX_MARKED_ITEMS = 200
MAX_ID_CHARS = 64
MAX_CORRECTION_CHARS = 4_000


class ContextRequest(ContextWish):
    """What to assemble, of which session if of any, and within how many tokens."""

    session_id: str | None = None


class UpdateAnswer(Answer):
    """A version of a memory that came of a message: `id` and `version` name it."""

    kind: str
    id: str
    version: int
    trust: str
    message_id: str


class ItemMarkAnswer(Answer):
    """Whether one memory that was in the prompt was useful."""

    kind: str
    id: str
    version: int
    useful: bool


class FeedbackAnswer(Answer):
    """What was said of a context last."""

    context_id: str
    version: int
    useful: bool
    items: list[ItemMarkAnswer]
    changed_at: Moment


class KeptFeedbackAnswer(FeedbackAnswer):
    """What was said of a context last, with the correction."""

    correction: str | None


class LogAnswer(Answer):
    """A line of the memory log.

    `query` and `summary` are null where a message that said the same was deleted since (`is_cut`).
    """

    context_id: str
    session_id: str | None
    created_at: Moment
    query: str | None
    agent: str | None
    include: list[str]
    snapshot: str
    budget_tokens: int
    tokens: int
    complete: bool
    missing: list[str]
    decisions: list[DecisionAnswer]
    revisions: dict[str, str] = Field(description="Of what found and packed: the embedder's and the router's.")
    prompt_sha256: str | None = Field(description="SHA-256 of the prompt in UTF-8, in hexadecimal digits.")
    summary: str | None = Field(description="What the prompt had of the session's summary, as it was shown.")
    is_cut: bool
    message_ids: list[str] = Field(description="The turn: what the user said, and the answer that names this context.")
    updates: list[UpdateAnswer] = Field(description="What came of these messages in user memory.")
    feedback: KeptFeedbackAnswer | None


class LogPageAnswer(Answer):
    """Lines of the memory log, newest first."""

    items: list[LogAnswer]
    next_cursor: str | None


class StandingAnswer(Answer):
    """How a memory stands in one of the two contexts."""

    version: int
    loaded: bool
    reason: Reason


class DifferenceAnswer(Answer):
    """A memory that stands otherwise now."""

    change: Change
    kind: str
    id: str
    then: StandingAnswer | None
    now: StandingAnswer | None


class ReplayAnswer(SnapshotAnswer):
    """What the call that made a context would load now, and what differs. `revisions` are those of then."""

    context_id: str
    complete: bool
    missing: list[str]
    usage: dict[str, int]
    decisions: list[DecisionAnswer]
    differences: list[DifferenceAnswer]
    same_prompt: bool
    revisions: dict[str, str]


class ItemMarkRequest(Request):
    """Whether one memory that was in the prompt was useful: by the id that the context names it with."""

    id: Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)]
    useful: Annotated[bool, Field(strict=True)]


class FeedbackRequest(Request):
    """Whether a context was useful, which of its items were, and what would have been right."""

    useful: Annotated[bool, Field(strict=True)]
    items: Annotated[list[ItemMarkRequest], Field(max_length=MAX_MARKED_ITEMS)] = Field(default_factory=list)
    correction: Annotated[str, Field(min_length=1, max_length=MAX_CORRECTION_CHARS)] | None = None


def opinion(body: FeedbackRequest) -> Opinion:
    """Return what a caller says of a context."""
    return Opinion(body.useful, {item.id: item.useful for item in body.items}, body.correction)


def feedback_answer(feedback: Feedback) -> FeedbackAnswer:
    """Show what was said, without the words of the correction: the answer is kept for retries."""
    return FeedbackAnswer(
        context_id=show("ctx", feedback.context_id),
        version=feedback.version,
        useful=feedback.useful,
        items=[ItemMarkAnswer.model_validate(item) for item in feedback.items],
        changed_at=feedback.changed_at,
    )


def log_answer(line: LogLine, *, with_summary: bool) -> LogAnswer:
    """Show a line of the memory log: the summary is what was said in the session, and not for every token."""
    entry = line.entry
    shown = entry.shown
    return LogAnswer(
        context_id=show("ctx", entry.id),
        session_id=show("ses", entry.session_id) if entry.session_id else None,
        created_at=entry.created_at,
        query=entry.query,
        agent=entry.call.agent if entry.call else None,
        include=list(entry.call.include) if entry.call else [],
        snapshot=line.snapshot,
        budget_tokens=entry.budget_tokens,
        tokens=entry.tokens,
        complete=not entry.missing,
        missing=list(entry.missing),
        decisions=[decision_answer(decision) for decision in entry.decisions],
        revisions=dict(entry.revisions),
        prompt_sha256=shown.prompt_sha256 if shown else None,
        summary=shown.summary if shown and with_summary else None,
        is_cut=entry.is_cut,
        message_ids=[show("msg", message_id) for message_id in line.message_ids],
        updates=[_update_answer(update) for update in line.updates],
        feedback=_kept(line.feedback) if line.feedback else None,
    )


def replay_answer(replayed: Replayed) -> ReplayAnswer:
    """Show what the same call would load now."""
    now = replayed.now
    return ReplayAnswer(
        context_id=show("ctx", replayed.entry.id),
        **snapshot_fields(now.snapshot),
        complete=not now.missing,
        missing=list(now.missing),
        usage=usage_of(now.packed),
        decisions=[decision_answer(decision) for decision in now.packed.decisions],
        differences=[_difference_answer(difference) for difference in replayed.differences],
        same_prompt=replayed.is_same_prompt,
        revisions=dict(replayed.entry.revisions),
    )


def _kept(feedback: Feedback) -> KeptFeedbackAnswer:
    return KeptFeedbackAnswer(**dict(feedback_answer(feedback)), correction=feedback.correction)


def _update_answer(update: Update) -> UpdateAnswer:
    return UpdateAnswer(
        kind=update.kind,
        id=update.id,
        version=update.version,
        trust=update.trust,
        message_id=show("msg", update.message_id),
    )


def _difference_answer(difference: Difference) -> DifferenceAnswer:
    named = difference.now or difference.then
    return DifferenceAnswer(
        change=difference.change,
        kind=named.kind if named else "",
        id=named.id if named else "",
        then=_standing(difference.then),
        now=_standing(difference.now),
    )


def _standing(decision: Decision | None) -> StandingAnswer | None:
    if decision is None:
        return None
    return StandingAnswer(version=decision.version, loaded=decision.loaded, reason=decision.reason)
