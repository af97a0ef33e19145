"""What a profile is, and how a merge patch changes it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.core.errors import invalid
from app.core.scope import Actor

MAX_FIELD_CHARS = 256
MAX_ATTRIBUTES_BYTES = 16_384
MAX_ATTRIBUTES_DEPTH = 8

Attributes = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the user. `attributes` is any JSON object."""

    name: str | None = None
    role: str | None = None
    department: str | None = None
    active: bool = True
    last_login_at: datetime | None = None
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile at one of its versions: what it says, who wrote it, through which agent, when and in which change."""

    version: int
    facts: Facts
    change_number: int = 0
    written_by: Actor = Actor.USER
    written_through: str | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Versions of a profile, newest first, and the snapshot that they were read at."""

    items: Sequence[Profile]
    snapshot: str
    more: bool = False


# Every user has a profile; before the first change it is this one.
EMPTY = Profile(0, Facts())


def patched(facts: Facts, patch: Mapping[str, Any]) -> Facts:  # Any: each field has a type of its own
    """Return what a merge patch (RFC 7396) makes of the facts. `patch` holds the fields that were sent, None to remove.

    Raises `invalid` where the attributes would grow beyond their bounds.
    """
    defaults = Facts()
    fields = ("name", "role", "department", "active", "last_login_at")
    values = {name: patch[name] if name in patch else getattr(facts, name) for name in fields}
    kept = {name: getattr(defaults, name) if value is None else value for name, value in values.items()}
    attributes = facts.attributes
    if "attributes" in patch:
        removed = patch["attributes"] is None
        attributes = {} if removed else _bounded(merged(attributes, patch["attributes"]))
    return Facts(**kept, attributes=attributes)


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
