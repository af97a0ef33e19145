"""The embedded Valkey (or a Redis on PATH): its configuration and whether it answers."""

import json
import socket
from pathlib import Path

from app.infra.embedded import binaries
from app.infra.embedded.command import plain_environment
from app.infra.embedded.ending import Ending
from app.infra.embedded.ports import LOOPBACK
from app.infra.embedded.process import Program, Tier
from app.infra.embedded.secret_files import write_private

READY_WITHIN_S = 60  # reading the append-only file is part of it
STOP_WITHIN_S = 30
ANSWER_WITHIN_S = 2
LONGEST_ANSWER_BYTES = 256
MAX_MEMORY = "1gb"  # past it writes fail and reads go on: the service then asks PostgreSQL


def program(folder: Path, run_folder: Path, port: int, password: str, log: Path) -> Program:
    configuration = run_folder / "valkey.conf"
    write_private(configuration, _configuration(folder, port, password))
    return Program(
        name="valkey",
        command=(str(binaries.find_valkey()), str(configuration)),
        tier=Tier.STORE,
        ending=Ending(within_s=STOP_WITHIN_S),
        log=log,
        environment=plain_environment(),
        folder="/",
    )


def is_ready(port: int, password: str) -> bool:
    """Whether it knows our password (so that it is ours) and has read its data."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=ANSWER_WITHIN_S) as connection:
            connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            answer = b""
            while answer.count(b"\r\n") < 2:  # noqa: PLR2004 (one line for each command)
                if not (part := connection.recv(LONGEST_ANSWER_BYTES)):
                    return False
                answer += part
    except OSError:
        return False
    return answer == b"+OK\r\n+PONG\r\n"


def url(port: int, password: str) -> str:
    return f"redis://:{password}@{LOOPBACK}:{port}/0"


def _configuration(folder: Path, port: int, password: str) -> str:
    """In a file, since every user of a machine reads the command lines of all."""
    lines = [
        f"bind {LOOPBACK}",
        f"port {port}",
        'unixsocket ""',
        "protected-mode yes",
        f"requirepass {password}",
        f"dir {json.dumps(str(folder), ensure_ascii=False)}",
        "daemonize no",
        'logfile ""',
        "set-proc-title no",  # the command line is how a leftover is known
        "crash-log-enabled no",  # a crash report quotes the command that was running
        "appendonly yes",
        "appendfsync everysec",
        'save ""',  # the append-only file is the whole truth; a snapshot beside it would only keep old values longer
        f"maxmemory {MAX_MEMORY}",
        "maxmemory-policy noeviction",
    ]
    return "\n".join(lines) + "\n"
