"""What is no more in force: the former values of user memory, and the texts that still hold one.

A document, a message or a summary doesn't change when the user's e-mail address does. So whatever shows a text asks
here whether it holds a value that something newer has taken the place of. This is asked when the text is read, in the
state of memory that the reader sees: no copy of an index or a summary can lag behind.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar
from uuid import UUID

from app.core.jobs import Job
from app.core.scope import Scope
from app.core.text.occurrences import compared, folded, spans

# The transaction of the caller: what one is, this layer doesn't know.
Tx = TypeVar("Tx")
Tx_contra = TypeVar("Tx_contra", contravariant=True)

# So many former values are looked for, the last ones that went.
MAX_FORMER: Final = 200


class PlaceKind(StrEnum):
    """What a value can be a value of."""

    PROFILE = "profile"
    PREFERENCE = "preference"


@dataclass(frozen=True, slots=True)
class Place:
    """A field of the profile, or a preference: its id on the wire, its name, and the version it is at now."""

    kind: PlaceKind
    id: str
    name: str
    version: int


@dataclass(frozen=True, slots=True)
class FormerValue:
    """A value that was in force once, the place that it stood in, and the number of the change that ended it."""

    text: str
    place: Place
    ended_by: int


@dataclass(frozen=True, slots=True)
class Superseded:
    """A former value that a text holds, and the place where there is something newer."""

    value: str
    place: Place


# The event: a change took something out of force that texts may hold. Its args are the change's number, and its agent.
SUPERSEDED_JOB: Final = "note_superseded"


def superseded_by(number: int, agent: str | None = None) -> Job:
    """Return the event that is published in a change's own transaction: a number, and no content."""
    args: dict[str, str | int] = {"number": number, "agent": agent} if agent else {"number": number}
    return Job(SUPERSEDED_JOB, args, once=f"{SUPERSEDED_JOB} {number} {agent or ''}")


class Holder(Protocol):
    """A kind of texts that former values may stand in."""

    async def page(self, scope: Scope, after: UUID | None) -> Sequence[tuple[UUID, str, str]]:
        """Return the next texts after a place: each with its place, and the id of its item on the wire."""
        ...


class Keeper(Protocol[Tx_contra]):
    """A kind of user memory that has values which change. `number` is the change it is asked at; None: as it is now.

    An erased value is in neither answer.
    """

    async def former(self, tx: Tx_contra, number: int | None) -> Sequence[FormerValue]:
        """Return values that were replaced and point at something, those that went last."""
        ...

    async def in_force(self, tx: Tx_contra, number: int | None) -> Collection[str]:
        """Return the strings that are in force, as they were written."""
        ...


class Outdated:
    """The former values of a user, to hold texts against."""

    def __init__(self, former: Iterable[FormerValue] = (), in_force: Iterable[str] = ()) -> None:
        """Take what was in force once, and what is: that is never outdated."""
        current = {compared(text) for text in in_force}
        self._former: dict[str, dict[Place, str]] = {}
        for each in sorted(former, key=lambda value: -value.ended_by):
            value = compared(each.text)
            is_new = value not in self._former
            if value not in current and (not is_new or len(self._former) < MAX_FORMER):
                self._former.setdefault(value, {}).setdefault(each.place, each.text)
        # "张伟明" holds "张伟", and is nobody else for that.
        self._around = {value: [other for other in current if value in other] for value in self._former}

    def __bool__(self) -> bool:
        """Say whether there is anything former: what is shown of a text may differ then though the text is the same."""
        return bool(self._former)

    def values(self) -> frozenset[tuple[str, str, str]]:
        """Return the former values, each with the id and the name of its place."""
        return frozenset((value, place.id, place.name) for value, places in self._former.items() for place in places)

    def of(self, *texts: str | None) -> tuple[Superseded, ...]:
        """Return what of the texts is outdated, each former value once for each place."""
        if not self._former:
            return ()
        plain = [folded(text) for text in texts if text]
        return tuple(
            Superseded(written, place)
            for value, places in self._former.items()
            if any(self._stands(value, text) for text in plain)
            for place, written in places.items()
        )

    def _stands(self, value: str, text: str) -> bool:
        inside = [span for other in self._around[value] for span in spans(other, text)]
        return any(
            not any(start <= first and last <= end for start, end in inside) for first, last in spans(value, text)
        )


NOTHING_OUTDATED: Final = Outdated()


class Superseding(Generic[Tx]):
    """Asks the kinds of user memory what is no more in force."""

    def __init__(self, keepers: Sequence[Keeper[Tx]]) -> None:
        """Take each kind that has values which change."""
        self._keepers = keepers

    async def look(self, tx: Tx, number: int | None = None) -> Outdated:
        """Return the former values as the caller's transaction sees them, or as they were after a change."""
        former = [value for keeper in self._keepers for value in await keeper.former(tx, number)]
        if not former:
            return NOTHING_OUTDATED
        return Outdated(former, [text for keeper in self._keepers for text in await keeper.in_force(tx, number)])

    async def ended_by(self, tx: Tx, number: int) -> Outdated:
        """Return what a change took out of force: former values after it that were none before."""
        before = (await self.look(tx, number - 1)).values()
        former = [value for keeper in self._keepers for value in await keeper.former(tx, number)]
        new = [value for value in former if (compared(value.text), value.place.id, value.place.name) not in before]
        if not new:
            return NOTHING_OUTDATED
        return Outdated(new, [text for keeper in self._keepers for text in await keeper.in_force(tx, number)])
