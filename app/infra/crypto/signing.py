"""Ed25519 signatures over canonical JSON: what the service says of itself and others can check (certificates, seals).

Canonical JSON is RFC 8785 without fractions: members sorted by UTF-16 code units, no white space, UTF-8. Numbers are
whole and exact in every JSON reader (up to 2^53 - 1); a float is refused: two writers would write it in two ways.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Self, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SEED_BYTES: Final = 32
MAX_DEPTH: Final = 64
_MAX_INTEGER: Final = 2**53 - 1

# Any: what JSON can hold; `canonical_json` refuses everything else when it is called.
Document: TypeAlias = Mapping[str, Any]


class Signer:
    """Signs for one installation. Build it with `from_seed`; the seed is kept wrapped in the key store."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        """Take the private key."""
        self._key = key
        self._public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.key_id = _thumbprint(self._public)

    @classmethod
    def from_seed(cls, seed: bytes) -> Self:
        """Make the signer of a seed of 32 bytes: the same seed, the same key."""
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    def sign(self, document: Document) -> str:
        """Return the signature of the canonical bytes in base64url. Raises ValueError as `canonical_json` does."""
        return _encode(self._key.sign(canonical_json(document)))

    def public_jwk(self) -> dict[str, str]:
        """Return the public key as a JWK (RFC 8037), its `kid` the thumbprint of RFC 7638."""
        return {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": _encode(self._public),
            "kid": self.key_id,
            "use": "sig",
            "alg": "EdDSA",
        }


def verify(document: Document, signature: str, jwk: Mapping[str, str]) -> bool:
    """Say whether the signature is the key's for this document; a malformed signature or key is not."""
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(_decode(jwk.get("x", "")))
        key.verify(_decode(signature), canonical_json(document))
    except (InvalidSignature, ValueError):
        return False
    return True


def canonical_json(value: object) -> bytes:
    """Return the one way to write a value. Raises ValueError for floats, large numbers, lone surrogates, depth."""
    try:
        ordered = _ordered(value, 0)
        return json.dumps(ordered, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise ValueError("a lone surrogate has no canonical form") from error


def _ordered(value: object, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise ValueError(f"deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if abs(value) > _MAX_INTEGER:
            raise ValueError("a number past 2^53 - 1 isn't exact in every reader: write it as text")
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("the names of members are texts")
        return {key: _ordered(value[key], depth + 1) for key in sorted(value, key=_utf16)}
    if isinstance(value, (list, tuple)):
        return [_ordered(item, depth + 1) for item in value]
    raise ValueError(f"{type(value).__name__} has no canonical form")


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


def _thumbprint(public: bytes) -> str:
    members = {"crv": "Ed25519", "kty": "OKP", "x": _encode(public)}
    return _encode(hashlib.sha256(canonical_json(members)).digest())


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error
