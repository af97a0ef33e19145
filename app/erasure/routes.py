"""HTTP for forgetting a user and proving it."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Response

from app.core.ids import parse
from app.core.scope import Scope
from app.erasure.model import Erasure
from app.erasure.receipts import MAX_CHARS
from app.erasure.schemas import (
    ErasureAnswer,
    KeySetAnswer,
    VerificationAnswer,
    erasure_answer,
    verification_answer,
)
from app.erasure.service import Erasures
from app.web.acting import act
from app.web.auth import allow
from app.web.current import request_id
from app.web.idempotency import rendered, respond
from app.web.operators import REASON_PARAMETER
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(tags=["erasure"])

Forgetter = Annotated[Scope, Depends(allow("forget", erased_ok=True))]
Eraser = Annotated[Scope, Depends(act("admin:erase", gone_ok=True))]
Service = Annotated[Erasures, Depends(provided(Erasures))]
Receipt = Annotated[str, Header(alias="Cairn-Receipt", max_length=MAX_CHARS)]


@router.delete(
    "/v1/users/me",
    response_model=ErasureAnswer,
    responses={202: {"model": ErasureAnswer}, **problems("processing_stopped")},
)
async def forget(
    caller: Forgetter,
    erasures: Service,
    then: Annotated[Literal["stop"] | None, Query()] = None,
) -> Response:
    """Erase everything about the user, in every store. Asked again it answers the same. It can't be undone.

    With `then=stop` no new memory of this person begins, whatever their agents send.
    """
    return _shown(caller, erasures, await erasures.forget(caller, stop=then == "stop"))


def _shown(caller: Scope, erasures: Erasures, erasure: Erasure) -> Response:
    shown = erasure_answer(erasure, erasures.receipt(caller, erasure))
    if erasure.certificate is not None:
        return respond(rendered(shown))
    return respond(rendered(shown, 202, headers={"Location": f"/v1/erasures/{shown.id}", "Retry-After": "2"}))


@router.delete(
    "/v1/admin/users/{user_id}",  # noqa: FAST003 - what says who the caller is takes it
    response_model=ErasureAnswer,
    responses={202: {"model": ErasureAnswer}, **problems("not_found")},
    openapi_extra={"parameters": [REASON_PARAMETER]},
)
async def forget_user(caller: Eraser, erasures: Service) -> Response:
    """Erase everything about a user of the operator's tenant. The certificate says who asked, and by which right."""
    return _shown(caller, erasures, await erasures.forget_another(caller))


@router.get("/v1/erasures/{erasure_id}", responses=problems("not_found"))
async def read_erasure(erasure_id: str, receipt: Receipt, erasures: Service) -> ErasureAnswer:
    """Read an erasure and its certificate by its receipt; no token is needed, for there may be none left."""
    scope = erasures.opened(parse("ers", erasure_id), receipt, request_id())
    erasure = await erasures.read(scope)
    return erasure_answer(erasure, receipt)


@router.post("/v1/erasures/{erasure_id}/verify", responses=problems("not_found", "store_unavailable"))
async def verify_erasure(erasure_id: str, receipt: Receipt, erasures: Service) -> VerificationAnswer:
    """Go through every store again and count what is left of the user."""
    scope = erasures.opened(parse("ers", erasure_id), receipt, request_id())
    return verification_answer(await erasures.read(scope), await erasures.verify(scope))


@router.get("/.well-known/cairn-keys.json")
async def read_keys(erasures: Service) -> KeySetAnswer:
    """Read the public keys that check certificates."""
    return KeySetAnswer(keys=[erasures.public_key()])
