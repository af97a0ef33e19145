"""Master keys: wrap the keys of users and of the installation. Several may be known; the first one wraps.

What another one wrapped still unwraps: so a master key is rotated while the service serves, by `rewrap` of each row.
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping
from typing import Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
MAX_KEYS: Final = 16

_FORMAT: Final = 1
_NONCE_BYTES: Final = 12
_GCM_TAG_BYTES: Final = 16
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,32}")


class MasterKeyError(Exception):
    """Master keys are malformed, missing or wrong. The message names ids, never key bytes."""


class MasterKeys:
    """The master keys that a process knows, by id."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        """Take the keys, the current one first."""
        if not 0 < len(keys) <= MAX_KEYS:
            raise MasterKeyError(f"between one and {MAX_KEYS} master keys are needed, not {len(keys)}")
        for master_id, key in keys.items():
            if _ID.fullmatch(master_id) is None:
                raise MasterKeyError("the id of a master key is 1 to 32 of letters, digits, '_', '.' and '-'")
            if len(key) != KEY_BYTES:
                raise MasterKeyError(f"master key '{master_id}' is of {len(key)} bytes, not {KEY_BYTES}")
        self.current = next(iter(keys))
        self.ids = tuple(keys)
        self._ciphers = {master_id: AESGCM(key) for master_id, key in keys.items()}

    def __repr__(self) -> str:
        """Show the ids and no key."""
        return f"MasterKeys({', '.join(self.ids)})"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `id:base64[,id:base64]`, the current key first. Raises MasterKeyError, which never repeats a key."""
        keys: dict[str, bytes] = {}
        for number, part in enumerate(text.split(","), 1):
            master_id, colon, encoded = part.strip().partition(":")
            if not colon or _ID.fullmatch(master_id) is None:
                raise MasterKeyError(f"master key {number} isn't of the form id:base64")
            if master_id in keys:
                raise MasterKeyError(f"master key '{master_id}' is given twice")
            keys[master_id] = _decode(master_id, encoded)
        return cls(keys)

    @classmethod
    def generate(cls, master_id: str) -> str:
        """Return a new key in the form that `parse` reads."""
        return f"{master_id}:{base64.b64encode(os.urandom(KEY_BYTES)).decode()}"

    def wrap(self, key: bytes, context: bytes) -> tuple[bytes, str]:
        """Return the key wrapped under the current master key, and that one's id. `context` says which key it is."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self.current].encrypt(nonce, key, _associated(self.current, context))
        return bytes([_FORMAT]) + nonce + sealed, self.current

    def unwrap(self, wrapped: bytes, master_id: str, context: bytes) -> bytes:
        """Return the key. Raises MasterKeyError where the master key is unknown or isn't the one that wrapped it."""
        cipher = self._ciphers.get(master_id)
        if cipher is None:
            raise MasterKeyError(f"master key '{master_id}' is missing: known are {', '.join(self.ids)}")
        if len(wrapped) < 1 + _NONCE_BYTES + _GCM_TAG_BYTES or wrapped[0] != _FORMAT:
            raise MasterKeyError(f"what is said to be wrapped under master key '{master_id}' is no wrapped key")
        nonce, sealed = wrapped[1 : 1 + _NONCE_BYTES], wrapped[1 + _NONCE_BYTES :]
        try:
            return cipher.decrypt(nonce, sealed, _associated(master_id, context))
        except InvalidTag as error:
            raise MasterKeyError(
                f"master key '{master_id}' isn't the one that wrapped this key, or the wrapped key was altered",
            ) from error

    def rewrap(self, wrapped: bytes, master_id: str, context: bytes) -> tuple[bytes, str]:
        """Return the key wrapped under the current master key; as it is where that is so already."""
        if master_id == self.current:
            return wrapped, master_id
        return self.wrap(self.unwrap(wrapped, master_id, context), context)


def _associated(master_id: str, context: bytes) -> bytes:
    parts = (b"cairn-wrap", bytes([_FORMAT]), master_id.encode(), context)
    return b"".join([len(part).to_bytes(4) + part for part in parts])


def _decode(master_id: str, encoded: str) -> bytes:
    standard = encoded.strip().translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        # `from None`: the cause would carry nothing of use, and a traceback with locals would carry the key.
        raise MasterKeyError(f"master key '{master_id}' isn't valid base64") from None
