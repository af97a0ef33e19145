"""A change that took something out of force is an event: what still holds the old value is noted in the memory log.

Reading marks texts by itself, with no delay; the log tells afterwards what a change has marked, whether anybody read it
or not. The job comes from the change's own transaction, and looks at memory as it was after that change: it may run
late, or twice, and notes the same.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from app.context.changes import store
from app.context.changes.model import Mark
from app.core.assembly import Newer
from app.core.audit import AuditEntry
from app.core.remembered import Listing, RememberedKind
from app.core.scope import Scope
from app.core.superseding import SUPERSEDED_JOB, Holder, Outdated, Superseding
from app.infra.db.transaction import Database, Transaction

PAGE: Final = 200
# What is user memory itself says what holds.
_CURRENT: Final = frozenset({RememberedKind.PROFILE, RememberedKind.PREFERENCE})


class ListedTexts:
    """What a kind of memory lists: kept summaries, facts, titles. A Holder of app.core.superseding."""

    def __init__(self, listing: Listing) -> None:
        """Take how the kind lists itself."""
        self._listing = listing

    async def page(self, scope: Scope, after: UUID | None) -> Sequence[tuple[UUID, str, str]]:
        """Return the next items: where they stand, their ids on the wire, their texts."""
        return [(item.place, item.id, item.text) for item in await self._listing.page(scope, after, PAGE)]


def holders(listings: Sequence[Listing], others: Sequence[Holder]) -> Sequence[Holder]:
    """Return everything that a former value may stand in, but the record of messages."""
    return [*(ListedTexts(each) for each in listings if each.kind not in _CURRENT), *others]


class NoteSuperseded:
    """The handler of the event: notes what holds a value that a change has taken out of force."""

    name = SUPERSEDED_JOB

    def __init__(self, db: Database, superseding: Superseding[Transaction], found_in: Sequence[Holder]) -> None:
        """Take the doors, what knows the former values, and everything they may stand in."""
        self._db = db
        self._superseding = superseding
        self._found_in = found_in

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Note what a change has marked."""
        number, agent = int(args["number"]), str(args.get("agent", "")) or None
        own = replace(scope, agent=agent)
        async with self._db.read(own) as tx:
            outdated = await self._superseding.ended_by(tx, number)
        if not outdated:
            return
        entry = AuditEntry("mark", "memory_log")
        for holder in self._found_in:
            after: UUID | None = None
            while page := await holder.page(own, after):
                after = page[-1][0]
                marks = await asyncio.to_thread(_marks, page, outdated, number)
                if marks:
                    async with self._db.maintain(own) as tx:
                        await store.note(tx, marks, entry)


def _marks(page: Sequence[tuple[UUID, str, str]], outdated: Outdated, number: int) -> Sequence[Mark]:
    found: dict[tuple[str, Newer], None] = {}
    for _, item, text in page:
        for each in outdated.of(text):
            found[item, Newer(each.place.kind.value, each.place.id, each.place.version)] = None
    return [Mark(number, item, newer) for item, newer in found]
