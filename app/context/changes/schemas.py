"""What changes have marked, on the wire."""

from pydantic import Field

from app.context.changes.model import MarkPage
from app.web.context import NewerAnswer
from app.web.wire import Answer, Moment


class MarkAnswer(Answer):
    """That a change took a value out of force which an item holds. `snapshot` is user memory after that change."""

    id: str = Field(description="Of a document, a session (its title or summary), a fact, a candidate.")
    superseded: NewerAnswer
    snapshot: str
    noted_at: Moment


class MarkPageAnswer(Answer):
    """What changes have marked, the last change first."""

    items: list[MarkAnswer]
    next_cursor: str | None


def mark_page_answer(found: MarkPage, next_cursor: str | None) -> MarkPageAnswer:
    """Show what changes have marked."""
    items = [
        MarkAnswer(
            id=mark.item,
            superseded=NewerAnswer(kind=mark.newer.kind, id=mark.newer.id, version=mark.newer.version),
            snapshot=snapshot,
            noted_at=mark.noted_at,
        )
        for mark, snapshot in found.items
        if mark.noted_at is not None
    ]
    return MarkPageAnswer(items=items, next_cursor=next_cursor)
