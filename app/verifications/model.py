"""Registered secrets as data, and the hash that stands for one."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime

from app.core.errors import invalid
from app.core.text.secrets import canonical
from app.infra.crypto.box import Box

TYPE_PATTERN = r"^[a-z][a-z0-9_]{0,63}$"
MIN_VALUE_CHARS = 4
MAX_VALUE_CHARS = 128
_SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Hash:
    """What is kept of a value. Its key comes from the user's, and dies with them: then nobody can try values."""

    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Registration:
    """What a user can be verified by: which type, since when, and the operator's reason."""

    type: str
    is_registered: bool
    reason: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Verification:
    """That a value was right. `token` is told once, to who asked."""

    type: str
    expires_at: datetime
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Issued:
    """What a token was given for. The salt, new with every registration, tells which value was right then."""

    verification: Verification
    salt: bytes = field(repr=False)

    def is_of(self, kept: Hash | None) -> bool:
        """Say whether the value is registered still: a token of one that was replaced or withdrawn says nothing."""
        return kept is not None and hmac.compare_digest(self.salt, kept.salt)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many more comparisons the user has, and when the oldest stops counting."""

    remaining: int
    reset_s: int


def hashed(box: Box, kind: str, value: str) -> Hash:
    """Return what is kept of a value. Raises `invalid` for one with too little in it."""
    written = _written(value)
    salt = secrets.token_bytes(_SALT_BYTES)
    return Hash(salt, _digest(box, kind, salt, written))


def is_same(box: Box, kind: str, kept: Hash | None, value: str) -> bool:
    """Compare a value with what is kept, in the same time whether it is right, wrong, or nothing is kept."""
    against = kept or Hash(secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(hashlib.sha256().digest_size))
    is_equal = hmac.compare_digest(_digest(box, kind, against.salt, _written(value)), against.digest)
    return is_equal and kept is not None


def _written(value: str) -> str:
    """Return a value without the ways to write it. Raises `invalid`."""
    written = canonical(value)
    if len(written) < MIN_VALUE_CHARS:
        raise invalid("value", f"must have at least {MIN_VALUE_CHARS} letters or digits")
    return written


def _digest(box: Box, kind: str, salt: bytes, written: str) -> bytes:
    message = len(salt).to_bytes(1) + salt + kind.encode() + b"\x00" + written.encode("utf-8", "surrogatepass")
    return hmac.digest(box.derive("registered-secrets"), message, "sha256")
