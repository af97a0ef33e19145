"""What a profile is: facts about the user, in versions that say who wrote them, when, why and from which evidence."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from app.core.errors import invalid
from app.core.evidence import Evidence
from app.core.moments import Snapshot
from app.core.scope import Actor
from app.core.text.occurrences import compared, identifies, strings

MAX_FIELD_CHARS = 256
MAX_REASON_CHARS = 1_000
MAX_ATTRIBUTES_BYTES = 16_384
MAX_ATTRIBUTES_DEPTH = 8
# A version number is an integer of four bytes in the database.
MAX_VERSION = 2**31 - 1

FIELDS = ("name", "role", "department", "active", "last_login_at")
ATTRIBUTES = "attributes"

Attributes = Mapping[str, object]
# Where a value stands: a field, or `attributes` and the names that lead to it.
Path = tuple[str, ...]


class Origin(StrEnum):
    """What made a version."""

    STATEMENT = "statement"
    ROLLBACK = "rollback"
    ERASURE = "erasure"
    # It comes from somebody's archive who wasn't its user.
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the user; None what isn't. `attributes` is any JSON object.

    `erased` are the places whose value was erased for good, and where nothing was put since.
    """

    name: str | None = None
    role: str | None = None
    department: str | None = None
    active: bool | None = None
    last_login_at: datetime | None = None
    attributes: Attributes = field(default_factory=dict)
    erased: frozenset[Path] = frozenset()


@dataclass(frozen=True, slots=True)
class Why:
    """Why a version is written: what made it, the caller's reason, and the evidence that they name."""

    source: Origin
    reason: str | None = None
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile at one of its versions: what it says, who wrote it, why, through which agent, when, in which change."""

    version: int
    facts: Facts
    why: Why = Why(Origin.STATEMENT)
    change_number: int = 0
    written_by: Actor = Actor.USER
    written_through: str | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A profile, and the snapshot that it was read at."""

    profile: Profile
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class History:
    """Versions of a profile, newest first, and the snapshot that they were read at."""

    items: Sequence[Profile]
    snapshot: Snapshot
    more: bool = False


# Every user has a profile; before the first change it is this one.
EMPTY = Profile(0, Facts())


def patched(facts: Facts, patch: Mapping[str, Any]) -> Facts:  # Any: each field has a type of its own
    """Return what a merge patch (RFC 7396) makes of the facts. `patch` holds the fields that were sent, None to remove.

    Raises `invalid` where the attributes would grow beyond their bounds.
    """
    values = {name: patch[name] if name in patch else getattr(facts, name) for name in FIELDS}
    attributes = facts.attributes
    if ATTRIBUTES in patch:
        removed = patch[ATTRIBUTES] is None
        attributes = {} if removed else _bounded(merged(attributes, patch[ATTRIBUTES]))
    result = Facts(**values, attributes=attributes)
    return Facts(**values, attributes=attributes, erased=frozenset(p for p in facts.erased if not stands(result, p)))


def merged(target: object, patch: Attributes) -> dict[str, object]:
    """Return MergePatch(target, patch) of RFC 7396, section 2, for a patch that is an object."""
    result: dict[str, object] = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            result[name] = merged(result.get(name), value)
        else:
            result[name] = value
    return result


def stands(facts: Facts, path: Path) -> bool:
    """Say whether there is a value at a place."""
    if path[0] != ATTRIBUTES:
        return getattr(facts, path[0]) is not None
    if len(path) == 1:
        return bool(facts.attributes)
    inside: object = facts.attributes
    for name in path[1:]:
        if not isinstance(inside, Mapping) or name not in inside:
            return False
        inside = inside[name]
    return True


def pointer(path: Path) -> str:
    """Return a place as it is shown: a JSON Pointer (RFC 6901) without its first slash."""
    return "/".join(name.replace("~", "~0").replace("/", "~1") for name in path)


def path_of(pointed: str) -> Path:
    """Return the place that `pointer` shows."""
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in pointed.split("/"))


def told(facts: Facts) -> list[tuple[Path, str]]:
    """Return the strings that the facts hold, each with its place."""
    said: dict[str, object] = {name: getattr(facts, name) for name in ("name", "role", "department")}
    return list(strings(said | {ATTRIBUTES: facts.attributes}))


def pointing(facts: Facts) -> list[tuple[Path, str]]:
    """Return those that point at something: texts which hold one say something of the user."""
    return [(path, text) for path, text in told(facts) if identifies(text, is_name=path == ("name",))]


def supersedes(facts: Facts, before: Facts) -> bool:
    """Say whether something that pointed at something doesn't stand any more where it stood before."""
    kept = {(path, compared(text)) for path, text in told(facts)}
    return any((path, compared(text)) not in kept for path, text in pointing(before))


def without(facts: Facts, path: Path) -> Facts:
    """Return the facts without the value at a place, which is marked as erased, and with it whatever it held."""
    values = {name: None if path == (name,) else getattr(facts, name) for name in FIELDS}
    attributes = facts.attributes
    if path[0] == ATTRIBUTES and stands(facts, path):
        attributes = _removed(attributes, path[1:])
    kept = {place for place in facts.erased if place[: len(path)] != path}
    return Facts(**values, attributes=attributes, erased=frozenset(kept | {path}))


def _removed(attributes: Attributes, path: Path) -> Attributes:
    if not path:
        return {}
    name, *rest = path
    if not rest:
        return {each: value for each, value in attributes.items() if each != name}
    inside = attributes[name]
    return {**attributes, name: _removed(inside, tuple(rest))} if isinstance(inside, Mapping) else attributes


def _bounded(attributes: dict[str, object]) -> dict[str, object]:
    if _depth(attributes) > MAX_ATTRIBUTES_DEPTH:
        raise invalid("attributes", f"at most {MAX_ATTRIBUTES_DEPTH} levels deep")
    if len(json.dumps(attributes, ensure_ascii=False).encode()) > MAX_ATTRIBUTES_BYTES:
        raise invalid("attributes", f"at most {MAX_ATTRIBUTES_BYTES} bytes of JSON in all")
    return attributes


def _depth(value: object) -> int:
    if isinstance(value, Mapping):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0
