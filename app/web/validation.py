"""What is told of a field that isn't valid: the program's own words by the kind of error, never the value."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.core.errors import FieldError

MAX_ERRORS = 20
MAX_FIELD_CHARS = 128
# A name that a caller made up is shown only if it looks like one; anything longer or freer may be content.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\[\d+\]|\.[A-Za-z_][A-Za-z0-9_-]*)*", re.ASCII)
_PLACES = frozenset({"body", "query", "path", "header", "cookie"})

_OBJECT = "must be an object"
_LIST = "must be a list"
_INTEGER = "must be an integer"
_NUMBER = "must be a number"
_TRUTH = "must be true or false"
_TIME = "must be a time with its zone, as in RFC 3339"
_URL = "must be a URL"

# By pydantic's type of error. What stands in braces comes from the schema, not from the caller.
MESSAGES: Mapping[str, str] = {
    "missing": "is required",
    "extra_forbidden": "isn't known here",
    "none_required": "must be null",
    "json_invalid": "isn't valid JSON",
    "string_type": "must be a string",
    "string_unicode": "holds a lone surrogate",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "int_type": _INTEGER,
    "int_parsing": _INTEGER,
    "int_parsing_size": _INTEGER,
    "int_from_float": _INTEGER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "must be a finite number",
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "must say which kind it is",
    "list_type": _LIST,
    "tuple_type": _LIST,
    "set_type": _LIST,
    "frozen_set_type": _LIST,
    "dict_type": _OBJECT,
    "mapping_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "datetime_object_invalid": _TIME,
    "timezone_aware": _TIME,
    "date_type": "must be a date",
    "date_parsing": "must be a date",
    "date_from_datetime_parsing": "must be a date",
    "date_from_datetime_inexact": "must be a date",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "url_type": _URL,
    "url_parsing": _URL,
    "url_scheme": _URL,
    "text_nul": "holds a NUL character",
    "text_surrogate": "holds a lone surrogate",
    "registered_secret": "must not hold a number that is never stored, of an identity card, say, or a registered one",
    "too_deep": "is nested too deeply",
}
OTHERWISE = "isn't valid"


def field_errors(errors: Iterable[Mapping[str, Any]]) -> tuple[FieldError, ...]:
    """Return what is told of pydantic's errors: which field, and what would be valid; at most MAX_ERRORS of them."""
    told = (FieldError(_field(error), _message(error)) for error in errors)
    return tuple(dict.fromkeys(told))[:MAX_ERRORS]


def shown_name(name: str) -> str | None:
    """Return a name that a caller made up, None where it may be content rather than a name."""
    return name if _NAME.fullmatch(name) else None


def _message(error: Mapping[str, Any]) -> str:
    kind = error["type"]
    if kind == "cairn":  # a validator of ours has said it: app.web.wire.wrong
        return str(error["msg"])
    template = MESSAGES.get(kind)
    return OTHERWISE if template is None else template.format_map(error.get("ctx", {}))


def _field(error: Mapping[str, Any]) -> str:
    place, *rest = error["loc"] or ("body",)
    if error["type"] == "json_invalid":
        rest = []  # a position in the text
    elif place not in _PLACES:
        rest = [place, *rest]
    path = ""
    for part in rest:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not _NAME.fullmatch(part):
            break
        else:
            path += f".{part}" if path else part
    inner = error.get("ctx", {}).get("path", "")
    if inner and _PATH.fullmatch(inner):
        path += f".{inner}" if path else inner
    return path if path and len(path) <= MAX_FIELD_CHARS else str(place)
