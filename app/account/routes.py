"""HTTP for what there is of the caller."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from app.account.schemas import AccountAnswer, account_answer
from app.account.service import Accounts
from app.core.scope import Scope
from app.web.auth import allow, may_also
from app.web.provide import provided

router = APIRouter(prefix="/v1/users", tags=["account"])

Reader = Annotated[Scope, Depends(allow("memories:read"))]


@router.get("/me")
async def read_account(
    request: Request, caller: Reader, accounts: Annotated[Accounts, Depends(provided(Accounts))]
) -> AccountAnswer:
    """Tell which kinds of memory are kept of the caller, how many items of each, and how much of each quota is used."""
    return account_answer(await accounts.read(caller, partial(may_also, request)))
