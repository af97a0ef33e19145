"""Why an operator acted: sealed under the key of the user it was done to, who can read it, and gone with that key."""

from app.core.scope import Scope
from app.infra.crypto.box import Box, Place


def sealed_reason(scope: Scope, box: Box | None) -> bytes | None:
    """Return what the audit keeps of a reason; None where there is none, or no user whose key could seal it."""
    if not scope.reason or box is None:
        return None
    return box.seal(scope.reason.encode(), _place(scope.request_id))


def opened_reason(sealed: bytes, request_id: str, box: Box) -> str:
    """Return the reason that was given with a request."""
    return box.open(sealed, _place(request_id)).decode()


def _place(request_id: str) -> Place:
    # The rows of one request bear one reason. Their own ids aren't known when it is sealed.
    return Place("audit_log", "reason_sealed", request_id.encode())
