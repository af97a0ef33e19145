"""One owner per data folder, and nothing left behind however the owner ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.infra.embedded.failures import FolderInUseError
from app.infra.embedded.leftovers import Note
from app.infra.embedded.stack import Server, Stack

LAUNCHER = Path(__file__).with_name("launcher.py")
ROOT = LAUNCHER.parents[2]
GONE_WITHIN_S = 20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, shelf: Path) -> Iterator[Path]:
    """One folder for all, since a first start takes longer: each launcher takes it over from the one before."""
    folder = tmp_path_factory.mktemp("ownership") / "data"
    yield folder
    Stack(folder, shelf=shelf).remove()


@contextmanager
def launched(data: Path, shelf: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:  # Any: its report
    process = subprocess.Popen(  # noqa: S603 (our own)
        [sys.executable, str(LAUNCHER), str(data), str(shelf)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, as a shell gives a job
    )
    assert process.stdout
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate(timeout=GONE_WITHIN_S)


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def becomes_true(condition: Callable[[], bool], within_s: float = GONE_WITHIN_S) -> bool:
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_a_second_owner_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    everything = frozenset(Server)
    with Stack(tmp_path, external=everything), pytest.raises(FolderInUseError) as refused:
        Stack(tmp_path, external=everything).start()
    assert refused.value.pid == os.getpid()
    assert re.search(rf"in use by process {os.getpid()}, since 20\d\d-\d\d-\d\dT", str(refused.value))
    with Stack(tmp_path, external=everything):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the next start stops them")
def test_a_killed_launcher_leaves_no_orphan(data: Path, shelf: Path) -> None:
    with launched(data, shelf) as (launcher, report):
        assert set(report["running"]) == {"chroma", "valkey", "postgres", "service"}
        launcher.kill()
        assert becomes_true(lambda: not any(map(runs, report["running"].values())))


def test_a_start_right_after_a_kill_waits_for_the_old_servers_and_finds_their_data(data: Path, shelf: Path) -> None:
    with launched(data, shelf) as (launcher, report):
        with pytest.raises(FolderInUseError, match=f"process {report['pid']},"):
            Stack(data, shelf=shelf).start()
        launcher.kill()
        launcher.wait()
        with Stack(data, shelf=shelf) as stack:
            assert not [name for name, pid in report["running"].items() if runs(pid)]
            assert stack.urls.redis != report["urls"]["redis"]


def test_every_server_can_be_known_again_by_its_command_line(servers: Stack) -> None:
    for child in servers.supervisor.children:  # what ends leftovers where no kernel does
        assert Note(child.pid, child.program.command, child.ending).running, child.program.name


def test_ctrl_c_reaches_the_launcher_alone_and_services_stop_before_the_stores(data: Path, shelf: Path) -> None:
    with launched(data, shelf) as (launcher, report):
        os.killpg(launcher.pid, signal.SIGINT)  # what the terminal does
        said, _ = launcher.communicate(timeout=GONE_WITHIN_S)
        assert launcher.returncode == 0, said
        assert not [name for name, pid in report["running"].items() if runs(pid)]
    assert (data / "run" / "service.note").read_text(encoding="utf-8") == "the stores were there"
    assert "database system is shut down" in (data / "logs" / "postgres.log").read_text(encoding="utf-8")
    assert "ready to exit" in (data / "logs" / "valkey.log").read_text(encoding="utf-8")
    assert not list((data / "run").glob("*.pid"))


def test_a_server_that_dies_takes_the_rest_down_by_name(data: Path, shelf: Path) -> None:
    with launched(data, shelf) as (launcher, report):
        os.kill(report["running"]["valkey"], signal.SIGKILL)
        said, _ = launcher.communicate(timeout=GONE_WITHIN_S)
        assert (launcher.returncode, said) == (1, "valkey fell, 0 linger\n")
        assert not [name for name, pid in report["running"].items() if runs(pid)]
