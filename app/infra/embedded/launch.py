"""Between fork and exec: become the user, ask for a signal at the parent's death, then become the program.

It is run as a script (`python -I -S launch.py ORDER PROGRAM ...`), so it uses the standard library alone. It isn't a
preexec_fn, which would run Python in a forked copy of a process with threads, where a lock that another thread held
stays locked for ever.

The order of the steps matters: changing the user clears the death signal, and a parent that died before the
request was made sends no signal at all, hence the look at getppid afterwards.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any

PR_SET_PDEATHSIG = 1  # Linux, prctl(2)
OPEN_FILES = 10_240  # wanted; 300 indexes of Chroma take 1,200, and shells give 1,024 or (macOS) 256
CANNOT_RUN = 126  # what a shell answers for a program that is there and can't be run
PARENT_IS_GONE = 125
OUT_OF_REACH = 1


def become(uid: int | None, gid: int | None) -> None:
    if uid is None or gid is None:
        return
    os.setgroups([gid])
    os.setgid(gid)
    os.setuid(uid)


def ask_for_a_signal_at_the_parents_death(number: int, parent: int) -> None:
    """Linux only. Elsewhere the next start stops what an earlier one left behind (Supervisor.stop_leftovers)."""
    if sys.platform == "linux" and ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        sys.exit(PARENT_IS_GONE)


def start_afresh() -> None:
    """Undo what a shell or a test runner leaves to its children: ignored and blocked signals, a wide umask, limits."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o077)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most), most)
    )
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold what is sealed everywhere else


def main(order: dict[str, Any], command: list[str]) -> None:  # Any: JSON, written by process.py and accounts.py
    become(order.get("uid"), order.get("gid"))
    if "reach" in order:
        sys.exit(0 if os.access(order["reach"], os.X_OK) else OUT_OF_REACH)
    ask_for_a_signal_at_the_parents_death(order["death_signal"], order["parent"])
    start_afresh()
    try:
        os.execv(command[0], command)  # noqa: S606 (without a shell is the point)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(CANNOT_RUN)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
