"""HTTP for usage: a user's own by day, and a tenant's for its operators."""

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from app.core.errors import invalid
from app.core.scope import Operator, Scope
from app.usage.model import Span
from app.usage.schemas import TenantUsageAnswer, UsageAnswer, tenant_answer, usage_answer
from app.usage.service import Usage
from app.web.auth import allow
from app.web.operators import operate
from app.web.paging import Paging, Position, next_cursor, page_of
from app.web.provide import provided

MAX_AGENT_CHARS = 128
MAX_KIND_CHARS = 32

router = APIRouter(prefix="/v1", tags=["usage"])

Reader = Annotated[Scope, Depends(allow("context:read"))]
Operating = Annotated[Operator, Depends(operate("admin:read"))]
Service = Annotated[Usage, Depends(provided(Usage))]
Page = Annotated[Paging, Depends(page_of)]
First = Annotated[date | None, Query(alias="from", description="The first day, in UTC.")]
Last = Annotated[date | None, Query(alias="to", description="The last day, in UTC.")]


@router.get("/usage")
async def read_usage(
    caller: Reader,
    usage: Service,
    paging: Page,
    first: First = None,
    last: Last = None,
    agent: Annotated[str | None, Query(max_length=MAX_AGENT_CHARS, description="One agent's calls.")] = None,
    kind: Annotated[str | None, Query(max_length=MAX_KIND_CHARS, description="One kind of memory.")] = None,
) -> UsageAnswer:
    """Read what each kind of memory cost the user's contexts, by day and agent, and how often it was marked useful."""
    span = _span(first, last, agent, kind)
    after = paging.after
    position = after and (date.fromisoformat(str(after["day"])), str(after["agent"]), str(after["kind"]))
    page = await usage.read(caller, span, position or None, paging.limit)
    following: Position | None = None
    if len(page.items) == paging.limit:
        last_item = page.items[-1]
        following = {"day": last_item.day.isoformat(), "agent": last_item.agent or "", "kind": last_item.kind}
    return usage_answer(page, next_cursor(following))


@router.get("/admin/usage")
async def read_tenant_usage(
    operator: Operating, usage: Service, first: First = None, last: Last = None
) -> TenantUsageAnswer:
    """Read what each kind of memory cost and earned, over all users of the operator's tenant."""
    return tenant_answer(await usage.of_tenant(operator, _span(first, last, None, None)))


def _span(first: date | None, last: date | None, agent: str | None, kind: str | None) -> Span:
    if first is not None and last is not None and last < first:
        raise invalid("to", "lies before from")
    return Span(first, last, agent, kind)
