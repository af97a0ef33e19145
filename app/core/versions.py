"""Versions, their ETags, and the preconditions that a write is bound to."""

from dataclasses import dataclass

from app.core.errors import AppError, stale


@dataclass(frozen=True, slots=True)
class Exactly:
    """The resource must be at one of these versions (`If-Match: "3"`)."""

    versions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Absent:
    """The resource must not exist yet (`If-None-Match: *`)."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Whatever version there is (`If-Match: *`)."""


Precondition = Exactly | Absent | Anything


def etag(version: int) -> str:
    """Return the entity tag of a version."""
    return f'"{version}"'


def expected(precondition: Precondition, current: int | None) -> int | None:
    """Return the version to write in the WHERE: None to insert, else the version that must still be there.

    `current` is the version that was read, None where nothing is. Raises `stale_version`, `exists` or `not_found`. The
    answer must still be checked by the statement that writes; this tells only what to ask for.
    """
    if isinstance(precondition, Absent):
        if current is not None:
            raise AppError("exists", headers={"ETag": etag(current)}, current_version=current)
        return None
    if current is None:
        raise AppError("not_found") if isinstance(precondition, Anything) else stale(0)
    if isinstance(precondition, Exactly) and current not in precondition.versions:
        raise stale(current)
    return current
