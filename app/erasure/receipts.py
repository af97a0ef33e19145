"""Receipts: what opens an erasure when the user, and every token of theirs, is gone."""

import base64
import binascii
import hmac
import json
from collections.abc import Callable
from uuid import UUID

from app.core.errors import AppError
from app.core.scope import Actor, Scope

MAX_CHARS = 1_000

# Makes the secret of an erasure from its id; the vault's.
Secret = Callable[[UUID], str]


def make_receipt(secret: Secret, scope: Scope, erasure_id: UUID) -> str:
    """Return the receipt of an erasure: the same at every asking."""
    claims = json.dumps([scope.tenant, scope.usr.hex, erasure_id.hex], separators=(",", ":")).encode()
    return f"{base64.urlsafe_b64encode(claims).decode()}.{_mac(secret, erasure_id, claims)}"


def read_receipt(secret: Secret, erasure_id: UUID, receipt: str, request_id: str, address: str) -> Scope:
    """Return the scope that the receipt of this erasure opens. Raises `not_found` for any other text.

    Beside a token and a claimed job, a receipt is what a scope is minted from: it is signed by this installation.
    """
    encoded, _, mac = receipt[:MAX_CHARS].partition(".")
    try:
        claims = base64.b64decode(encoded, altchars=b"-_", validate=True)
        tenant, usr, erasure = json.loads(claims)
        named = UUID(hex=erasure), UUID(hex=usr)
    except (binascii.Error, ValueError, TypeError, AttributeError):
        raise AppError("not_found") from None
    if named[0] != erasure_id or not hmac.compare_digest(mac.encode(), _mac(secret, erasure_id, claims).encode()):
        raise AppError("not_found")
    return Scope(tenant, named[1], None, Actor.USER, request_id, address)


def _mac(secret: Secret, erasure_id: UUID, claims: bytes) -> str:
    return hmac.new(bytes.fromhex(secret(erasure_id)), claims, "sha256").hexdigest()
