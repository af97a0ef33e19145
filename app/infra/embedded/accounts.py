"""Which user PostgreSQL runs as, and what that user can reach. An account is found, never made."""

import os
import pwd
import subprocess
from pathlib import Path

from app.infra.embedded.command import Account, launch_command
from app.infra.embedded.failures import EmbeddedError

UNPRIVILEGED = ("postgres", "_postgres", "nobody")  # in this order; the second is what macOS has
PROBE_WITHIN_S = 20


def unprivileged_account(owned: Path) -> Account | None:
    """The account to run PostgreSQL as: None, the caller's own, unless the caller is root.

    Where the folder of a cluster exists, its owner runs it, whoever made it.
    """
    if os.geteuid() != 0:
        return None
    if owned.exists() and (owner := owned.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid, f"user {owner.st_uid}")
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, name)
    raise EmbeddedError(
        f"PostgreSQL refuses to run as root, and there is no user named {' or '.join(UNPRIVILEGED)}: "
        "run as an ordinary user, or make one of these"
    )


def name_of(account: Account | None) -> str:
    return "the user" if account is None else f"the user {account.name}"


def can_reach(account: Account | None, path: Path) -> bool:
    """Whether the account gets through every folder down to the path: tried as that user, not reckoned from modes."""
    if account is None:
        return os.access(path, os.X_OK)
    command = launch_command({"reach": str(path)}, account)
    return subprocess.run(command, check=False, cwd="/", timeout=PROBE_WITHIN_S).returncode == 0
