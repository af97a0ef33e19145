"""Operators: the dependency that turns a token with an `admin:` scope into an Operator. It needs no user."""

from starlette.requests import Request

from app.core.scope import Operator
from app.web.auth import PERMISSIONS, address_class, identify, require
from app.web.current import request_id
from app.web.registered import withhold_registered


class Operate:
    """A dependency that gives the Operator. `permission` is what the token must hold for it."""

    def __init__(self, permission: str) -> None:
        """Take an `admin:` permission."""
        if permission not in PERMISSIONS or not permission.startswith("admin:"):
            raise ValueError(f"{permission} is no permission of an operator's")
        self.permission = permission

    async def __call__(self, request: Request) -> Operator:
        """Return who operates. Raises `unauthorized`, `missing_scope`."""
        claims = await identify(request)
        require(claims, self.permission)
        await withhold_registered(request, claims.subject.tenant)
        return Operator(
            issuer=claims.subject.issuer,
            tenant=claims.subject.tenant,
            agent=claims.agent,
            request_id=request_id(),
            address=address_class(request),
        )


def operate(permission: str) -> Operate:
    """Return the dependency of an operator's route."""
    return Operate(permission)
