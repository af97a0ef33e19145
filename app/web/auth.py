"""Identity: the dependency that turns a bearer token into a Scope, or refuses it."""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from uuid import UUID

from starlette.requests import HTTPConnection, Request

from app.core.errors import AppError
from app.core.identity import Directory
from app.core.scope import Scope
from app.web.current import request_id
from app.web.registered import withhold_registered
from app.web.tokens import Claims, Tokens

_READ_AND_WRITE = ("sessions", "memories", "profile", "preferences", "knowledge", "context", "audit")
# What a token may hold. The bare name of a kind means both of its pair, and nothing beside them.
PERMISSIONS = frozenset(
    {f"{kind}:{verb}" for kind in _READ_AND_WRITE for verb in ("read", "write")}
    | {"preferences:explicit", "export", "forget"}
    | {"admin:read", "admin:erase", "admin:catalog", "admin:audit", "admin:hold"},
)
# In the memory of the process alone.
KNOWN_ADDRESSES = 4_096
CHALLENGE = 'Bearer realm="cairn"'
# What a user meets who was erased, or is being.
_NO_MORE = frozenset({"erased", "erasing", "processing_stopped"})


class Allow:
    """A dependency that gives the caller's Scope. `permission` is what the token must hold for it."""

    def __init__(self, permission: str, *, erased_ok: bool = False) -> None:
        """Take the permission of a route; see `allow`."""
        if permission not in PERMISSIONS:
            raise ValueError(f"{permission} is no permission")
        self.permission = permission
        self.erased_ok = erased_ok

    async def __call__(self, request: Request) -> Scope:
        """Return the Scope of this request. Raises `unauthorized`, `no_user`, `missing_scope`, `erased`..."""
        with _challenging():
            claims = await identify(request)
            self._check(claims)
            usr = await self._reference(request.app.state.directory, claims)
        scope = Scope(
            tenant=claims.subject.tenant,
            usr=usr,
            agent=claims.agent,
            request_id=request_id(),
            address=address_class(request),
        )
        request.state.scope = scope
        request.state.claims = claims
        await withhold_registered(request, scope.tenant)
        return scope

    def _check(self, claims: Claims) -> None:
        if not claims.names_user:
            raise AppError("no_user")
        require(claims, self.permission)

    async def _reference(self, directory: Directory, claims: Claims) -> UUID:
        try:
            return await directory.enter(claims.subject, claims.issued_at, claims.token_id)
        except AppError as error:
            if not self.erased_ok or error.code not in _NO_MORE:
                raise
            last = await directory.last_erased(claims.subject)
            if last is None:
                raise
            return last


def allow(permission: str, *, erased_ok: bool = False) -> Allow:
    """Return the dependency of a route that needs `permission`.

    With `erased_ok` a user who was erased, or is being, isn't refused: the Scope then bears the reference that the
    erasure ended, for which every door but the erasure's own is closed. Forgetting twice so comes to one certificate.
    """
    return Allow(permission, erased_ok=erased_ok)


async def identify(connection: HTTPConnection) -> Claims:
    """Return what the request's token says. Raises `unauthorized` without a good one."""
    tokens: Tokens = connection.app.state.tokens
    with _challenging():
        claims = await tokens.verify(_bearer(connection))
    # For who is turned away now: the audit is told whose good token it was.
    connection.state.bearer = claims
    return claims


def require(claims: Claims, permission: str) -> None:
    """Raise `missing_scope` where a token doesn't hold what is needed."""
    if not permits(claims.scopes, permission):
        raise missing_scope(permission)


def missing_scope(permission: str) -> AppError:
    """Return the refusal of a token that doesn't hold what is needed."""
    challenge = f'{CHALLENGE}, error="insufficient_scope", scope="{permission}"'
    return AppError("missing_scope", headers={"WWW-Authenticate": challenge}, scope=permission)


def require_also(request: Request, permission: str) -> None:
    """Raise `missing_scope` where the token that a route has let in lacks what the body asks for beside it, and
    `unauthorized` where a guest asks.
    """
    claims: Claims | None = getattr(request.state, "claims", None)
    if claims is None:
        raise AppError("unauthorized", headers={"WWW-Authenticate": CHALLENGE})
    require(claims, permission)


def may_also(request: Request, permission: str) -> bool:
    """Say whether the token that a route has let in allows something beside it. A guest has none."""
    claims: Claims | None = getattr(request.state, "claims", None)
    return claims is not None and permits(claims.scopes, permission)


def permits(held: frozenset[str], permission: str) -> bool:
    """Say whether the scopes that a token holds allow something."""
    kind, _, verb = permission.partition(":")
    bare = kind in _READ_AND_WRITE and verb in {"read", "write"} and kind in held
    return permission in held or bare


@contextmanager
def _challenging() -> Iterator[None]:
    """Add to a refusal of the token the challenge that HTTP asks for."""
    try:
        yield
    except AppError as error:
        if error.code == "unauthorized":
            error.headers.setdefault("WWW-Authenticate", f'{CHALLENGE}, error="invalid_token"')
        raise


def _bearer(connection: HTTPConnection) -> str:
    headers = connection.headers.getlist("authorization")
    if not headers:
        raise AppError("unauthorized", headers={"WWW-Authenticate": CHALLENGE})
    scheme, _, token = headers[0].partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise AppError("unauthorized")
    return token.strip()


def address_class(request: Request) -> str:
    """Return what kind of address the caller has; the address itself is personal data and goes nowhere."""
    return "unknown" if request.client is None else _class_of(request.client.host)


@lru_cache(KNOWN_ADDRESSES)
def _class_of(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "unknown"
    if address.is_loopback:
        return "loopback"
    return "private" if address.is_private else "public"
