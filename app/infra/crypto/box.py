"""The box of one user: seals their data for one place and one row, tags what must be found, names their terms.

A blob opens only for the user, table, column and row that it was sealed for; anything else raises SealError.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from numpy.typing import NDArray

KEY_BYTES: Final = 32
TAG_BYTES: Final = 16
TERM_BYTES: Final = 8
# Nonces are random: NIST SP 800-38D (8.3) allows 2^32 seals under one key, after which two equal nonces get likelier
# than 2^-32. That is why data keys have versions: rotate long before; what the old one sealed stays readable.
MAX_SEALS_PER_KEY: Final = 2**32

_FORMAT: Final = 1
_KEY_ID_BYTES: Final = 8
_VERSION_BYTES: Final = 4
_HEADER_BYTES: Final = 1 + _KEY_ID_BYTES + _VERSION_BYTES
_NONCE_BYTES: Final = 12
_GCM_TAG_BYTES: Final = 16
OVERHEAD_BYTES: Final = _HEADER_BYTES + _NONCE_BYTES + _GCM_TAG_BYTES


class SealError(Exception):
    """A blob doesn't open here. The message names the place and the reason, never content or key bytes."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sealed value stands: moved to another row, column or table it doesn't open.

    `row` is the id of the row, or `row_key` of the parts of its key.
    """

    table: str
    column: str
    row: UUID | bytes

    def __str__(self) -> str:
        """Name the place without its row: what an error or a log line may carry."""
        return f"{self.table}.{self.column}"


class Box:
    """Seals and opens with the data keys of one user; derives everything that is searched by from their index secret.

    Safe to share between threads: nothing in it changes but a memo of derived keys.
    """

    def __init__(self, usr: UUID, keys: Mapping[int, bytes], current: int, index_secret: bytes) -> None:
        """Take the unwrapped keys by version, the version that seals, and the secret that outlives their rotation."""
        if current not in keys:
            raise ValueError(f"the current key version {current} isn't among the keys")
        if any(len(key) != KEY_BYTES for key in keys.values()) or len(index_secret) != KEY_BYTES:
            raise ValueError(f"keys and the index secret are of {KEY_BYTES} bytes")
        if not all(0 < version < 1 << 8 * _VERSION_BYTES for version in keys):
            raise ValueError("key versions are from 1 to 2^32 - 1")
        self.usr = usr
        self.current = current
        self._ciphers = {version: AESGCM(key) for version, key in keys.items()}
        self._headers = {version: _header(key, version) for version, key in keys.items()}
        self._index_secret = index_secret
        self._derived: dict[str, bytes] = {}
        self._terms = hashlib.blake2b(digest_size=TERM_BYTES, key=self.derive("terms"))

    def __repr__(self) -> str:
        """Show whose box it is and no key."""
        return f"Box({self.usr}, current={self.current})"

    def seal(self, data: bytes, place: Place) -> bytes:
        """Return format (1 byte), key id (8), version (4), nonce (12), ciphertext, tag (16): 41 bytes over data."""
        header = self._headers[self.current]
        nonce = os.urandom(_NONCE_BYTES)
        return header + nonce + self._ciphers[self.current].encrypt(nonce, data, self._associated(header, place))

    def open(self, blob: bytes, place: Place) -> bytes:
        """Return what was sealed for this place. Raises SealError where anything differs."""
        if len(blob) < OVERHEAD_BYTES or blob[0] != _FORMAT:
            raise SealError(f"{place}: not a sealed value")
        header = blob[:_HEADER_BYTES]
        version = int.from_bytes(header[1 + _KEY_ID_BYTES :])
        if version not in self._ciphers:
            raise SealError(f"{place}: sealed under key version {version}, which isn't among the user's keys")
        if header != self._headers[version]:
            raise SealError(f"{place}: sealed under another user's key")
        nonce, sealed = blob[_HEADER_BYTES : _HEADER_BYTES + _NONCE_BYTES], blob[_HEADER_BYTES + _NONCE_BYTES :]
        try:
            return self._ciphers[version].decrypt(nonce, sealed, self._associated(header, place))
        except InvalidTag as error:
            raise SealError(f"{place}: altered, or moved from another place") from error

    def seal_json(self, value: object, place: Place) -> bytes:
        """Seal a value as JSON. Raises TypeError or ValueError for what JSON can't hold (a date, NaN)."""
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return self.seal(text.encode("utf-8", "surrogatepass"), place)

    def open_json(self, blob: bytes, place: Place) -> Any:  # noqa: ANN401 - what was sealed, as the caller knows it
        """Return the value that `seal_json` sealed for this place."""
        return json.loads(self.open(blob, place).decode("utf-8", "surrogatepass"))

    def is_current(self, blob: bytes) -> bool:
        """Say whether a blob is sealed under the current key: one that isn't is due to be sealed anew."""
        return blob[:_HEADER_BYTES] == self._headers[self.current]

    def tag(self, purpose: str, text: str) -> bytes:
        """Return 16 bytes to find a sealed value by: the same for the same text, user and purpose only."""
        key = self.derive("tag:" + purpose)
        return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256")[:TAG_BYTES]

    def derive(self, purpose: str) -> bytes:
        """Return a key of 32 bytes for one purpose, named in the code. It stays the same when data keys are rotated."""
        key = self._derived.get(purpose)
        if key is None:
            info = b"cairn/1/" + purpose.encode()
            key = self._derived[purpose] = HKDF(SHA256(), KEY_BYTES, self.usr.bytes, info).derive(self._index_secret)
        return key

    def term(self, text: str) -> int:
        """Return the term's id in this user's lexical index: 64 bits of keyed BLAKE2b."""
        return int(self.term_ids([text])[0])

    def term_ids(self, texts: Sequence[str]) -> NDArray[np.uint64]:
        """Return the ids of many terms, in their order."""
        memo: dict[str, bytes] = {}
        for text in texts:
            if text not in memo:
                state = self._terms.copy()
                state.update(text.encode("utf-8", "surrogatepass"))
                memo[text] = state.digest()
        return np.frombuffer(b"".join([memo[text] for text in texts]), dtype="<u8").astype(np.uint64)

    def _associated(self, header: bytes, place: Place) -> bytes:
        parts = (b"cairn-seal", header, self.usr.bytes, place.table.encode(), place.column.encode(), _row(place))
        return b"".join([len(part).to_bytes(4) + part for part in parts])


def row_key(item: UUID, *numbers: int) -> bytes:
    """Return the key of a row that is one of several of an item: a version, or a version's part."""
    return item.bytes + b"".join(number.to_bytes(8) for number in numbers)


def _row(place: Place) -> bytes:
    return place.row.bytes if isinstance(place.row, UUID) else place.row


def _header(key: bytes, version: int) -> bytes:
    return bytes([_FORMAT]) + _key_id(key) + version.to_bytes(_VERSION_BYTES)


def _key_id(key: bytes) -> bytes:
    """Return 8 bytes that name a key and say nothing of it."""
    return HKDFExpand(SHA256(), _KEY_ID_BYTES, b"cairn/1/key-id").derive(key)
