"""Signing keys that an issuer publishes (JWKS, RFC 7517): fetched when needed, kept, and followed as they rotate."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jose import JOSEError, jwk
from jose.backends.base import Key

from app.core.errors import AppError

_KINDS = {("RSA", ""): "RS256", ("EC", "P-256"): "ES256"}
ALGORITHMS = frozenset(_KINDS.values())
FETCH_TIMEOUT_S = 3
# Keys are fetched anew after this time, so that one which the issuer withdrew ends.
KEEP_S = 300
# An issuer that can't be reached is done without for this long.
STALE_S = 3_600
# An unknown key id, or a failure, causes a fetch at most this often: anybody can make up key ids.
REFETCH_S = 10
MAX_BYTES = 256 * 1024
MAX_KEYS = 50
MIN_RSA_BITS = 2_048


class PublishedKeys:
    """The keys at a URL, for RS256 and ES256. An `app.web.tokens.Keys`."""

    def __init__(self, url: str, client: httpx.AsyncClient, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the URL and a client that wiring closes. `clock` gives seconds that never go back."""
        self._url = url
        self._client = client
        self._clock = clock
        self._keys: dict[tuple[str, str | None], Key] = {}
        self._loaded_at: float | None = None
        self._tried_at: float | None = None
        self._fetching = asyncio.Lock()

    async def find(self, algorithm: str, key_id: str | None) -> Key | None:
        """Return the key with this id for this algorithm. Raises `store_unavailable` where no key could ever be had."""
        if algorithm not in ALGORITHMS:
            return None
        found = self._known(algorithm, key_id)
        if found is None or not self._younger_than(KEEP_S):
            await self._refresh()
            found = self._known(algorithm, key_id)
        if not self._younger_than(STALE_S):
            raise AppError("store_unavailable", "the token issuer's keys can't be had", headers={"Retry-After": "5"})
        return found

    def _known(self, algorithm: str, key_id: str | None) -> Key | None:
        if key_id is not None:
            return self._keys.get((algorithm, key_id))
        # A token without a key id can mean only an issuer's single key.
        fitting = [key for (of, _), key in self._keys.items() if of == algorithm]
        return fitting[0] if len(fitting) == 1 else None

    def _younger_than(self, age_s: float) -> bool:
        return self._loaded_at is not None and self._clock() - self._loaded_at < age_s

    async def _refresh(self) -> None:
        """Fetch the keys, unless somebody just tried. A failure leaves the keys that are there."""
        async with self._fetching:
            if self._tried_at is not None and self._clock() - self._tried_at < REFETCH_S:
                return
            self._tried_at = self._clock()
            try:
                async with asyncio.timeout(FETCH_TIMEOUT_S):
                    published = await self._fetch()
            except (httpx.HTTPError, TimeoutError, ValueError, RecursionError):
                return
            self._keys = _usable(published)
            self._loaded_at = self._clock()

    async def _fetch(self) -> list[Any]:
        """Return the entries of the published key set. Raises ValueError for what isn't one."""
        body = bytearray()
        async with self._client.stream("GET", self._url, headers={"Accept": "application/json"}) as response:
            response.raise_for_status()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise ValueError("the key set is too large")
        published = json.loads(body)
        entries = published.get("keys") if isinstance(published, dict) else None
        if not isinstance(entries, list) or len(entries) > MAX_KEYS:
            raise ValueError("this is no key set")
        return entries


def _usable(entries: list[Any]) -> dict[tuple[str, str | None], Key]:
    """Return the keys that may sign tokens, by algorithm and id. An entry that isn't one is passed over."""
    keys: dict[tuple[str, str | None], Key] = {}
    for entry in entries:
        algorithm = _algorithm(entry) if isinstance(entry, dict) else None
        if algorithm is None:
            continue
        try:
            key = jwk.construct(entry, algorithm)
        except (JOSEError, ValueError, TypeError, KeyError):
            continue
        if _strong(key):
            keys[algorithm, entry.get("kid")] = key
    return keys


def _algorithm(entry: Mapping[str, Any]) -> str | None:
    """Return what a published key is for. Its type decides, so that no token can have it used another way."""
    kind = _KINDS.get((str(entry.get("kty")), str(entry.get("crv", ""))))
    if entry.get("use", "sig") != "sig" or entry.get("alg", kind) != kind:
        return None
    return kind if isinstance(entry.get("kid"), str | None) else None


def _strong(key: Key) -> bool:
    prepared = getattr(key, "prepared_key", None)
    return not isinstance(prepared, RSAPublicKey) or prepared.key_size >= MIN_RSA_BITS
