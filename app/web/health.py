"""Whether the process lives, and whether it should be given work."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from app.core.errors import AppError
from app.web.wire import Answer

PING_TIMEOUT_S = 1.0

Ping = Callable[[], Awaitable[object]]


class State(StrEnum):
    """Where a process is in its life."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    UNSUPPORTED_SCHEMA = "unsupported_schema"


class Readiness:
    """Whether this process takes work. A store that is down doesn't end it: routes that can do without still answer."""

    def __init__(self) -> None:
        """Begin as starting."""
        self.state = State.STARTING

    def become(self, state: State) -> None:
        """Go to another state; who drains doesn't come back."""
        if self.state is not State.DRAINING:
            self.state = state


class Health(Answer):
    """The state of the process and of each store."""

    status: str
    stores: dict[str, str] = Field(default_factory=dict)


class Ready(Health):
    """The state of the process, and how sessions are read: while the lease is `held` from Redis alone, else from
    PostgreSQL, which is slower and as right.
    """

    lease: str


router = APIRouter(tags=["health"])


async def _readiness(request: Request) -> Readiness:
    readiness: Readiness = request.app.state.readiness
    return readiness


async def serving(request: Request) -> None:
    """Refuse work where nothing was built to do it. Raises `store_unavailable`."""
    readiness = await _readiness(request)
    if readiness.state in {State.STARTING, State.UNSUPPORTED_SCHEMA}:
        raise AppError("store_unavailable", f"this process is {readiness.state}", headers={"Retry-After": "5"})


@router.get("/healthz")
async def read_health() -> Health:
    """Say that the process lives."""
    return Health(status="alive")


@router.get(
    "/readyz",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Starting, draining, or an unsupported schema"}},
)
async def read_readiness(request: Request, readiness: Annotated[Readiness, Depends(_readiness)]) -> JSONResponse:
    """Say whether the process takes work, which stores answer, and how sessions are read."""
    stores = await store_states(request.app.state.pings)
    status = 200 if readiness.state is State.READY else 503
    lease = request.app.state.lease_state()
    return JSONResponse(Ready(status=readiness.state, stores=stores, lease=lease).model_dump(), status)


async def store_states(pings: Mapping[str, Ping]) -> dict[str, str]:
    """Return `up` or `down` for each store; one that doesn't answer in time is down."""
    pinged = await asyncio.gather(*map(_pinged, pings.values()), return_exceptions=True)
    return {name: "down" if isinstance(end, Exception) else "up" for name, end in zip(pings, pinged, strict=True)}


async def _pinged(ping: Ping) -> None:
    async with asyncio.timeout(PING_TIMEOUT_S):
        await ping()
