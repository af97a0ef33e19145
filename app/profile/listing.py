"""The profile in the one list of everything remembered."""

import json
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from app.core.ids import show
from app.core.remembered import Remembered, RememberedKind
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.profile import store
from app.profile.source import lines

# There is one, and it stands before everything else.
FIRST: Final = UUID(int=2**128 - 1)


class ProfileListing:
    """Lists the profile as one item. A Listing of app.core.remembered."""

    kind = RememberedKind.PROFILE
    permission = "profile:read"

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def page(self, scope: Scope, before: UUID | None, limit: int) -> Sequence[Remembered]:  # noqa: ARG002 - it is one
        """Return the profile on the first page, once there is something in it."""
        if before is not None:
            return []
        async with self._db.read(scope) as tx:
            profile, first = await store.find(tx), await store.find_version(tx, 1)
        if profile is None or first is None or first.updated_at is None:
            return []
        text = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in lines(profile.facts))
        return [
            Remembered(
                kind=RememberedKind.PROFILE,
                place=FIRST,
                id=show("usr", scope.usr),
                text=text,
                source=profile.why.source,
                trust="explicit",
                evidence=profile.why.evidence,
                created_at=first.updated_at,
                href="/v1/profile",
            ),
        ]
