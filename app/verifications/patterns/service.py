"""What operators do with their tenant's patterns. Each method is one transaction; every write is conditional."""

from collections.abc import Sequence

from app.core.audit import AuditEntry
from app.core.errors import AppError, stale
from app.core.ids import uuid7
from app.core.scope import Operator
from app.core.versions import Absent, Exactly, Precondition, etag, expected
from app.infra.db.transaction import Database
from app.verifications.patterns import store
from app.verifications.patterns.expression import compiled, require_examples
from app.verifications.patterns.model import MAX_PATTERNS, Entry, Registration
from app.verifications.patterns.registered import RegisteredPatterns

KIND = "secret_pattern"


class Patterns:
    """The patterns that a tenant has registered. A change is answered when every process goes by it."""

    def __init__(self, db: Database, registered: RegisteredPatterns) -> None:
        """Take the doors to the database, and what processes go by."""
        self._db = db
        self._registered = registered

    async def registered(self, operator: Operator) -> Sequence[Entry]:
        """Return the registered patterns in their order."""
        async with self._db.administer(operator) as tx:
            tx.saw(AuditEntry("list", KIND))
            return await store.registered(tx)

    async def read(self, operator: Operator, name: str) -> Entry:
        """Return a registered pattern. Raises `not_found`."""
        async with self._db.administer(operator) as tx:
            entry = await store.find(tx, name)
            if entry is None or entry.registration is None:
                raise _not_there(entry)
            tx.saw(AuditEntry("read", KIND, entry.id))
            return entry

    async def register(
        self, operator: Operator, name: str, said: Registration, examples: Sequence[str], precondition: Precondition
    ) -> tuple[Entry, bool]:
        """Register a pattern, or change it; return whether it is new. What is stored already stays as it is.

        Raises `invalid` for an expression that isn't one or could take long, and for an example that doesn't fit;
        `stale_version`, `exists`, `quota_exceeded`.
        """
        require_examples(compiled(name, said), examples)
        async with self._db.administer(operator) as tx:
            current = await store.find(tx, name)
            base = _base(precondition, current)
            entry = AuditEntry("write", KIND, current.id if current else uuid7())
            if base is None:
                if await store.count(tx) >= MAX_PATTERNS:
                    raise AppError("quota_exceeded", f"at most {MAX_PATTERNS} patterns")
                written = await store.create(tx, entry.item or uuid7(), name, said, entry)
            else:
                written = await store.replace(tx, name, base, said, entry)
            if written is None:
                _base(precondition, await store.find(tx, name))
                raise AppError("conflict", "it was changed at the same time")
        await self._registered.settled()
        return written, current is None or current.registration is None

    async def remove(self, operator: Operator, name: str, precondition: Precondition) -> Entry:
        """Take a pattern back; return its stub. What was masked stays masked. Raises `not_found`, `stale_version`."""
        async with self._db.administer(operator) as tx:
            current = await store.find(tx, name)
            if current is None or current.registration is None:
                raise _not_there(current)
            base = expected(precondition, current.version)
            stub = await store.replace(tx, name, base or 0, None, AuditEntry("delete", KIND, current.id))
            if stub is None:
                raise AppError("stale_version", "it was changed at the same time")
        await self._registered.settled()
        return stub


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
