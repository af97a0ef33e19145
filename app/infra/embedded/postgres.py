"""The embedded PostgreSQL: where its cluster lives, how it is made, how it is started."""

import hashlib
import os
import secrets
import shutil
import signal
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from app.infra.embedded import binaries
from app.infra.embedded.accounts import can_reach, name_of, unprivileged_account
from app.infra.embedded.command import Account, plain_environment, run_as
from app.infra.embedded.ending import Ending
from app.infra.embedded.failures import EmbeddedError, ServerFailedError
from app.infra.embedded.ports import LOOPBACK
from app.infra.embedded.process import Program, Tier
from app.infra.embedded.secret_files import flush_folder, write_private

SUPERUSER = "postgres"
INITDB_WITHIN_S = 120
READY_WITHIN_S = 120  # recovery after a crash is part of it
STOP_WITHIN_S = 60
MAX_CONNECTIONS = 200
BUILTIN_LOCALE_SINCE = 17
SYNC_METHOD_SINCE = 17
LONGEST_COMPLAINT = 2_000
STATUS_LINE = 7  # of postmaster.pid, counted from 0: what pg_ctl waits for

# No text of a user's in a log, whatever goes wrong. An ERROR quotes values ("invalid input syntax for type uuid: ...")
# and isn't written at all: the service logs it without them. DETAIL and CONTEXT, which quote rows and statements (that
# of a backend that was killed, in a line of the server's own), aren't written with anything.
SILENT_ABOUT_CONTENT = {
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_transaction_sample_rate": "0",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_duration": "off",
    "log_lock_waits": "off",
    "log_recovery_conflict_waits": "off",
    "log_replication_commands": "off",
    "debug_print_parse": "off",
    "debug_print_plan": "off",
    "debug_print_rewritten": "off",
    "shared_preload_libraries": "",
}
LOOPBACK_ONLY = {"listen_addresses": LOOPBACK, "unix_socket_directories": ""}
# Each of a thousand files flushed by itself made the start after a crash ten times slower on a busy disk.
HAS_SYNCFS = sys.platform == "linux"
RECOVERY = {"recovery_init_sync_method": "syncfs"} if HAS_SYNCFS else {}
SETTINGS = {
    **SILENT_ABOUT_CONTENT,
    **LOOPBACK_ONLY,
    **RECOVERY,
    "log_destination": "stderr",
    "logging_collector": "off",
    "password_encryption": "scram-sha-256",
    "max_connections": str(MAX_CONNECTIONS),
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Durability(Enum):
    FULL = "full"
    TESTS = "tests"  # survives every kill, as FULL does, and no power cut

    @property
    def settings(self) -> dict[str, str]:
        return {} if self is Durability.FULL else {"fsync": "off", "full_page_writes": "off"}


@dataclass(frozen=True)
class Cluster:
    base: Path  # holds the cluster alone, and belongs to the account
    account: Account | None
    binaries: binaries.PostgresBinaries

    @property
    def folder(self) -> Path:
        return self.base / "cluster"


def cluster_base(data: Path) -> Path | None:
    """Where the cluster of a data folder is, if there is one: inside, or where the folder's note says."""
    note = _note(data)
    if note.exists():
        return Path(note.read_text(encoding="utf-8"))
    inside = data / "postgres"
    return inside if inside.exists() else None


def open_cluster(data: Path, password: str, shelf: Path, durability: Durability) -> Cluster:
    """The cluster of the data folder, made where there is none yet."""
    base = cluster_base(data) or _new_base(data, shelf)
    if not base.exists():
        raise EmbeddedError(f"{_note(data)} says that the database is in {base}, and it isn't there")
    account = unprivileged_account(base)
    if not can_reach(account, base):
        raise EmbeddedError(f"{name_of(account)} who runs PostgreSQL can't reach {base}: was it moved?")
    cluster = Cluster(base, account, binaries.within_reach(binaries.find_postgres(), account, shelf))
    if not cluster.folder.exists():
        _initialise(cluster, password, durability)
    _check_version(cluster)
    return cluster


def program(cluster: Cluster, port: int, log: Path, durability: Durability) -> Program:
    settings = SETTINGS | durability.settings | {"port": str(port)}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return Program(
        name="postgres",
        command=(str(cluster.binaries.folder / "postgres"), "-D", str(cluster.folder), *options),
        tier=Tier.STORE,
        # SIGINT is "fast": sessions are ended, all is flushed. SIGQUIT leaves a recovery to the next start
        ending=Ending(signal.SIGINT, STOP_WITHIN_S, last_resort=signal.SIGQUIT),
        log=log,
        environment=plain_environment(),
        account=cluster.account,
        folder="/",
    )


def is_ready(cluster: Cluster, pid: int) -> bool:
    """What pg_ctl looks at. A connection too early would write a refusal into the log each time."""
    try:
        lines = (cluster.folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > STATUS_LINE and lines[0] == str(pid) and lines[STATUS_LINE].strip() == "ready"


def url(port: int, role: str, password: str, database: str) -> str:
    return f"postgresql://{role}:{password}@{LOOPBACK}:{port}/{database}"


def _note(data: Path) -> Path:
    return data / "postgres.location"


def _new_base(data: Path, shelf: Path) -> Path:
    """Inside the data folder where the account can reach it, else on the shelf; no folder is opened for it.

    The name on the shelf is new each time. What is there under another name may belong to a data folder that is only
    away for now (a disk not mounted), so it is never taken over and never removed.
    """
    account = unprivileged_account(data / "postgres")
    if can_reach(account, data):
        base = data / "postgres"
        base.mkdir(mode=0o700)
    else:
        digest = hashlib.sha256(str(data).encode()).hexdigest()[:16]
        base = binaries.open_shelf(shelf) / f"{digest}-{secrets.token_hex(4)}"
        base.mkdir(mode=0o700)
        if not can_reach(account, shelf):
            raise EmbeddedError(f"{name_of(account)} who is to run PostgreSQL can reach neither {data} nor {shelf}")
        write_private(_note(data), str(base))
    if account is not None:
        os.chown(base, account.uid, account.gid)
    return base


def _initialise(cluster: Cluster, password: str, durability: Durability) -> None:
    """Made beside its place and moved into it whole: a start that was killed here begins anew."""
    draft, password_file = cluster.base / "cluster.new", cluster.base / "initdb.password"
    write_private(password_file, password)
    if cluster.account is not None:
        os.chown(password_file, cluster.account.uid, cluster.account.gid)
    command = (
        *(str(cluster.binaries.folder / "initdb"), "-D", str(draft), "-U", SUPERUSER, "--encoding=UTF8"),
        *("--auth=scram-sha-256", f"--pwfile={password_file}", "--data-checksums"),
        *_sync_options(cluster.binaries.major, durability),
    )
    try:
        _initdb(cluster, draft, command)
    finally:
        password_file.unlink()
    draft.rename(cluster.folder)
    flush_folder(cluster.base)


def _initdb(cluster: Cluster, draft: Path, command: tuple[str, ...]) -> None:
    said = ""
    for locale in _locales(cluster.binaries.major):
        shutil.rmtree(draft, ignore_errors=True)
        made = run_as(cluster.account, (*command, *locale), INITDB_WITHIN_S)
        if made.returncode == 0:
            return
        said = made.stdout
    raise ServerFailedError(f"initdb failed:\n{said[-LONGEST_COMPLAINT:]}")


def _sync_options(major: int, durability: Durability) -> tuple[str, ...]:
    if durability is not Durability.FULL:
        return ("--no-sync",)
    return ("--sync-method=syncfs",) if HAS_SYNCFS and major >= SYNC_METHOD_SINCE else ()


def _locales(major: int) -> list[tuple[str, ...]]:
    """Plain C breaks lower() on whatever isn't ASCII, so it is only the last choice of an old server."""
    if major >= BUILTIN_LOCALE_SINCE:
        return [("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")]
    return [("--locale=C.UTF-8",), ("--locale=en_US.UTF-8",), ("--locale=C",)]


def _check_version(cluster: Cluster) -> None:
    made_by = (cluster.folder / "PG_VERSION").read_text(encoding="ascii").strip()
    if made_by != str(cluster.binaries.major):
        raise EmbeddedError(
            f"{cluster.folder} was made by PostgreSQL {made_by}, and {cluster.binaries.folder} has "
            f"{cluster.binaries.major}: install {made_by}, or move the data with pg_dump"
        )
