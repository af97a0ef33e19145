"""HTTP for operators: looking a user up, revoking tokens."""

from typing import Annotated

from fastapi import APIRouter, Depends

from app.access.schemas import LookupAnswer, LookupRequest, RevocationRequest
from app.access.service import Access
from app.core.ids import parse, show
from app.core.scope import Operator
from app.web.operators import operate
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(prefix="/v1/admin", tags=["access"])

Reader = Annotated[Operator, Depends(operate("admin:read"))]
Eraser = Annotated[Operator, Depends(operate("admin:erase"))]
Service = Annotated[Access, Depends(provided(Access))]


@router.post("/users/lookup", responses=problems("not_found"))
async def look_up(body: LookupRequest, operator: Reader, access: Service) -> LookupAnswer:
    """Find the reference of a user of the operator's tenant. A read: nothing is made where there is none."""
    return LookupAnswer(user_id=show("usr", await access.look_up(operator, body.sub)))


@router.post("/tokens/revoke", status_code=204, responses=problems("not_found"))
async def revoke(body: RevocationRequest, operator: Eraser, access: Service) -> None:
    """Revoke one token by its `jti`, or every token of a user issued up to a time. May be repeated."""
    if body.jti is not None:
        await access.revoke_token(operator, body.jti)
    elif body.user_id is not None and body.issued_before is not None:
        await access.revoke_issued_before(operator, parse("usr", body.user_id), body.issued_before)
