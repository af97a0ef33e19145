"""What is never stored: numbers of identity cards, bank cards and passports give way to a mask that names their kind.

Everything that comes in is made of `app.web.wire.Request`, which masks it; files are masked when they have become text.
"""

import json
import re
from collections.abc import Mapping
from typing import Final, TypeVar, cast

from app.core.text.secrets import Kind, find

T = TypeVar("T")

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


def withheld_text(text: str) -> str:
    """Return the text with a mask for each number, in Chinese where the text is. Twice is the same as once."""
    secrets = find(text)
    if not secrets:
        return text
    masks = _CHINESE_MASKS if _HAN.search(text) else _MASKS
    parts: list[str] = []
    end = 0
    for secret in secrets:
        parts += [text[end : secret.start], masks[secret.kind]]
        end = secret.end
    return "".join(parts) + text[end:]


def withheld(value: T) -> T:
    """Return JSON with a mask for each number in it: in its texts, in its names, and where it is a JSON number.

    A text that is JSON itself (the arguments of a tool call) stays JSON. What holds no number is returned as it is.
    """
    return cast("T", _withheld(value))


def holds_secret(text: str) -> bool:
    """Say whether there is a number in the text."""
    return bool(find(text))


def _withheld(value: object) -> object:
    if isinstance(value, str):
        return _withheld_string(value)
    if isinstance(value, dict):
        return _withheld_object(value)
    if isinstance(value, list):
        items = [_withheld(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 10 * _LEAST_NUMBER**2:
        masked = _withheld(int(value))
        return masked if isinstance(masked, str) else value
    if isinstance(value, int) and value >= _LEAST_NUMBER:
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
    return masked if _is_json(masked) else json.dumps(_withheld(inner), ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _withheld_object(given: Mapping[object, object]) -> Mapping[object, object]:
    masked: dict[object, object] = {}
    changed = False
    for name, value in given.items():
        new_name, new_value = _withheld(name), _withheld(value)
        changed = changed or new_name is not name or new_value is not value
        # Two names may get the same mask: none of their values is lost.
        shown, count = new_name, 1
        while shown in masked:
            count += 1
            shown = f"{new_name} {count}"
        masked[shown] = new_value
    return masked if changed else given
