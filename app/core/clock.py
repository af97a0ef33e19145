"""The clock that leases are measured with: it only goes forward, and it goes on while the machine sleeps."""

import time
from typing import Final

# The monotonic clock of Linux stands still while a machine is suspended: what was good before would be good after it.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now_s() -> float:
    """Return the time in seconds since some moment that is the same for the whole life of this process."""
    return time.clock_gettime(_CLOCK)
