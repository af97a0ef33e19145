"""HTTP for verifications: operators register values, users have values compared, services check tokens."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from starlette.requests import Request

from app.core.errors import invalid
from app.core.ids import parse
from app.core.scope import Operator, Scope
from app.verifications.model import MAX_REASON_CHARS, TYPE_PATTERN
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
from app.web.operators import operate
from app.web.problems import problems
from app.web.provide import provided

router = APIRouter(tags=["verifications"])

REASON_HEADER = "Cairn-Reason"

Reader = Annotated[Scope, Depends(allow("profile:read"))]
Registrar = Annotated[Operator, Depends(operate("admin:catalog"))]
Service = Annotated[Verifications, Depends(provided(Verifications))]
SecretType = Annotated[str, Path(pattern=TYPE_PATTERN, examples=["identity_card"])]
_REASON = {
    "name": REASON_HEADER,
    "in": "header",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_REASON_CHARS},
    "description": "Why, in UTF-8. It is kept with the registration, and the user can read it.",
}
_LIMITED = {name: {"schema": {"type": "string"}} for name in ("RateLimit-Policy", "RateLimit")}


async def reason(request: Request) -> str:
    """Return why an operator acts on a user. Raises `invalid` without a reason."""
    given = request.headers.getlist(REASON_HEADER)
    try:
        text = given[0].encode("latin-1").decode().strip() if len(given) == 1 else ""
    except UnicodeDecodeError:
        raise invalid(REASON_HEADER, "must be UTF-8") from None
    if not 0 < len(text) <= MAX_REASON_CHARS or not text.isprintable():
        raise invalid(REASON_HEADER, f"must come once and say why, in at most {MAX_REASON_CHARS} characters")
    return text


Reason = Annotated[str, Depends(reason)]


@router.put(
    "/v1/admin/users/{user_id}/secrets/{secret_type}",
    status_code=204,
    responses=problems("not_found"),
    openapi_extra={"parameters": [_REASON]},
)
async def register(
    user_id: str, secret_type: SecretType, body: SecretRequest, operator: Registrar, why: Reason, verifications: Service
) -> None:
    """Register the value that a user is verified by, in place of the one before, whose tokens end.

    A salted, keyed hash of it is kept.
    """
    await verifications.register(operator, parse("usr", user_id), secret_type, body.value, why)


@router.delete(
    "/v1/admin/users/{user_id}/secrets/{secret_type}",
    status_code=204,
    responses=problems("not_found"),
    openapi_extra={"parameters": [_REASON]},
)
async def withdraw(
    user_id: str, secret_type: SecretType, operator: Registrar, why: Reason, verifications: Service
) -> None:
    """Withdraw what a user is verified by: its hash goes, the reason stays. Its tokens end with it."""
    await verifications.register(operator, parse("usr", user_id), secret_type, None, why)


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
