"""Guests: the dependency of the routes that an anonymous session's token opens too."""

from typing import Final

from starlette.requests import Request

from app.core.scope import Guest, Scope
from app.web.auth import allow

HEADER: Final = "cairn-session-token"


class AllowGuest:
    """A dependency that gives the caller's Scope, or the Guest where there is no bearer token and guests may come in.

    With `begins` they need no session token either.
    """

    def __init__(self, permission: str, *, begins: bool = False) -> None:
        """Take what a user's token must hold; see `guest_or`."""
        self._allow = allow(permission)
        self.permission = permission
        self.begins = begins

    async def __call__(self, request: Request) -> Scope | Guest:
        """Return who asks. Raises what `allow` raises, for a user and for somebody who shows nothing."""
        token = await session_token(request)
        may_enter = getattr(request.app.state, "allow_guests", False) and (self.begins or token)
        if may_enter and "authorization" not in request.headers:
            return Guest(token)
        return await self._allow(request)


def guest_or(permission: str, *, begins: bool = False) -> AllowGuest:
    """Return the dependency of a route that needs `permission` of a user, and a session token of a guest."""
    return AllowGuest(permission, begins=begins)


async def session_token(request: Request) -> str:
    """Return the session token that a request shows, empty without one. It goes into no log and no error."""
    return request.headers.get(HEADER, "")
