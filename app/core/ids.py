"""Ids: opaque, prefixed, sortable by time on the wire; plain UUIDs inside."""

import os
import time
from uuid import UUID, uuid4

from app.core.errors import AppError

# The prefixes of the wire, and nothing else, tell what an id names. A prefix that isn't here is a programming error.
PREFIXES = frozenset(
    {"usr", "ses", "msg", "mem", "prf", "doc", "chk", "cnd", "ers", "ctx", "req", "job", "opr", "imp"},
)

_HEX_LENGTH = 32
_HEX_DIGITS = frozenset("0123456789abcdef")


def uuid7() -> UUID:
    """Return a UUID of version 7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then 74 random bits."""
    millis = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10))
    value = (millis & 0xFFFFFFFFFFFF) << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)


def new_user_reference() -> UUID:
    """Return a reference for one incarnation of a user: random through and through, so that it tells no time."""
    return uuid4()


def show(prefix: str, value: UUID) -> str:
    """Return the form of the wire: the prefix, an underscore and 32 hexadecimal digits."""
    return f"{prefix}_{value.hex}"


def parse(prefix: str, text: str) -> UUID:
    """Return the UUID that `text` shows. Raises `not_found`: an id that can't exist names nothing."""
    head, _, digits = text.partition("_")
    if head != prefix or len(digits) != _HEX_LENGTH or not _HEX_DIGITS.issuperset(digits):
        raise AppError("not_found")
    return UUID(hex=digits)
