"""Whether what a client said of a document is what a search asks for."""

from collections.abc import Mapping, Sequence
from typing import Any

Json = Any  # Any: JSON as a client sent it


def matches(metadata: Mapping[str, Json], wanted: Mapping[str, Json]) -> bool:
    """Say whether each wanted name has the wanted value; where the document has a list, whether that is in it."""
    return all(name in metadata and _holds(metadata[name], value) for name, value in wanted.items())


def _holds(there: Json, wanted: Json) -> bool:
    if _equal(there, wanted):
        return True
    return isinstance(there, Sequence) and not isinstance(there, str) and any(_equal(one, wanted) for one in there)


def _equal(one: Json, other: Json) -> bool:
    """Compare as JSON does: true isn't 1, and 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
    return bool(one == other)
