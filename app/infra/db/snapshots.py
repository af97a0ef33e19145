"""Snapshots on the wire: the number of a user's last change, bound to that user."""

import hmac

from app.core.errors import invalid
from app.infra.crypto.box import Box

_PREFIX = "snp"
_MAX_DIGITS = 18


def show_snapshot(box: Box, number: int) -> str:
    """Return the opaque form: the number and a tag that only this user's box makes."""
    return f"{_PREFIX}_{number}_{_tag(box, number)}"


def read_snapshot(box: Box, text: str) -> int:
    """Return the change number that `text` shows. Raises `invalid` for anything this user was never given."""
    prefix, _, rest = text.partition("_")
    digits, _, tag = rest.partition("_")
    if prefix != _PREFIX or not digits.isascii() or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise invalid("snapshot", "isn't a snapshot of this user's memory")
    if not hmac.compare_digest(tag.encode(), _tag(box, int(digits)).encode()):
        raise invalid("snapshot", "isn't a snapshot of this user's memory")
    return int(digits)


def _tag(box: Box, number: int) -> str:
    return box.tag("snapshot", str(number))[:8].hex()
