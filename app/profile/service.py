"""What is done with a profile. Each method is one transaction; every write is conditional on a version."""

from collections.abc import Mapping
from typing import Any

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.idempotency import Attempt
from app.core.scope import Scope
from app.core.versions import Precondition, expected
from app.infra.db.snapshots import show_snapshot
from app.infra.db.transaction import Database
from app.profile import store
from app.profile.model import EMPTY, History, Profile, patched


class Profiles:
    """The profiles of users. Every user has one, empty at version 0 before the first change."""

    def __init__(self, db: Database) -> None:
        """Take the doors to the database."""
        self._db = db

    async def read(self, scope: Scope) -> Profile:
        """Return the profile as it is now."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("read", "profile", scope.usr))
            return await store.find(tx) or EMPTY

    async def history(self, scope: Scope, before: int | None, limit: int) -> History:
        """Return the versions, newest first, older than version `before` where given."""
        async with self._db.read(scope) as tx:
            versions = await store.page_versions(tx, before, limit + 1)
            tx.saw(AuditEntry("read_history", "profile", scope.usr))
            snapshot = show_snapshot(tx.box, await tx.change_number())
            return History(versions[:limit], snapshot, more=len(versions) > limit)

    async def patch(
        self,
        scope: Scope,
        patch: Mapping[str, Any],  # Any: each field has a type of its own
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Profile:
        """Merge a patch (RFC 7396) into the profile. Raises `stale_version`, and `invalid` for too large a result."""
        entry = AuditEntry("patch", "profile", scope.usr)
        async with self._db.write(scope, attempt) as tx:
            current = await store.find(tx) or EMPTY
            base = expected(precondition, current.version)
            facts = patched(current.facts, patch)
            number = await tx.next_change(entry)
            if base:
                profile = await store.replace(tx, base, facts, number, entry)
            else:
                profile = await store.create(tx, facts, number, entry)
            if profile is None:  # another writer was first, after the version was read above
                expected(precondition, (await store.find(tx) or EMPTY).version)
                raise AppError("conflict", "it was changed at the same time")
            await tx.answer(profile, scope.usr)
        return profile
