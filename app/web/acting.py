"""Operators who act on one user: the dependency that gives the Scope, and the read routes of users, opened to them."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Final, get_args, get_type_hints

from fastapi import APIRouter, Depends, Path, Request
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute

from app.core.ids import parse
from app.core.scope import Scope
from app.web.auth import PERMISSIONS, Allow
from app.web.guests import AllowGuest
from app.web.operators import REASON_PARAMETER, Operate
from app.web.problems import problems

HERE: Final = "/v1/admin/users/{user_id}"
_OWN: Final = ("/v1/users/me", "/v1")
# Not opened: what streams for as long as something changes, what asks the models anew, what shows who the user is to
# the issuer of their token (an operator's export is a route of its own), and what opens by a receipt alone.
CLOSED: Final = ("/events", "/replay", "/v1/users/me/export", "/v1/erasures/{erasure_id}")
_READS: Final = frozenset(each for each in PERMISSIONS if each.endswith(":read") and not each.startswith("admin:"))


class Act:
    """A dependency that gives the Scope of an operator who acts on a user of their tenant, with a reason.

    With `gone_ok` it isn't asked here whether the user is there.
    """

    def __init__(self, permission: str, *, gone_ok: bool = False) -> None:
        """Take an `admin:` permission."""
        self._operate = Operate(permission, needs_reason=True)
        self.permission = permission
        self.gone_ok = gone_ok

    async def __call__(self, request: Request, user_id: Annotated[str, Path(examples=["usr_01a2"])]) -> Scope:
        """Return the Scope. Raises `missing_scope`, `invalid` without a reason, and `not_found`."""
        operator = await self._operate(request)
        scope = operator.upon(parse("usr", user_id))
        if not self.gone_ok:
            await request.app.state.require_known(scope)
        # What a user's token must hold to be shown a kind of memory, an operator's permission stands for.
        request.state.claims = replace(request.state.bearer, scopes=_READS)
        return scope


def act(permission: str, *, gone_ok: bool = False) -> Act:
    """Return the dependency of a route by which an operator acts on one user."""
    return Act(permission, gone_ok=gone_ok)


def opened(routers: Iterable[APIRouter]) -> APIRouter:
    """Return the routes by which users read what is theirs, each as a route by which an operator reads it.

    They are made of the users' own, so that none is forgotten and each answers the same.
    """
    router = APIRouter(tags=["operators"])
    for route in _reads(routers):
        router.add_api_route(
            _place(route.path),
            _twin(route.endpoint),
            methods=["GET"],
            name=f"{route.tags[0]}_{route.name}",
            response_model=route.response_model,
            status_code=route.status_code,
            response_class=route.response_class,
            responses={**route.responses, **problems("not_found")},
            description=f"For an operator: what the user reads at `{route.path}`. {route.description}",
            openapi_extra={**(route.openapi_extra or {}), "parameters": [REASON_PARAMETER]},
        )
    return router


def _reads(routers: Iterable[APIRouter]) -> Iterator[APIRoute]:
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute) and route.methods == {"GET"} and not route.path.endswith(CLOSED):
                calls = [each.call for each in route.dependant.dependencies]
                if any(isinstance(call, Allow | AllowGuest) for call in calls):
                    yield route


def _place(path: str) -> str:
    for own in _OWN:
        if path.startswith(own):
            return HERE + path.removeprefix(own)
    raise ValueError(f"{path} is no route of the API")


def _twin(endpoint: Callable[..., Any]) -> Callable[..., Any]:  # Any: the arguments and answers are the endpoint's
    """Return the endpoint with an operator as its caller."""
    hints = get_type_hints(endpoint, include_extras=True)
    signature = inspect.signature(endpoint)
    parameters = [
        each.replace(annotation=Annotated[Scope, Depends(act("admin:read"))])
        if _asks_who(hints[each.name])
        else each.replace(annotation=hints[each.name])
        for each in signature.parameters.values()
    ]

    async def twin(**arguments: Any) -> Any:  # noqa: ANN401 - as the endpoint's
        return await endpoint(**arguments)

    twin.__signature__ = signature.replace(parameters=parameters, return_annotation=hints["return"])  # type: ignore[attr-defined] # where inspect looks for it
    return twin


def _asks_who(hint: object) -> bool:
    found = (each.dependency for each in get_args(hint) if isinstance(each, Dependency))
    return any(isinstance(call, Allow | AllowGuest) for call in found)
