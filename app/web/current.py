"""What is known of the request that runs now: its id for the log and the audit, and where it was routed to."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Scope


@dataclass(slots=True)
class Current:
    """One request. The outermost middleware makes it; routing fills `asgi` in, and an error leaves its code here."""

    request_id: str
    traceparent: str | None
    asgi: Scope = field(repr=False)
    code: str | None = None

    @property
    def template(self) -> str | None:
        """The route's path with its parameters' names (`/v1/sessions/{session_id}`); None where nothing matched."""
        route = self.asgi.get("route")
        # A router that was included matches too, but has no path: what it held didn't match.
        return getattr(route, "path_format", None) or getattr(route, "path", None)

    @property
    def state(self) -> dict[str, Any]:
        """What dependencies left for the rest of the request (`request.state`)."""
        state: dict[str, Any] = self.asgi.setdefault("state", {})
        return state


_CURRENT: ContextVar[Current] = ContextVar("cairn_request")


def begin(current: Current) -> None:
    """Make it the request that runs in this task."""
    _CURRENT.set(current)


def current() -> Current:
    """Return the request that runs in this task. Raises LookupError outside of one."""
    return _CURRENT.get()


def request_id() -> str:
    """Return the id of the request that runs in this task, empty outside of one."""
    found = _CURRENT.get(None)
    return found.request_id if found else ""
