"""HTTP for the audit: users see and verify their own trail, operators their tenant's."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from app.audit.model import Filters, Page, Place
from app.audit.schemas import TrailAnswer, VerdictAnswer, VerifyRequest, trail_answer, verdict_answer
from app.audit.service import Trails
from app.core.ids import parse
from app.core.scope import Operator, Scope
from app.web.auth import allow
from app.web.operators import operate
from app.web.paging import Paging, Position, next_cursor, page_of
from app.web.problems import problems
from app.web.provide import provided
from app.web.wire import Moment

MAX_NAME_CHARS = 64

# What is asked for where no body is sent.
FROM_THE_FIRST = VerifyRequest()

router = APIRouter(tags=["audit"])


async def filters_of(
    past: Annotated[Moment | None, Query(alias="from", description="Entries after this time.")] = None,
    until: Annotated[Moment | None, Query(alias="to", description="Entries up to this time.")] = None,
    action: Annotated[str | None, Query(max_length=MAX_NAME_CHARS, description="`read`, `write`...")] = None,
    kind: Annotated[str | None, Query(max_length=MAX_NAME_CHARS, description="`session`, `document`...")] = None,
) -> Filters:
    """Return which entries are asked for: the dependency of both lists."""
    return Filters(past, until, action, kind)


Reader = Annotated[Scope, Depends(allow("audit:read"))]
Auditor = Annotated[Operator, Depends(operate("admin:audit"))]
Service = Annotated[Trails, Depends(provided(Trails))]
Which = Annotated[Filters, Depends(filters_of)]
Paged = Annotated[Paging, Depends(page_of)]


@router.get("/v1/audit")
async def list_own(caller: Reader, trails: Service, filters: Which, paging: Paged) -> TrailAnswer:
    """List what was done with the user's memory: by them, by operators, by the service; refused attempts of theirs too.

    An operator's reason is shown.
    """
    page = await trails.own(caller, filters, _place(paging), paging.limit)
    return trail_answer(page, next_cursor(_position(page)))


@router.post("/v1/audit/verify")
async def verify_own(caller: Reader, trails: Service, body: VerifyRequest = FROM_THE_FIRST) -> VerdictAnswer:
    """Recompute the chain that the user's entries are sealed in: whether any was changed, removed or put in since."""
    return verdict_answer(await trails.verify_own(caller, body.from_batch), own=True)


@router.get("/v1/admin/audit", responses=problems("not_found"))
async def list_tenants(
    operator: Auditor,
    trails: Service,
    filters: Which,
    paging: Paged,
    user_id: Annotated[str | None, Query(description="Entries of this user alone.")] = None,
) -> TrailAnswer:
    """List what was done in the tenant, newest first."""
    asked = replace(filters, usr=parse("usr", user_id) if user_id is not None else None)
    page = await trails.of_tenant(operator, asked, _place(paging), paging.limit)
    return trail_answer(page, next_cursor(_position(page)))


@router.post("/v1/admin/audit/verify")
async def verify_tenants(operator: Auditor, trails: Service, body: VerifyRequest = FROM_THE_FIRST) -> VerdictAnswer:
    """Recompute the tenant's chain: whether any entry was changed, removed or put in since it was sealed."""
    return verdict_answer(await trails.verify_tenant(operator, body.from_batch), own=False)


def _place(paging: Paging) -> Place | None:
    return Place(int(paging.after["xid"]), int(paging.after["id"])) if paging.after else None


def _position(page: Page) -> Position | None:
    if not page.more:
        return None
    last = page.entries[-1].place
    return {"xid": last.xid, "id": last.id}
