"""What operators do with their tenant's catalogue. Each method is one transaction; every write is conditional."""

from collections.abc import Sequence

from app.core.audit import AuditEntry
from app.core.errors import AppError, stale
from app.core.ids import uuid7
from app.core.scope import Operator
from app.core.versions import Absent, Exactly, Precondition, etag, expected
from app.infra.db.transaction import Database
from app.preferences.catalogue import store
from app.preferences.catalogue.model import MAX_KEYS, Closing, Entry, Registration

KIND = "catalogue_key"


class Catalogue:
    """The keys that a tenant has registered."""

    def __init__(self, db: Database) -> None:
        """Take the doors to the database."""
        self._db = db

    async def registered(self, operator: Operator, after: str | None, limit: int) -> tuple[Sequence[Entry], bool]:
        """Return the registered keys in their order, after one where given; and whether there are more."""
        async with self._db.administer(operator) as tx:
            found = await store.page(tx, after, limit + 1)
            tx.saw(AuditEntry("list", KIND))
            return found[:limit], len(found) > limit

    async def read(self, operator: Operator, key: str) -> Entry:
        """Return a registered key. Raises `not_found`."""
        async with self._db.administer(operator) as tx:
            entry = await store.find(tx, key)
            if entry is None or entry.registration is None:
                raise _not_there(entry)
            tx.saw(AuditEntry("read", KIND, entry.id))
            return entry

    async def register(
        self,
        operator: Operator,
        key: str,
        said: Registration,
        precondition: Precondition,
    ) -> tuple[Entry, bool]:
        """Register a key, or change what is said of it; return whether it is new. Values that are stored stay as they
        are, and readable; the next write of each must meet what is said now.

        Raises `invalid` for what contradicts itself, `stale_version`, `exists`, `quota_exceeded`.
        """
        said.require_sound()
        async with self._db.administer(operator) as tx:
            current = await store.find(tx, key)
            base = _base(precondition, current)
            entry = AuditEntry("write", KIND, current.id if current else uuid7())
            if base is None:
                if await store.count(tx) >= MAX_KEYS:
                    raise AppError("quota_exceeded", f"at most {MAX_KEYS} keys")
                written = await store.create(tx, entry.item or uuid7(), key, said, entry)
            else:
                written = await store.replace(tx, key, base, said, entry)
            if written is None:
                _base(precondition, await store.find(tx, key))
                raise AppError("conflict", "it was changed at the same time")
            return written, current is None or current.registration is None

    async def remove(self, operator: Operator, key: str, precondition: Precondition) -> Entry:
        """Take a key out of the catalogue; return its stub. Values under it stay. Raises `not_found`."""
        async with self._db.administer(operator) as tx:
            current = await store.find(tx, key)
            if current is None or current.registration is None:
                raise _not_there(current)
            base = expected(precondition, current.version)
            stub = await store.replace(tx, key, base or 0, None, AuditEntry("delete", KIND, current.id))
            if stub is None:
                raise AppError("stale_version", "it was changed at the same time")
            return stub

    async def closing(self, operator: Operator) -> Closing:
        """Return whether keys that aren't registered are refused."""
        async with self._db.administer(operator) as tx:
            tx.saw(AuditEntry("read", "catalogue"))
            return await store.find_closing(tx)

    async def close(self, operator: Operator, precondition: Precondition, *, closed: bool) -> Closing:
        """Refuse keys that aren't registered from now on, or allow them. What is stored under one stays."""
        async with self._db.administer(operator) as tx:
            current = await store.find_closing(tx)
            absent = isinstance(precondition, Absent) and current.version == 0
            base = 0 if absent else expected(precondition, current.version) or 0
            written = await store.replace_closing(tx, base, AuditEntry("write", "catalogue"), closed=closed)
            if written is None:
                raise stale((await store.find_closing(tx)).version)
            return written


def _base(precondition: Precondition, current: Entry | None) -> int | None:
    """Return the version that a write builds on, None to create; a stub's numbers go on."""
    if current is not None and current.registration is None and isinstance(precondition, Absent):
        return current.version
    if current is None and isinstance(precondition, Exactly):
        raise stale(0)
    return expected(precondition, current.version if current else None)


def _not_there(stub: Entry | None) -> AppError:
    if stub is None:
        return AppError("not_found")
    return AppError("not_found", "it was deleted", headers={"ETag": etag(stub.version)}, current_version=stub.version)
