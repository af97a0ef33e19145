"""Operators: the dependency that turns a token with an `admin:` scope into an Operator. It needs no user."""

import hashlib
import hmac
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from starlette.requests import Request

from app.core.errors import invalid
from app.core.scope import Operator, Subject
from app.core.withholding import withheld_text
from app.web.auth import PERMISSIONS, address_class, identify, require
from app.web.current import request_id
from app.web.registered import withhold_registered

REASON_HEADER: Final = "Cairn-Reason"
MAX_REASON_CHARS: Final = 500
# For the contract of the routes that need one.
REASON_PARAMETER: Final[dict[str, Any]] = {
    "name": REASON_HEADER,
    "in": "header",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_REASON_CHARS},
    "description": "Why, in UTF-8. It is kept in the audit, and the user can read it.",
}
_REFERENCE_BYTES: Final = 16


class Operate:
    """A dependency that gives the Operator. `permission` is what the token must hold for it."""

    def __init__(self, permission: str, *, needs_reason: bool = False) -> None:
        """Take an `admin:` permission. A reason is taken wherever it is given; some routes need one."""
        if permission not in PERMISSIONS or not permission.startswith("admin:"):
            raise ValueError(f"{permission} is no permission of an operator's")
        self.permission = permission
        self.needs_reason = needs_reason

    async def __call__(self, request: Request) -> Operator:
        """Return who operates. Raises `unauthorized`, `missing_scope`; `invalid` without a reason that is needed."""
        claims = await identify(request)
        operator = Operator(
            issuer=claims.subject.issuer,
            tenant=claims.subject.tenant,
            agent=claims.agent,
            request_id=request_id(),
            address=address_class(request),
            reference=_reference(request.app.state.operator_key, claims.subject),
        )
        if any(scope.startswith("admin:") for scope in claims.scopes):
            # Whom the audit tells of a refusal; somebody else who comes here is told of as whoever they are.
            request.state.operator = operator
        require(claims, self.permission)
        await withhold_registered(request, claims.subject.tenant)
        reason = _reason(request, needed=self.needs_reason)
        return replace(operator, reason=reason)


def operate(permission: str, *, needs_reason: bool = False) -> Operate:
    """Return the dependency of an operator's route."""
    return Operate(permission, needs_reason=needs_reason)


def _reason(request: Request, *, needed: bool) -> str:
    """Return why an operator acts, with numbers that are never stored masked; empty where none is given or needed."""
    given = request.headers.getlist(REASON_HEADER)
    if not given and not needed:
        return ""
    try:
        text = given[0].encode("latin-1").decode().strip() if len(given) == 1 else ""
    except UnicodeDecodeError:
        raise invalid(REASON_HEADER, "must be UTF-8") from None
    if not 0 < len(text) <= MAX_REASON_CHARS or not text.isprintable():
        raise invalid(REASON_HEADER, f"must come once and say why, in at most {MAX_REASON_CHARS} characters")
    return withheld_text(text)


def _reference(key: bytes, subject: Subject) -> UUID:
    """Return what stands for an operator in the audit: keyed, so that nobody can try names without the key store."""
    parts = (subject.issuer.encode(), subject.tenant.encode(), subject.sub.encode())
    named = b"".join(len(part).to_bytes(4) + part for part in parts)
    return UUID(bytes=hmac.new(key, named, hashlib.sha256).digest()[:_REFERENCE_BYTES])
