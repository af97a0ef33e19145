"""How long the request at hand has waited for the stores: for its line in the log."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class StoreTime:
    """Time spent with a store's door open, in seconds. Tasks that a request starts add to the same one."""

    spent_s: float = 0.0


_SPENT: ContextVar[StoreTime | None] = ContextVar("cairn_store_time", default=None)


def begin() -> StoreTime:
    """Begin to count for the work that runs in this task, and return the count."""
    spent = StoreTime()
    _SPENT.set(spent)
    return spent


@contextmanager
def in_store() -> Iterator[None]:
    """Count the time of the block, where somebody counts."""
    spent = _SPENT.get()
    started = time.perf_counter()
    try:
        yield
    finally:
        if spent is not None:
            spent.spent_s += time.perf_counter() - started
