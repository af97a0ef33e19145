"""Values that preferences had once and have no more, and those they have: for texts that may still hold the old."""

from collections.abc import Collection, Sequence

from app.core.ids import show
from app.core.superseding import MAX_FORMER, FormerValue, Place, PlaceKind
from app.core.text.occurrences import identifies, strings
from app.infra.db.transaction import Transaction
from app.preferences import store
from app.preferences.model import MAX_PREFERENCES, Former, Preference


class FormerPreferences:
    """The values of preferences that were in force once. A Keeper of app.core.superseding.

    Of what holds for one agent alone the others aren't told.
    """

    async def former(self, tx: Transaction, number: int | None) -> Sequence[FormerValue]:
        """Return what was replaced and points at something. What was deleted is in no version any more."""
        superseded = await store.superseded(tx, number, tx.scope.agent, MAX_FORMER)
        return [value for former in superseded for value in _values(former)]

    async def in_force(self, tx: Transaction, number: int | None) -> Collection[str]:
        """Return the strings of the values that are in force, for everybody or for the agent."""
        found: list[Preference] = []
        # A general value is in force where the agent's own goes before it, too.
        for agent in {None, tx.scope.agent}:
            if number is None:
                found += await store.in_force(tx, agent, None, MAX_PREFERENCES)
            else:
                found += await store.in_force_at(tx, number, agent, None, MAX_PREFERENCES)
        return [text for preference in found for _, text in strings(preference.version.content.value)]


def _values(former: Former) -> list[FormerValue]:
    preference = former.preference
    place = Place(PlaceKind.PREFERENCE, show("prf", preference.id), preference.key, former.last)
    version = preference.version
    texts = [text for _, text in strings(version.content.value) if identifies(text)]
    return [FormerValue(text, place, version.change_number) for text in texts]
