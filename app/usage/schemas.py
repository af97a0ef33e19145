"""Usage on the wire."""

from collections.abc import Sequence
from datetime import date

from app.usage.model import Counts, DayCounts, KindCounts, UsagePage
from app.web.wire import Answer

US_PER_MS = 1_000


class CountsAnswer(Answer):
    """`calls` of the kind, `hits` that went into prompts with `tokens`, the mean latency of a call in milliseconds
    (null where there was none), calls that `missed` the deadline or failed, and how often what was injected was marked
    useful, or not.
    """

    kind: str
    calls: int
    hits: int
    tokens: int
    latency_ms: float | None
    missed: int
    useful: int
    useless: int


class DayAnswer(CountsAnswer):
    """A kind on a day (UTC), for an agent; null for calls of no agent."""

    day: date
    agent: str | None


class UsageAnswer(Answer):
    """Days, newest first, and the sums of each kind over all days that were asked for."""

    items: list[DayAnswer]
    next_cursor: str | None
    totals: list[CountsAnswer]


class TenantCountsAnswer(CountsAnswer):
    """A kind over all users of a tenant; `users` is how many."""

    users: int


class TenantUsageAnswer(Answer):
    """The sums of each kind over all users of a tenant."""

    items: list[TenantCountsAnswer]


def usage_answer(page: UsagePage, cursor: str | None) -> UsageAnswer:
    """Show a page of usage."""
    return UsageAnswer(
        items=[_day(item) for item in page.items],
        next_cursor=cursor,
        totals=[CountsAnswer.model_validate(_shown(each.kind, each.counts)) for each in page.totals],
    )


def tenant_answer(found: Sequence[KindCounts]) -> TenantUsageAnswer:
    """Show a tenant's usage."""
    return TenantUsageAnswer(
        items=[
            TenantCountsAnswer.model_validate({**_shown(each.kind, each.counts), "users": each.users}) for each in found
        ]
    )


def _day(item: DayCounts) -> DayAnswer:
    return DayAnswer.model_validate({**_shown(item.kind, item.counts), "day": item.day, "agent": item.agent})


def _shown(kind: str, counts: Counts) -> dict[str, object]:
    mean = None if counts.calls == 0 else round(counts.took_us / counts.calls / US_PER_MS, 3)
    return {
        "kind": kind,
        "calls": counts.calls,
        "hits": counts.hits,
        "tokens": counts.tokens,
        "latency_ms": mean,
        "missed": counts.missed,
        "useful": counts.useful,
        "useless": counts.useless,
    }
