"""The kinds of things that a user can say about how they are to be served."""

from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """What a clause does. The last five take back: ALLOW a ban, RELEASE a wish, CANCEL either."""

    DO = auto()
    DONT = auto()
    ALLOW = auto()
    RELEASE = auto()
    CANCEL = auto()
    CANCEL_LAST = auto()
    CANCEL_ALL = auto()


class Place(Enum):
    """What stands before a clause in its sentence: nothing that matters, an occasion that comes again ("whenever I
    ask"), a statement, or a statement and a conjunction.
    """

    FREE = auto()
    OCCASION = auto()
    STATEMENT = auto()
    CONJUNCTION = auto()


@dataclass(frozen=True, slots=True)
class Reading:
    """How a clause is read. `is_weak`: it binds by what it says of the user or their affairs, not put to the reader."""

    kind: Kind
    is_weak: bool = False


DO = Reading(Kind.DO)
DONT = Reading(Kind.DONT)
WEAK_DO = Reading(Kind.DO, is_weak=True)
WEAK_DONT = Reading(Kind.DONT, is_weak=True)
ALLOW = Reading(Kind.ALLOW)
RELEASE = Reading(Kind.RELEASE)
CANCEL = Reading(Kind.CANCEL)
CANCEL_LAST = Reading(Kind.CANCEL_LAST)
CANCEL_ALL = Reading(Kind.CANCEL_ALL)


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as a text."""
    return frozenset(text.split())
