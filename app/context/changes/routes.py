"""HTTP for what changes have marked. It is included before the log itself, whose ids stand in the same place."""

from typing import Annotated

from fastapi import APIRouter, Depends

from app.context.changes.schemas import MarkPageAnswer, mark_page_answer
from app.context.changes.service import MarkLog
from app.core.scope import Scope
from app.web.auth import allow
from app.web.paging import Paging, Position, next_cursor, page_of
from app.web.provide import provided

router = APIRouter(prefix="/v1", tags=["context"])

Reader = Annotated[Scope, Depends(allow("context:read"))]
Marks = Annotated[MarkLog, Depends(provided(MarkLog))]
Page = Annotated[Paging, Depends(page_of)]


@router.get("/memory-log/changes")
async def list_marks(caller: Reader, marks: Marks, paging: Page) -> MarkPageAnswer:
    """List what changes of the profile and of preferences have marked: what held a value that they took out of force.

    It is noted after the change. Whatever is read is marked at once, and messages, which aren't listed here, as well.
    """
    place = paging.after
    after = (int(place["n"]), str(place["i"]), str(place["k"]), str(place["o"])) if place else None
    found = await marks.page(caller, after, paging.limit)
    following: Position | None = None
    if found.more:
        last = found.items[-1][0]
        following = {"n": last.change_number, "i": last.item, "k": last.newer.kind, "o": last.newer.id}
    return mark_page_answer(found, next_cursor(following))
