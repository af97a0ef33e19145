"""How every program here is run: through launch.py, as a given user, in a plain environment."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LAUNCH = Path(__file__).with_name("launch.py")
# What a server may know of its caller's environment. Everything else stays behind: PGOPTIONS or CHROMA_LISTEN_ADDRESS
# would change what it does (Chroma takes the latter over its file), and CAIRN_MASTER_KEY is none of its business.
PASSED_ON = (
    "PATH",
    "HOME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
)


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int
    name: str


def plain_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C", "TZ": "UTC"}


def launch_command(order: dict[str, object], account: Account | None, command: tuple[str, ...] = ()) -> list[str]:
    if account is not None:
        order = order | {"uid": account.uid, "gid": account.gid}
    return [sys.executable, "-I", "-S", str(LAUNCH), json.dumps(order), *command]


def run_as(account: Account | None, command: tuple[str, ...], within_s: float) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. All that it printed is in `stdout`."""
    order: dict[str, object] = {"parent": os.getpid(), "death_signal": int(signal.SIGKILL)}
    return subprocess.run(
        launch_command(order, account, command),
        check=False,
        cwd="/",
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=within_s,
    )
