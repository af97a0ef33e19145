"""What the profile said once and says no more, and what it says: for texts that may still hold the old."""

from collections.abc import Collection, Sequence

from app.core.ids import show
from app.core.superseding import MAX_FORMER, FormerValue, Place, PlaceKind
from app.infra.db.transaction import Transaction
from app.profile import store
from app.profile.model import EMPTY, Profile, pointer, pointing, told


class FormerFacts:
    """The values of the profile that were in force once. A Keeper of app.core.superseding."""

    async def former(self, tx: Transaction, number: int | None) -> Sequence[FormerValue]:
        """Return what was replaced and points at something. What was erased is in no version any more."""
        superseded = await store.superseded(tx, number, MAX_FORMER)
        if not superseded:
            return []
        version = (await _profile(tx, number)).version
        owner = show("usr", tx.scope.usr)
        return [
            FormerValue(text, Place(PlaceKind.PROFILE, owner, pointer(path), version), ended_by)
            for profile, ended_by in superseded
            for path, text in pointing(profile.facts)
        ]

    async def in_force(self, tx: Transaction, number: int | None) -> Collection[str]:
        """Return the strings of the profile."""
        return [text for _, text in told((await _profile(tx, number)).facts)]


async def _profile(tx: Transaction, number: int | None) -> Profile:
    return await (store.find(tx) if number is None else store.find_at(tx, number)) or EMPTY
