"""The entrance of a route: the dependency that says who may come in, found without calling the route."""

from collections.abc import Iterator

from fastapi.dependencies.models import Dependant
from starlette.requests import Request

from app.core.errors import AppError
from app.web.acting import Act
from app.web.auth import Allow
from app.web.guests import AllowGuest
from app.web.operators import Operate

Entrance = Allow | AllowGuest | Operate | Act


def dependants(dependant: Dependant) -> Iterator[Dependant]:
    """Return what a route depends on, itself first."""
    yield dependant
    for inner in dependant.dependencies:
        yield from dependants(inner)


def entrance(dependant: Dependant | None) -> Entrance | None:
    """Return what asks who comes in; None where everybody may."""
    calls = (each.call for each in dependants(dependant)) if dependant is not None else ()
    return next((call for call in calls if isinstance(call, Allow | AllowGuest | Operate | Act)), None)


async def refused_entrance(request: Request) -> AppError | None:
    """Return the error for whom the route doesn't let in; None for who is, and where everybody may.

    What is wrong with a request is found in whatever order the framework reads it. Who isn't let in isn't told it.
    """
    asks = entrance(getattr(request.scope.get("route"), "dependant", None))
    try:
        if asks is not None:
            await (asks(request, request.path_params["user_id"]) if isinstance(asks, Act) else asks(request))
    except AppError as error:
        return error
    return None
