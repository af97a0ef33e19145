"""The vault: turns subjects into references and references into boxes. The only place where unwrapped keys are held."""

import asyncio
import hashlib
import hmac
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from cachetools import LRUCache, TTLCache

from app.core.errors import AppError
from app.core.identity import ERASURE_SKEW_S
from app.core.ids import new_user_reference
from app.core.scope import Subject
from app.infra.crypto.box import Box
from app.infra.crypto.master import MasterKeyError, MasterKeys
from app.infra.crypto.signing import Signer
from app.infra.keys.store import Entry, Erasure, KeyStore, Wrapped

KEY_BYTES = 32
# How long a process may act on what it knows of a user. The user's row refuses what an erasure overtook, whatever is
# cached.
CACHE_S = 30
CACHE_USERS = 10_000
# A new data key opens at once and seals after this time: until then a process may not know it yet.
SETTLE_S = 2 * CACHE_S


class Vault:
    """Opens the key store with the master keys. Build it with `open_vault`."""

    def __init__(self, store: KeyStore, masters: MasterKeys, subject_key: bytes, signer: Signer) -> None:
        """Take the store and what `open_vault` unwrapped: the key of the subjects' tags and the signer of
        certificates.
        """
        self._store = store
        self._masters = masters
        self._subject_key = subject_key
        self._boxes: TTLCache[UUID, Box] = TTLCache(CACHE_USERS, CACHE_S)
        self._loading: LRUCache[UUID, asyncio.Lock] = LRUCache(CACHE_USERS)
        self.signer = signer

    async def find(self, subject: Subject) -> tuple[Entry | None, Erasure | None]:
        """Return what the store knows of the subject."""
        return await self._store.find(self._tag(subject))

    async def reference(self, subject: Subject) -> UUID | None:
        """Return the reference that stands for a subject now, None where there is none."""
        entry, _ = await self.find(subject)
        return entry.usr if entry else None

    async def create(self, subject: Subject) -> Entry:
        """Make a reference and its keys for the subject; of several callers at once one wins, and all get the
        winner's.
        """
        usr = new_user_reference()
        return await self._store.create(
            self._tag(subject),
            usr,
            self._wrap(os.urandom(KEY_BYTES), data_key_name(usr, 1)),
            self._wrap(os.urandom(KEY_BYTES), index_secret_name(usr)),
        )

    async def mark_registered(self, usr: UUID) -> None:
        """Note that the user's first row is written."""
        await self._store.mark_registered(usr)

    async def box(self, usr: UUID) -> Box:
        """Return the user's box. Raises `erased` where the keys are destroyed or never were."""
        box = self._boxes.get(usr)
        if box is not None:
            return box
        async with self._loading.setdefault(usr, asyncio.Lock()):
            if usr not in self._boxes:
                self._boxes[usr] = await self._open(usr)
            return self._boxes[usr]

    async def rotate(self, usr: UUID) -> int:
        """Give the user a new data key and return its version. Every process seals under it within SETTLE_S + CACHE_S.

        What was sealed before stays readable by the old ones.
        """
        keys, _ = await self._store.keys(usr)
        if not keys:
            raise AppError("erased")
        version = keys[-1].version + 1
        await self._store.add_key(usr, version, self._wrap(os.urandom(KEY_BYTES), data_key_name(usr, version)))
        self._boxes.pop(usr, None)
        return version

    async def destroy(self, usr: UUID, token_life: timedelta, *, stop: bool) -> int:
        """Destroy the user's keys for good; return how many there were. May run twice."""
        until = datetime.now(UTC) + token_life + timedelta(seconds=ERASURE_SKEW_S)
        destroyed = await self._store.destroy(usr, until, stop=stop)
        self._boxes.pop(usr, None)
        return destroyed

    async def stop(self, usr: UUID) -> None:
        """Let nothing begin anew for the subject whose erasure ended this reference."""
        await self._store.stop(usr)

    def derive(self, purpose: str) -> bytes:
        """Return a key of the installation for one purpose: the same in every process, whatever the master key."""
        return hmac.new(self._subject_key, b"derive" + purpose.encode(), hashlib.sha256).digest()

    async def revoke_token(self, tenant: str, token_id: str, token_life: timedelta) -> None:
        """Revoke the tenant's token of that `jti`."""
        await self._store.revoke_token(self._token_tag(tenant, token_id), datetime.now(UTC) + token_life)

    async def revoke_issued_before(self, usr: UUID, moment: datetime) -> None:
        """Revoke the user's tokens issued up to a moment."""
        await self._store.revoke_issued_before(usr, moment)

    async def is_revoked(self, tenant: str, token_id: str) -> bool:
        """Return whether the tenant's token of that `jti` was revoked."""
        return await self._store.is_revoked(self._token_tag(tenant, token_id))

    def receipt(self, erasure_id: UUID) -> str:
        """Return the secret that opens an erasure's certificate when the user is gone; the same at every asking."""
        return hmac.new(self._subject_key, b"receipt" + erasure_id.bytes, hashlib.sha256).hexdigest()

    async def erased(self, after: UUID, limit: int) -> Sequence[UUID]:
        """Return a page of the register of erasures: the references after `after` whose keys were destroyed."""
        return await self._store.erased(after, limit)

    async def remaining(self, usr: UUID) -> int:
        """Return how many keys and ways to the reference are left."""
        return await self._store.remaining(usr)

    async def ping(self) -> None:
        """Ask the key store for an answer. Raises `store_unavailable` without one."""
        await self._store.ping()

    async def _open(self, usr: UUID) -> Box:
        keys, secret = await self._store.keys(usr, SETTLE_S)
        if not keys or secret is None:
            raise AppError("erased")
        opened = {key.version: self._unwrap(key.wrapped, data_key_name(usr, key.version)) for key in keys}
        # The first one is the only one of a new user, and known to everybody who knows the user.
        current = max((key.version for key in keys if key.is_settled), default=keys[0].version)
        return Box(usr, opened, current, self._unwrap(secret, index_secret_name(usr)))

    def _tag(self, subject: Subject) -> bytes:
        parts = (subject.issuer.encode(), subject.tenant.encode(), subject.sub.encode())
        message = b"".join(len(part).to_bytes(4) + part for part in parts)
        return hmac.new(self._subject_key, message, hashlib.sha256).digest()

    def _token_tag(self, tenant: str, token_id: str) -> bytes:
        named = b"token" + len(tenant.encode()).to_bytes(4) + tenant.encode() + token_id.encode()
        return hmac.new(self._subject_key, named, hashlib.sha256).digest()

    def _wrap(self, key: bytes, name: bytes) -> Wrapped:
        return wrap(self._masters, key, name)

    def _unwrap(self, wrapped: Wrapped, name: bytes) -> bytes:
        return self._masters.unwrap(wrapped.value, wrapped.master_id, name)


