"""What differs between two contexts of one call: pure, by their decisions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from app.context.model import LogEntry
from app.core.assembly import Assembled, Decision


class Change(StrEnum):
    """How a memory stands in the later context, beside the earlier one."""

    # It is considered now, and wasn't then.
    ADDED = "added"
    # It was considered then, and isn't now.
    GONE = "gone"
    # It is at another version.
    VERSION = "version"
    # It is at the same version, and loaded or left out for another reason.
    REASON = "reason"


@dataclass(frozen=True, slots=True)
class Difference:
    """A memory that stands otherwise. `then` is None where it was added, `now` where it is gone."""

    change: Change
    then: Decision | None
    now: Decision | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """A context of before, what the same call would load now, and what differs."""

    entry: LogEntry
    now: Assembled
    differences: Sequence[Difference]
    is_same_prompt: bool


def differences(then: Sequence[Decision], now: Sequence[Decision]) -> list[Difference]:
    """Return what differs, in the order of the later context; what is gone comes last.

    Several decisions may bear one id (the lines of a profile): they are held against each other in their order.
    """
    earlier, later = _by_memory(then), _by_memory(now)
    found: list[Difference] = []
    for memory in [*later, *(memory for memory in earlier if memory not in later)]:
        pairs = zip_longest(earlier.get(memory, ()), later.get(memory, ()))
        found += [difference for pair in pairs for difference in _differing(*pair)]
    return [each for each in found if each.now] + [each for each in found if not each.now]


def _by_memory(decisions: Sequence[Decision]) -> dict[tuple[str, str], list[Decision]]:
    grouped: dict[tuple[str, str], list[Decision]] = {}
    for decision in decisions:
        grouped.setdefault((decision.kind, decision.id), []).append(decision)
    return grouped


def _differing(then: Decision | None, now: Decision | None) -> Iterator[Difference]:
    if then is None or now is None:
        yield Difference(Change.GONE if now is None else Change.ADDED, then, now)
    elif then.version != now.version:
        yield Difference(Change.VERSION, then, now)
    elif (then.loaded, then.reason) != (now.loaded, now.reason):
        yield Difference(Change.REASON, then, now)
