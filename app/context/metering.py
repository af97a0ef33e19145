"""What a context tells the meter: what each kind cost, and what was said of it. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.context.model import Feedback, LogEntry
from app.core.assembly import MISSED, Decision
from app.core.usage import Mark, Use


@dataclass(frozen=True, slots=True)
class Asked:
    """A source that was asked: its kinds, and after how many microseconds it had answered or was given up."""

    kinds: frozenset[str]
    took_us: int


def uses(asked: Sequence[Asked], include: Collection[str], decisions: Sequence[Decision]) -> list[Use]:
    """Return the use of each kind that was asked for, or that came with one (constraints come with a summary)."""
    by_kind = {kind: list(group) for kind, group in groupby(sorted(decisions, key=_kind), _kind)}
    took = {kind: source.took_us for source in asked for kind in source.kinds if kind in include or kind in by_kind}
    return [_use(kind, took_us, by_kind.get(kind, [])) for kind, took_us in sorted(took.items())]


def marks(entry: LogEntry, before: Feedback | None, now: Feedback) -> dict[str, Mark]:
    """Return what to add to the counts of each kind, where what was said before is taken back."""
    old, new = _marked(entry, before), _marked(entry, now)
    nothing = Mark(0, 0)
    added: dict[str, Mark] = {}
    for kind in sorted({*old, *new}):
        was, is_ = old.get(kind, nothing), new.get(kind, nothing)
        if was != is_:
            added[kind] = Mark(is_.useful - was.useful, is_.useless - was.useless)
    return added


def _use(kind: str, took_us: int, decisions: Sequence[Decision]) -> Use:
    loaded = [decision for decision in decisions if decision.loaded]
    return Use(
        kind,
        hits=len(loaded),
        tokens=sum(decision.tokens for decision in loaded),
        took_us=took_us,
        missed=any(decision.reason in MISSED for decision in decisions),
    )


def _marked(entry: LogEntry, feedback: Feedback | None) -> dict[str, Mark]:
    """Return one mark for each item that was spoken of; for a kind of which none was, that of the context, once."""
    if feedback is None:
        return {}
    spoken: dict[str, list[bool]] = {decision.kind: [] for decision in entry.decisions if decision.loaded}
    for item in feedback.items:
        spoken.setdefault(item.kind, []).append(item.useful)
    said = {kind: items or [feedback.useful] for kind, items in spoken.items()}
    return {kind: Mark(items.count(True), items.count(False)) for kind, items in said.items()}


def _kind(decision: Decision) -> str:
    return decision.kind
