"""What requests and answers are made of: strict models, clean text, times in UTC, JSON within bounds."""

import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, JsonValue, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from app.core.withholding import holds_secret, withheld, withheld_json

T = TypeVar("T")

MAX_BODY_DEPTH = 32
MAX_JSON_DEPTH = 8
MAX_JSON_BYTES = 16_384
_MAX_INTEGER = 2**63
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_OUTSIDE = "must be a time between the years 1 and 9999"
# The driver writes these two as infinite, and reads them as times without a zone. (0001-01-01 is Go's "no time".)
_ENDLESS = frozenset({datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)})


def wrong(message: str) -> PydanticCustomError:
    """Return what a validator raises to refuse a value. The caller sees `message`: it must not hold the value."""
    return PydanticCustomError("cairn", "{message}", {"message": message})


class Request(BaseModel):
    """The base of request bodies: unknown fields are refused, and so is text that no store can keep, at any depth.

    Identity-card, bank-card and passport numbers, and those that the tenant has registered, are masked before a feature
    sees them (`app.core.withholding`). A body
    that is about such a number sets `takes_secrets`; what it names is compared and never stored. In fields by which
    something is found, `identifiers`, a number is refused: two of them would get one mask, and so be the same.
    """

    takes_secrets: ClassVar[bool] = False
    identifiers: ClassVar[frozenset[str]] = frozenset()
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, data: object) -> object:
        for path, problem in _unclean(data, "", 0):
            raise PydanticCustomError(problem, "refused", {"path": path})
        if isinstance(data, dict):
            for name in cls.identifiers & data.keys():
                if isinstance(data[name], str) and holds_secret(data[name]):
                    raise PydanticCustomError("registered_secret", "refused", {"path": name})
        return data if cls.takes_secrets else withheld(data)


class Answer(BaseModel):
    """The base of answers. Fields may be added to them; a client passes over what it doesn't know."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


def show_moment(moment: datetime) -> str:
    """Return the form of the wire: RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _parsed_moment(value: object) -> object:
    if isinstance(value, datetime):
        return value
    if not (isinstance(value, str) and _MOMENT.fullmatch(value)):
        raise wrong("must be a time with its zone, as in RFC 3339")
    return value


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise wrong("must be a time with its zone, as in RFC 3339")
    try:
        in_utc = moment.astimezone(UTC)
    except OverflowError:
        raise wrong(_OUTSIDE) from None
    if in_utc in _ENDLESS:
        raise wrong(_OUTSIDE)
    return in_utc


Moment = Annotated[
    datetime,
    BeforeValidator(_parsed_moment),
    AfterValidator(_in_utc),
    PlainSerializer(show_moment, return_type=str, when_used="json"),
]


def json_within(max_depth: int, max_bytes: int) -> Callable[[T], T]:
    """Return the validator of JSON that is nested no deeper and is no larger."""

    def within(value: T) -> T:
        if _depth(value) > max_depth:
            raise wrong(f"must not be nested deeper than {max_depth}")
        if not all(map(_representable, _leaves(value))):
            raise wrong("must hold only finite numbers, and integers of at most 64 bits")
        if len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) > max_bytes:
            raise wrong(f"must not be larger than {max_bytes} bytes")
        return value

    return within


# Any JSON that a caller may keep with us, and an object of it.
Json = Annotated[JsonValue, AfterValidator(json_within(MAX_JSON_DEPTH, MAX_JSON_BYTES)), AfterValidator(withheld_json)]
JsonObject = Annotated[
    dict[str, JsonValue], AfterValidator(json_within(MAX_JSON_DEPTH, MAX_JSON_BYTES)), AfterValidator(withheld_json)
]


def _unclean(data: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield where the text or the shape of `data` can't be kept, and why; the path names fields, never values."""
    if depth > MAX_BODY_DEPTH:
        yield path, "too_deep"
    elif isinstance(data, str):
        if "\x00" in data:
            yield path, "text_nul"
        elif not data.isascii() and _SURROGATE.search(data):
            yield path, "text_surrogate"
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _unclean(key, path, depth)
            yield from _unclean(value, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _unclean(value, f"{path}[{index}]", depth + 1)


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    else:
        yield value


def _representable(leaf: object) -> bool:
    if isinstance(leaf, float):
        return math.isfinite(leaf)
    return not isinstance(leaf, int) or -_MAX_INTEGER <= leaf < _MAX_INTEGER
