"""Preconditions from the headers, in every form that clients and proxies send them in."""

import re

from starlette.requests import Request

from app.core.errors import AppError, invalid
from app.core.versions import Absent, Anything, Exactly, Precondition

MAX_TAGS = 20
MAX_VERSION_DIGITS = 18
# An entity tag (RFC 9110, section 8.8.3), or a bare number, which many clients send.
_TAG = re.compile(r'(?:W/)?"(?P<opaque>[\x21\x23-\x7e\x80-\xff]*)"|(?P<bare>[0-9]+)', re.ASCII)
_SEPARATOR = re.compile(r"[ \t]*,[ \t]*")
_VERSION = re.compile(r"0|[1-9][0-9]*", re.ASCII)


async def conditional(request: Request) -> Precondition:
    """Return what the write is bound to: `If-Match` with a version, or `If-None-Match: *`.

    Raises `precondition_required` without either, `invalid` for what isn't one.
    """
    precondition = await conditional_or_any(request)
    if isinstance(precondition, Anything):
        raise invalid("If-Match", "must name a version here")
    return precondition


async def conditional_or_any(request: Request) -> Precondition:
    """Return what the write is bound to, where `If-Match: *` (any version) will do as well."""
    match = _joined(request, "if-match")
    none_match = _joined(request, "if-none-match")
    if match is not None and none_match is not None:
        raise invalid("If-None-Match", "can't stand beside If-Match")
    if none_match is not None:
        if none_match != "*":
            raise invalid("If-None-Match", "must be * in a write")
        return Absent()
    if match is None:
        raise AppError("precondition_required")
    if match == "*":
        return Anything()
    versions = _versions(match)
    if versions is None:
        raise invalid("If-Match", "must be an ETag or a list of ETags")
    return Exactly(versions)


def not_modified(request: Request, version: int) -> bool:
    """Say whether the client has this version already: a GET then answers 304. What isn't an ETag is passed over."""
    header = _joined(request, "if-none-match")
    if header is None:
        return False
    return header == "*" or version in (_versions(header) or ())


def _joined(request: Request, name: str) -> str | None:
    values = request.headers.getlist(name)
    return ", ".join(value.strip() for value in values) if values else None


def _versions(header: str) -> frozenset[int] | None:
    """Return the versions that are named; None where the header isn't a list of ETags.

    An ETag that isn't one of ours is valid and matches nothing: the answer to it is 412, not 422.
    """
    found: set[int] = set()
    tags = _SEPARATOR.split(header, maxsplit=MAX_TAGS)
    if len(tags) > MAX_TAGS:
        return None
    for tag in tags:
        form = _TAG.fullmatch(tag)
        if form is None:
            return None
        text = form["opaque"] if form["bare"] is None else form["bare"]
        if _VERSION.fullmatch(text) and len(text) <= MAX_VERSION_DIGITS:
            found.add(int(text))
    return frozenset(found)
