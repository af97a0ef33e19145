"""Bearer tokens: what is accepted as one, and who it names."""

import hashlib
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cachetools import TTLCache
from jose import JOSEError, jwk, jws, jwt
from jose.backends.base import Key

from app.core.errors import AppError
from app.core.scope import Subject

MAX_TOKEN_CHARS = 8_192
MAX_SUB_CHARS = 255
MAX_ISSUER_CHARS = 255
MAX_TOKEN_ID_CHARS = 255
# Clocks of issuers run ahead by this much at most.
SKEW_S = 30
CACHE_TOKENS = 10_000
# A key that its issuer has withdrawn is felt within this time.
CACHE_S = 300
DEFAULT_TENANT = "default"
HS256 = "HS256"

# jose passes over characters that aren't base64url; a token has one form only.
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
# What agents are called: names stand in the database as they are.
AGENT_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._:/@|+=~-]{0,127}"
_AGENT = re.compile(AGENT_PATTERN, re.ASCII)
_UNKEEPABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Claims:
    """What a verified token says. `names_user` is False for a token that a client got for itself."""

    subject: Subject
    agent: str | None
    scopes: frozenset[str]
    issued_at: int
    expires_at: int
    token_id: str | None
    names_user: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """What is asked of a token beside its signature."""

    issuer: str | None = None
    audience: str | None = None
    tenant_claim: str = "tenant"
    max_life_s: int = 24 * 3600
    default_scopes: frozenset[str] = frozenset()


class Keys(Protocol):
    """Knows the keys that tokens are signed with, and which algorithm each is for."""

    async def find(self, algorithm: str, key_id: str | None) -> Key | None:
        """Return the key for an algorithm that this configuration allows; None where there is none.

        The algorithm is what the token says of itself: it selects among the allowed, and allows nothing.
        """
        ...


class SharedSecret:
    """One secret for HS256."""

    def __init__(self, secret: str) -> None:
        """Take a secret of at least 32 bytes (checked in the settings)."""
        self._key = jwk.construct(secret, HS256)

    async def find(self, algorithm: str, key_id: str | None) -> Key | None:  # noqa: ARG002 - one key, whatever its id
        """Return the secret for HS256 and nothing for anything else."""
        return self._key if algorithm == HS256 else None


class Tokens:
    """Verifies tokens. A verified one is remembered by its SHA-256 for CACHE_S, with what it says and not itself."""

    def __init__(self, keys: Keys, policy: Policy, clock: Callable[[], float] = time.time) -> None:
        """Take the keys, and the policy. `clock` gives seconds since 1970."""
        self._keys = keys
        self._policy = policy
        self._clock = clock
        self._verified: TTLCache[bytes, Claims] = TTLCache(CACHE_TOKENS, CACHE_S, timer=clock)

    async def verify(self, token: str) -> Claims:
        """Return what the token says. Raises `unauthorized`; `store_unavailable` where no keys can be had."""
        if len(token) > MAX_TOKEN_CHARS or not _JWT.fullmatch(token):
            raise _refused("the token isn't a JWT")
        digest = hashlib.sha256(token.encode()).digest()
        claims = self._verified.get(digest)
        if claims is None:
            claims = self._claims(await self._payload(token))
            self._verified[digest] = claims
        if claims.expires_at <= self._clock():
            raise _refused("the token has expired")
        return claims

    async def _payload(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token whose signature is right."""
        try:
            header = jws.get_unverified_header(token)
            algorithm, key_id = header.get("alg"), header.get("kid")
        except (JOSEError, ValueError, RecursionError):
            raise _refused("the token isn't a JWT") from None
        if not isinstance(algorithm, str) or not isinstance(key_id, str | None) or "crit" in header:
            raise _refused("the token's header isn't supported")
        key = await self._keys.find(algorithm, key_id)
        if key is None:
            raise _refused("the token is signed with no key that is known here")
        policy = self._policy
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=policy.audience,
                issuer=policy.issuer,
                options={
                    "require_exp": True,
                    "require_iat": True,
                    "require_sub": True,
                    # jose lets a token without these pass unless told so, and checks an audience that nobody asked for.
                    "require_iss": policy.issuer is not None,
                    "require_aud": policy.audience is not None,
                    "verify_aud": policy.audience is not None,
                    "verify_at_hash": False,
                    "leeway": SKEW_S,
                },
            )
        except (JOSEError, ValueError, TypeError, OverflowError, RecursionError):
            # Which check failed isn't told: what a forged token learns from the answer is nothing.
            raise _refused("the token's signature, times, issuer or audience aren't right") from None

    def _claims(self, payload: Mapping[str, Any]) -> Claims:
        """Return what a payload says, each claim checked again and strictly: jose takes `"17"` and `true` for times."""
        issued_at, expires_at = _time(payload, "iat"), _time(payload, "exp")
        if issued_at > self._clock() + SKEW_S:
            raise _refused("the token was issued in the future")
        if not 0 < expires_at - issued_at <= self._policy.max_life_s:
            raise _refused(f"the token must live {self._policy.max_life_s} seconds at most")
        sub = _text(payload, "sub", MAX_SUB_CHARS)
        issuer = _text(payload, "iss", MAX_ISSUER_CHARS) if "iss" in payload else ""
        tenant = _matching(payload, self._policy.tenant_claim, _TENANT) or DEFAULT_TENANT
        return Claims(
            subject=Subject(issuer, tenant, sub),
            agent=_agent(payload),
            scopes=_scopes(payload) or self._policy.default_scopes,
            issued_at=issued_at,
            expires_at=expires_at,
            token_id=_text(payload, "jti", MAX_TOKEN_ID_CHARS) if "jti" in payload else None,
            names_user=sub not in (payload.get("client_id"), payload.get("azp")),
        )


def _agent(payload: Mapping[str, Any]) -> str | None:
    """Return the agent that acts: `act.sub` (RFC 8693), else `agent`, else the client."""
    if "act" in payload:
        actor = payload["act"]
        if not isinstance(actor, Mapping) or "sub" not in actor:
            raise _refused("the claim `act` names nobody")
        return _matching(actor, "sub", _AGENT)
    for claim in ("agent", "azp", "client_id"):
        if claim in payload:
            return _matching(payload, claim, _AGENT)
    return None


def _scopes(payload: Mapping[str, Any]) -> frozenset[str]:
    """Return the scopes of `scope` and `scp`, each a string with spaces or a list; empty where none is named."""
    found: set[str] = set()
    for claim in ("scope", "scp"):
        named = payload.get(claim, [])
        words = named.split() if isinstance(named, str) else named
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise _refused(f"the claim `{claim}` isn't a list of scopes")
        found.update(words)
    return frozenset(found)


def _time(payload: Mapping[str, Any], claim: str) -> int:
    value = payload.get(claim)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(f"the claim `{claim}` isn't a time")
    return int(value)


def _text(payload: Mapping[str, Any], claim: str, max_chars: int) -> str:
    value = payload.get(claim)
    if not isinstance(value, str) or not value.strip() or len(value) > max_chars or _UNKEEPABLE.search(value):
        raise _refused(f"the claim `{claim}` isn't a text of 1 to {max_chars} characters")
    return value


def _matching(payload: Mapping[str, Any], claim: str, pattern: re.Pattern[str]) -> str | None:
    """Return a claim that becomes a name in rows and logs, None where it is absent."""
    if claim not in payload:
        return None
    value = payload[claim]
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _refused("the token's tenant or agent has a form that isn't accepted")
    return value


def _refused(detail: str) -> AppError:
    return AppError("unauthorized", detail)