class WrongKeyStoreError(Exception):
    """The key store isn't the one that the data was written with."""


async def open_vault(store: KeyStore, masters: MasterKeys) -> Vault:
    """Open the vault, making the installation's own secrets at the first start.

    Raises MasterKeyError where a master key that wrapped any key isn't among those given: a service that could read
    some of its users and not others is worse than none.
    """
    missing = await store.masters_beside(masters.ids)
    if missing:
        raise MasterKeyError(
            f"missing is {', '.join(missing)}, which still wraps keys: given is {', '.join(masters.ids)}"
        )
    subject_key = await _secret(store, masters, "subject-tags")
    signing_key = await _secret(store, masters, "certificates")
    return Vault(store, masters, subject_key, Signer.from_seed(signing_key))


def wrap(masters: MasterKeys, key: bytes, name: bytes) -> Wrapped:
    """Wrap a key under the current master key; `name` says which key it is and is authenticated with it."""
    value, master_id = masters.wrap(key, name)
    return Wrapped(value, master_id)


async def _secret(store: KeyStore, masters: MasterKeys, name: str) -> bytes:
    context = secret_name(name)
    kept = await store.secret(name, wrap(masters, os.urandom(KEY_BYTES), context))
    return masters.unwrap(kept.value, kept.master_id, context)


def secret_name(name: str) -> bytes:
    """Return what is authenticated with a secret of the installation when it is wrapped."""
    return f"secret:{name}".encode()


def data_key_name(usr: UUID, version: int) -> bytes:
    """Return what is authenticated with a data key when it is wrapped."""
    return b"data:" + usr.bytes + version.to_bytes(4)


def index_secret_name(usr: UUID) -> bytes:
    """Return what is authenticated with an index secret when it is wrapped."""
    return b"index:" + usr.bytes
