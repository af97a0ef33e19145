"""The one error that callers cause, and the list of every code that the product answers with."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of error on the wire (RFC 9457): its HTTP status, its title and what the caller can do."""

    status: int
    title: str
    remedy: str


PROBLEMS: Mapping[str, Problem] = {
    "unauthorized": Problem(
        401, "The token is missing or not valid", "Send `Authorization: Bearer <JWT>` with a live token."
    ),
    "missing_scope": Problem(403, "The token lacks a scope", "Ask for a token with the scope that `scope` names."),
    "no_user": Problem(403, "The token names no user", "Memory belongs to a person: use a token whose `sub` is one."),
    "processing_stopped": Problem(
        403, "The user has stopped the processing", "Nothing: the user alone can take it back."
    ),
    "sensitive_category": Problem(
        403,
        "It belongs to a sensitive category",
        "Never infer it. What the user says of it is kept where the tenant's catalogue has the key as sensitive.",
    ),
    "quota_exceeded": Problem(403, "A quota is used up", "Delete something or have the quota raised."),
    "not_verified": Problem(
        403, "The value isn't the registered one", "Ask the user again: nothing tells which types are registered."
    ),
    "not_found": Problem(404, "There is no such thing", "Check the id; what belongs to someone else looks the same."),
    "method_not_allowed": Problem(405, "The method isn't allowed here", "See the `Allow` header."),
    "conflict": Problem(409, "The state doesn't allow it", "Read the resource again and decide anew."),
    "original_not_kept": Problem(
        409,
        "The original isn't kept",
        "It held a number that is never stored (of an identity card, say): search finds its text, with that masked.",
    ),
    "already_rejected": Problem(
        409,
        "The user has rejected or retracted it",
        "Propose it again only from another message or document than those it came from before.",
    ),
    "in_progress": Problem(409, "The same request is still running", "Wait for `Retry-After`, then send it again."),
    "erasing": Problem(410, "The user is being erased", "Nothing: the erasure can't be undone."),
    "erased": Problem(410, "The user was erased", "A token issued after the erasure starts an empty memory."),
    "stale_version": Problem(412, "The version isn't the current one", "Read again, then write with the current ETag."),
    "exists": Problem(412, "It exists already", "Use `If-Match` with the current ETag to change it."),
    "too_large": Problem(413, "The request is too large", "Send less; the limit is in the detail."),
    "unsupported_media_type": Problem(
        415, "The content type isn't supported", "Use the content type the operation names."
    ),
    "invalid": Problem(422, "The request isn't valid", "`errors` names the fields."),
    "idempotency_mismatch": Problem(
        422,
        "The idempotency key was used for another request",
        "Use a new key for a new request.",
    ),
    "precondition_required": Problem(428, "A precondition is required", "Send `If-Match` or `If-None-Match: *`."),
    "rate_limited": Problem(429, "Too many requests", "Wait for `Retry-After`."),
    "overloaded": Problem(503, "The service is overloaded", "Wait for `Retry-After`, then send it again."),
    "store_unavailable": Problem(503, "A store can't be reached", "Wait for `Retry-After`, then send it again."),
    "internal": Problem(500, "Something went wrong here", "Report the `request_id`: it is a fault of the service."),
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """A field that isn't valid and why; never its value."""

    field: str
    message: str


class AppError(Exception):
    """What a caller did, or met. `code` is one of PROBLEMS; `detail` holds no personal data and no text of the
    caller's.
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        errors: tuple[FieldError, ...] = (),
        headers: Mapping[str, str] | None = None,
        **extra: str | int | bool,
    ) -> None:
        """Make an error. `extra` are members of the problem's body beside the standard ones (`current_version`,
        say).
        """
        super().__init__(code, detail)
        self.code = code
        self.problem = PROBLEMS[code]
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})
        self.extra = extra


def invalid(field: str, message: str) -> AppError:
    """Return the error for one field that isn't valid."""
    return AppError("invalid", f"{field}: {message}", errors=(FieldError(field, message),))


def stale(current_version: int) -> AppError:
    """Return the error for a write that was conditional on a version which isn't the current one."""
    return AppError(
        "stale_version",
        headers={"ETag": f'"{current_version}"'},
        current_version=current_version,
    )
