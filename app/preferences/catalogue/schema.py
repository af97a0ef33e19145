"""JSON Schemas of a tenant's (draft 2020-12), bounded so that no value takes long to validate and nothing is fetched.

jsonschema-rs validates: a tenth of a millisecond to compile, and with this engine of patterns no value is slow.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema_rs import Draft202012Validator, ReferencingError, RegexOptions, ValidationError

from app.core.errors import invalid

Schema = Mapping[str, Any]  # Any: a JSON Schema is JSON of many shapes

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MAX_DEPTH = 24
# With what is referred to counted each time: a reference of references would grow without a bound.
MAX_NODES = 2_000
_LOCAL = "#/$defs/"
_KNOWN = frozenset({"$ref", "$defs", "$comment", "$schema"})


def require_schema(schema: Schema, field: str) -> None:
    """Raise `invalid` for a schema that isn't one, or that has no bound."""
    definitions = schema.get("$defs")
    _Bound(definitions if isinstance(definitions, dict) else {}, field).count(schema, 0, ())
    try:
        _validator(schema)
    except (ValidationError, ReferencingError, ValueError) as error:
        raise invalid(field, "isn't a JSON Schema of draft 2020-12") from error


def violation(schema: Schema, value: object) -> str | None:
    """Return where in the schema a value fails, None where it doesn't: in the schema's names, not in the value's."""
    try:
        _validator(schema).validate(value)
    except ValidationError as error:
        return "/".join(map(str, error.schema_path)) or "schema"
    return None


def misfit(schema: Schema, values: Sequence[object]) -> int | None:
    """Return the place of the first value that fails, None where all meet the schema."""
    validator = _validator(schema)
    return next((place for place, value in enumerate(values) if not validator.is_valid(value)), None)


def _validator(schema: Schema) -> Draft202012Validator:
    # A pattern that isn't regular (a look-around) is refused: only regular ones are matched in linear time.
    return Draft202012Validator(dict(schema), pattern_options=RegexOptions(), offline=True)


class _Bound:
    """Counts the nodes of a schema, references followed, and refuses what has no bound."""

    def __init__(self, definitions: Mapping[str, object], field: str) -> None:
        """Take what may be referred to, and the field that an error names."""
        self._definitions = definitions
        self._field = field
        self._counted: dict[str, int] = {}

    def count(self, node: object, depth: int, within: tuple[str, ...]) -> int:
        """Return how many nodes a part has; `within` are the definitions that it stands in."""
        if depth > MAX_DEPTH:
            raise invalid(self._field, f"must not be nested deeper than {MAX_DEPTH}")
        nodes = 1
        if isinstance(node, dict):
            self._require_known(node)
            if "$ref" in node:
                nodes += self._referred(node["$ref"], depth, within)
            nodes += sum(self.count(inner, depth + 1, within) for inner in node.values())
        elif isinstance(node, list):
            nodes += sum(self.count(inner, depth + 1, within) for inner in node)
        if nodes > MAX_NODES:
            raise invalid(self._field, f"must not have more than {MAX_NODES} parts, what is referred to included")
        return nodes

    def _referred(self, reference: object, depth: int, within: tuple[str, ...]) -> int:
        name = str(reference).removeprefix(_LOCAL)
        if not str(reference).startswith(_LOCAL) or name not in self._definitions:
            raise invalid(self._field, "must refer to nothing but its own `$defs`")
        if name in within:
            raise invalid(self._field, "must not refer to itself")
        if name not in self._counted:
            self._counted[name] = self.count(self._definitions[name], depth + 1, (*within, name))
        return self._counted[name]

    def _require_known(self, node: Mapping[str, object]) -> None:
        if {name for name in node if name.startswith("$")} - _KNOWN:
            raise invalid(self._field, "must use no keyword with a dollar sign but `$ref`, `$defs` and `$comment`")
        if node.get("$schema", DRAFT) != DRAFT:
            raise invalid(self._field, "must be of draft 2020-12")
