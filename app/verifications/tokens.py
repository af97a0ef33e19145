"""What is known of verifications in Redis, and there alone: how many comparisons a user made, and which tokens live.

Without Redis nothing is compared: who could compare without a limit could try all values.
"""

import hashlib
import secrets
from datetime import UTC, datetime
from typing import Final

from app.core.errors import AppError
from app.core.scope import Scope
from app.infra.crypto.box import Box, Place
from app.infra.redis import keys
from app.infra.redis.client import RedisStore
from app.infra.redis.script import writing
from app.verifications.model import Allowance, Hash, Issued, Verification

MAX_ATTEMPTS: Final = 10
WINDOW_S: Final = 600
TOKEN_LIFE_S: Final = 300
PREFIX: Final = "vrf_"
POLICY: Final = f'"verifications";q={MAX_ATTEMPTS};w={WINDOW_S}'

_COUNT = writing("""
local most, window_us = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', now - window_us))
local made = redis.call('ZCARD', KEYS[3])
local left = most - made - 1
if left >= 0 then
    redis.call('ZADD', KEYS[3], string.format('%.0f', now), ARGV[3])
    keep(ARGV[2])
end
local oldest = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
return {me(), left >= 0 and 'counted' or 'full', left, math.ceil((tonumber(oldest[2]) + window_us - now) / 1000000)}
""")
_KEEP = writing("""
redis.call('SET', KEYS[3], ARGV[1])
keep(ARGV[2])
return {me(), 'kept'}
""")


class Tokens:
    """Counts comparisons, and keeps what tokens stand for, sealed, by their hashes."""

    def __init__(self, redis: RedisStore) -> None:
        """Take the store."""
        self._redis = redis

    async def count(self, scope: Scope) -> Allowance:
        """Count one comparison of the user's. Raises `rate_limited`, `store_unavailable`."""
        names = [keys.tombstone(scope.usr), keys.index(scope.usr), keys.verification_attempts(scope.usr)]
        _, state, *rest = await self._redis.run(_COUNT, names, [MAX_ATTEMPTS, WINDOW_S, secrets.token_hex(8)])
        _require_alive(state)
        left, reset_s = (int(number) for number in rest)
        if state == b"full":
            raise AppError(
                "rate_limited",
                f"a user may have {MAX_ATTEMPTS} values compared in {WINDOW_S} seconds",
                headers={"Retry-After": str(reset_s), **limit_headers(Allowance(0, reset_s))},
            )
        return Allowance(left, reset_s)

    async def issue(self, scope: Scope, box: Box, kind: str, of: Hash, now: datetime) -> Verification:
        """Return a new token for the value behind a hash, which was right. Raises `store_unavailable`."""
        token = PREFIX + secrets.token_urlsafe(32)
        digest = _digest(token)
        expires_at = datetime.fromtimestamp(int(now.timestamp()) + TOKEN_LIFE_S, UTC)
        sealed = box.seal_json([kind, int(expires_at.timestamp()), of.salt.hex()], _place(digest))
        names = [keys.tombstone(scope.usr), keys.index(scope.usr), keys.verification(scope.usr, digest)]
        _, state, *_ = await self._redis.run(_KEEP, names, [sealed, TOKEN_LIFE_S])
        _require_alive(state)
        return Verification(kind, expires_at, token)

    async def find(self, scope: Scope, box: Box, token: str, now: datetime) -> Issued | None:
        """Return what a token of the user's was given for, None where there is none alive."""
        digest = _digest(token)
        sealed = await self._redis.command("GET", keys.verification(scope.usr, digest))
        if sealed is None:
            return None
        kind, expires_at, *salt = box.open_json(sealed, _place(digest))
        found = Issued(Verification(kind, datetime.fromtimestamp(expires_at, UTC)), bytes.fromhex("".join(salt)))
        return found if found.verification.expires_at > now else None


def limit_headers(allowance: Allowance) -> dict[str, str]:
    """Return the headers that tell of the limit."""
    told = f'"verifications";r={allowance.remaining};t={allowance.reset_s}'
    return {"RateLimit-Policy": POLICY, "RateLimit": told}


def _require_alive(state: bytes) -> None:
    if state == b"dead":
        raise AppError("erased")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _place(digest: bytes) -> Place:
    return Place("redis", "verification", digest)
