"""What is never stored: numbers of identity cards, bank cards and passports give way to a mask that names their kind.

So does whatever the tenant has registered: what finds it is set for the task (a request, a job) that takes something
in. Everything that comes in is made of `app.web.wire.Request`, which masks it; files are masked once they are text.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Final, NamedTuple, Protocol, TypeVar, cast

from app.core.text.secrets import Kind, find

T = TypeVar("T")


class Found(NamedTuple):
    """Where in a text something stands that is never stored, and the name of its kind."""

    start: int
    end: int
    kind: str


class Finder(Protocol):
    """Finds what a tenant has registered."""

    def find(self, text: str) -> Sequence[Found]:
        """Return what of the text is registered, in order; none overlaps another."""
        ...


class Registered(Protocol):
    """Knows what tenants have registered, as it is at this moment."""

    async def enter(self, tenant: str) -> Finder:
        """Have the texts of this task masked by what the tenant has registered too. Raises `store_unavailable`."""
        ...


_FINDER: ContextVar[Finder | None] = ContextVar("cairn_registered", default=None)

_MASKS: Final[Mapping[Kind, str]] = {
    Kind.IDENTITY_CARD: "[identity number withheld]",
    Kind.BANK_CARD: "[bank card number withheld]",
    Kind.PASSPORT: "[passport number withheld]",
}
_CHINESE_MASKS: Final[Mapping[Kind, str]] = {
    Kind.IDENTITY_CARD: "[身份证号码已隐去]",
    Kind.BANK_CARD: "[银行卡号已隐去]",
    Kind.PASSPORT: "[护照号码已隐去]",
}
_HAN: Final = re.compile("[\u3400-\u9fff]")
_LEAST_NUMBER: Final = 10**12
# Registered ones may be shorter (`app/verifications/patterns/expression.py`).
_LEAST_REGISTERED: Final = 10**5


def withhold_also(finder: Finder | None) -> None:
    """Have what this task takes in masked by this too; None: by nothing but what every tenant's is."""
    _FINDER.set(finder)


def merged(found: Iterable[Found]) -> list[Found]:
    """Return places in order, those that overlap as one: nothing is left of either."""
    apart: list[Found] = []
    for each in sorted(found):
        if apart and each.start < apart[-1].end:
            last = apart[-1]
            apart[-1] = Found(last.start, max(last.end, each.end), last.kind)
        else:
            apart.append(each)
    return apart


def withheld_text(text: str) -> str:
    """Return the text with a mask for each number, in Chinese where the text is. Twice is the same as once."""
    return withheld_with_places(text, ())[0]


def withheld_with_places(text: str, places: Sequence[int]) -> tuple[str, list[int]]:
    """Return the text with a mask for each number, and where places of it are then.

    A place inside a number moves to the end of its mask.
    """
    found = _found(text)
    if not found:
        return text, list(places)
    is_chinese = _HAN.search(text) is not None
    parts: list[str] = []
    starts, shifts = [0], [0]
    end = 0
    for each in found:
        mask = _mask(each.kind, is_chinese=is_chinese)
        parts += [text[end : each.start], mask]
        end = each.end
        starts.append(each.start + 1)
        shifts.append(shifts[-1] + len(mask) - (each.end - each.start))
    ends = [0, *(each.end for each in found)]

    def moved(place: int) -> int:
        last = bisect_right(starts, place) - 1
        return max(place, ends[last]) + shifts[last]

    return "".join(parts) + text[end:], [moved(place) for place in places]


def withheld(value: T) -> T:
    """Return JSON with a mask for each number in it: in its texts, in its names, and where it is a JSON number.

    A text that is JSON itself (the arguments of a tool call) stays JSON. What holds no number is returned as it is.
    JSON numbers of registered kinds are left: `withheld_json` masks them, where no number of the protocol's can stand.
    """
    return cast("T", _withheld(value, _LEAST_NUMBER))


def withheld_json(value: T) -> T:
    """Return free JSON of a caller's with a mask for each number in it, as `withheld`; JSON numbers of every kind."""
    return cast("T", _withheld(value, _least()))


def holds_secret(text: str) -> bool:
    """Say whether there is a number in the text."""
    return bool(_found(text))


def _found(text: str) -> Sequence[Found]:
    known = [Found(secret.start, secret.end, secret.kind.value) for secret in find(text)]
    finder = _FINDER.get()
    registered = finder.find(text) if finder is not None else ()
    return merged([*known, *registered]) if registered else known


def _mask(kind: str, *, is_chinese: bool) -> str:
    if kind in _MASKS:
        return (_CHINESE_MASKS if is_chinese else _MASKS)[Kind(kind)]
    return f"[{kind} 已隐去]" if is_chinese else f"[{kind} withheld]"


def _least() -> int:
    return _LEAST_NUMBER if _FINDER.get() is None else _LEAST_REGISTERED


def _withheld(value: object, least: int) -> object:
    if isinstance(value, str):
        return _withheld_string(value)
    if isinstance(value, dict):
        return _withheld_object(value, least)
    if isinstance(value, list):
        items = [_withheld(item, least) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 10 * _LEAST_NUMBER**2:
        masked = _withheld(int(value), least)
        return masked if isinstance(masked, str) else value
    if isinstance(value, int) and value >= least:
        masked = withheld_text(str(value))
        return masked if masked != str(value) else value
    return value


def _withheld_string(text: str) -> str:
    masked = withheld_text(text)
    if masked is text or not text.lstrip().startswith(("{", "[")):
        return masked
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return masked
    return masked if _is_json(masked) else json.dumps(_withheld(inner, _least()), ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _withheld_object(given: Mapping[object, object], least: int) -> Mapping[object, object]:
    masked: dict[object, object] = {}
    changed = False
    for name, value in given.items():
        new_name, new_value = _withheld(name, least), _withheld(value, least)
        changed = changed or new_name is not name or new_value is not value
        # Two names may get the same mask: none of their values is lost.
        shown, count = new_name, 1
        while shown in masked:
            count += 1
            shown = f"{new_name} {count}"
        masked[shown] = new_value
    return masked if changed else given
