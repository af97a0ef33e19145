"""The request of a context, and the memory log, on the wire. What a context looks like stands in app/web/context.py."""

from app.context.model import LogEntry
from app.core.ids import show
from app.web.context import ContextWish, DecisionAnswer, decision_answer
from app.web.wire import Answer, Moment


class ContextRequest(ContextWish):
    """What to assemble, of which session if of any, and within how many tokens."""

    session_id: str | None = None


class LogAnswer(Answer):
    """A line of the memory log."""

    context_id: str
    session_id: str | None
    created_at: Moment
    query: str
    budget_tokens: int
    tokens: int
    missing: list[str]
    decisions: list[DecisionAnswer]


class LogPageAnswer(Answer):
    """Lines of the memory log, newest first."""

    items: list[LogAnswer]
    next_cursor: str | None


def log_answer(entry: LogEntry) -> LogAnswer:
    """Show a line of the memory log."""
    return LogAnswer(
        context_id=show("ctx", entry.id),
        session_id=show("ses", entry.session_id) if entry.session_id else None,
        created_at=entry.created_at,
        query=entry.query,
        budget_tokens=entry.budget_tokens,
        tokens=entry.tokens,
        missing=list(entry.missing),
        decisions=[decision_answer(decision) for decision in entry.decisions],
    )
