"""The one list of everything remembered: pages of every kind, merged by when the items were made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.moments import NOW, Snapshot
from app.core.remembered import Listing, Remembered, RememberedKind
from app.core.scope import Scope
from app.core.superseding import Outdated, Superseding
from app.infra.db.snapshots import look
from app.infra.db.transaction import Database, Transaction


@dataclass(frozen=True, slots=True)
class Overview:
    """A page of the list. `kinds` are those it is of, `snapshot` is user memory as it was just before it was read."""

    items: Sequence[Remembered]
    kinds: Sequence[RememberedKind]
    snapshot: Snapshot
    more: bool


# What is user memory itself says what holds.
_CURRENT: Final = frozenset({RememberedKind.PROFILE, RememberedKind.PREFERENCE})


class Overviews:
    """Lists everything that is remembered about a user."""

    def __init__(self, db: Database, listings: Sequence[Listing], superseding: Superseding[Transaction]) -> None:
        """Take the doors, each kind of memory that lists itself, and what knows the former values of user memory."""
        self._db = db
        self._listings = listings
        self._superseding = superseding

    async def page(
        self,
        scope: Scope,
        may: Callable[[str], bool],
        kind: RememberedKind | None,
        before: UUID | None,
        limit: int,
    ) -> Overview:
        """Return the newest items below the place `before`, of every kind that the caller may see, or of one.

        Places never change: whatever is written meanwhile, an item that is there throughout is on one page, once.
        Raises `missing_scope` where nothing of the one kind is the caller's to see.
        """
        asked = [each for each in self._listings if kind is None or each.kind is kind]
        seen = [each for each in asked if may(each.permission)]
        if asked and not seen:
            raise AppError("missing_scope", scope=asked[0].permission)
        async with self._db.read(scope) as tx:
            snapshot = await look(tx, NOW)
            outdated = await self._superseding.look(tx)
            tx.saw(AuditEntry("list", "memory"))
        # One after the other: side by side they would take as many connections from everybody else.
        found = [item for each in seen for item in await each.page(scope, before, limit + 1)]
        found.sort(key=lambda item: item.place, reverse=True)
        shown = [item if item.kind in _CURRENT else _marked(item, outdated) for item in found[:limit]]
        return Overview(shown, list(dict.fromkeys(each.kind for each in seen)), snapshot, more=len(found) > limit)


def _marked(item: Remembered, outdated: Outdated) -> Remembered:
    return replace(item, superseded=outdated.of(item.text))
