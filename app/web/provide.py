"""Objects for routes: what wiring built, by its class."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request

T = TypeVar("T")


def provided(kind: type[T]) -> Callable[[Request], Awaitable[T]]:
    """Return a dependency that gives the one object of `kind` that wiring built for this application."""

    async def give(request: Request) -> T:
        instance: T = request.app.state.provided[kind]
        return instance

    return give
