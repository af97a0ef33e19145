"""HTTP for verifications: operators register values, users have values compared, services check tokens."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from app.core.ids import parse
from app.core.scope import Operator, Scope
from app.verifications.model import TYPE_PATTERN
from app.verifications.schemas import (
    CheckAnswer,
    CheckRequest,
    RegistrationsAnswer,
    SecretRequest,
    VerificationAnswer,
    VerificationRequest,
    check_answer,
    registrations_answer,
    verification_answer,
)
from app.verifications.service import Verifications
from app.verifications.tokens import limit_headers
from app.web.auth import allow
from app.web.operators import REASON_PARAMETER, operate
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(tags=["verifications"])

Reader = Annotated[Scope, Depends(allow("profile:read"))]
Registrar = Annotated[Operator, Depends(operate("admin:catalog", needs_reason=True))]
Service = Annotated[Verifications, Depends(provided(Verifications))]
SecretType = Annotated[str, Path(pattern=TYPE_PATTERN, examples=["identity_card"])]
_LIMITED = {name: {"schema": {"type": "string"}} for name in ("RateLimit-Policy", "RateLimit")}


@router.put(
    "/v1/admin/users/{user_id}/secrets/{secret_type}",
    status_code=204,
    responses=problems("not_found"),
    openapi_extra={"parameters": [REASON_PARAMETER]},
)
async def register(
    user_id: str, secret_type: SecretType, body: SecretRequest, operator: Registrar, verifications: Service
) -> None:
    """Register the value that a user is verified by, in place of the one before, whose tokens end.

    A salted, keyed hash of it is kept.
    """
    await verifications.register(operator, parse("usr", user_id), secret_type, body.value)


@router.delete(
    "/v1/admin/users/{user_id}/secrets/{secret_type}",
    status_code=204,
    responses=problems("not_found"),
    openapi_extra={"parameters": [REASON_PARAMETER]},
)
async def withdraw(user_id: str, secret_type: SecretType, operator: Registrar, verifications: Service) -> None:
    """Withdraw what a user is verified by: its hash goes, the reason stays. Its tokens end with it."""
    await verifications.register(operator, parse("usr", user_id), secret_type, None)


@router.get("/v1/verifications")
async def registered(caller: Reader, verifications: Service) -> RegistrationsAnswer:
    """List what the user can be verified by, and why operators registered it. No value is kept that could be shown."""
    return registrations_answer(await verifications.registrations(caller))


@router.post(
    "/v1/verifications",
    responses={200: {"headers": _LIMITED}, **problems("not_verified", "rate_limited", "store_unavailable")},
)
async def verify(
    response: Response, body: VerificationRequest, caller: Reader, verifications: Service
) -> VerificationAnswer:
    """Compare a value with the registered one. The token that is answered says for five minutes that it was right."""
    verification, allowance = await verifications.verify(caller, body.type, body.value)
    response.headers.update(limit_headers(allowance))
    return verification_answer(verification)


@router.post("/v1/verifications/check", responses=problems("not_found", "store_unavailable"))
async def check(body: CheckRequest, caller: Reader, verifications: Service) -> CheckAnswer:
    """Check a token that somebody shows, with an access token of the same user: 404 unless it is theirs and alive."""
    return check_answer(await verifications.check(caller, body.token))
