"""The box of an anonymous session: its keys are derived from the session's token and stand nowhere.

Who has the token reads the session; when the token is lost, so is the session. Nothing is rotated: it lives for hours.
"""

from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.infra.crypto.box import KEY_BYTES, Box

# 43 characters of base64url carry 256 bits. HKDF stretches a key, it doesn't strengthen one.
MIN_TOKEN_CHARS: Final = 43
_VERSION: Final = 1


def anonymous_box(token: str, session: UUID) -> Box:
    """Return the box of the session that the token opens. Raises ValueError for a token too short to be a key."""
    if len(token) < MIN_TOKEN_CHARS:
        raise ValueError(f"a session token has at least {MIN_TOKEN_CHARS} characters")
    data_key, index_secret = _derive(token, session, b"data"), _derive(token, session, b"index")
    return Box(session, {_VERSION: data_key}, _VERSION, index_secret)


def _derive(token: str, session: UUID, purpose: bytes) -> bytes:
    info = b"cairn/1/anonymous/" + purpose
    return HKDF(SHA256(), KEY_BYTES, session.bytes, info).derive(token.encode("utf-8", "surrogatepass"))
