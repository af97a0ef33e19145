"""Starting, stopping and what earlier runs left, tried on programs that misbehave on purpose."""

import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.infra.embedded.ending import Ending
from app.infra.embedded.failures import NotReadyError, ServerFailedError, StillRunningError
from app.infra.embedded.leftovers import Note, end_leftovers, write_note
from app.infra.embedded.process import Program, Supervisor

PATIENT = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {PATIENT}"
BRIEF_S = 0.2


def program(code: str, ready: Path, ending: Ending | None = None, log: Path | None = None) -> Program:
    return Program("it", (sys.executable, "-c", code, str(ready)), ending=ending or Ending(), log=log)


def test_what_has_a_last_resort_is_killed_when_it_lingers(tmp_path: Path) -> None:
    supervisor, ready = Supervisor(tmp_path), tmp_path / "ready"
    child = supervisor.start(program(STUBBORN, ready, Ending(within_s=BRIEF_S)), ready.exists, within_s=20)
    assert supervisor.stop() == []
    assert child.process.returncode == -signal.SIGKILL


def test_what_has_none_is_reported_and_the_next_start_refuses_to_run_beside_it(tmp_path: Path) -> None:
    supervisor, ready = Supervisor(tmp_path), tmp_path / "ready"
    ending = Ending(within_s=BRIEF_S, last_resort=None)
    child = supervisor.start(program(STUBBORN, ready, ending), ready.exists, within_s=20)
    assert supervisor.stop() == [child]
    with pytest.raises(StillRunningError, match=str(child.pid)):
        end_leftovers(tmp_path, grace_s=0)
    child.process.kill()
    child.process.wait()
    end_leftovers(tmp_path, grace_s=0)
    assert not list(tmp_path.glob("*.pid"))


def test_a_leftover_is_ended_and_a_stranger_with_its_pid_is_let_alone(tmp_path: Path) -> None:
    command = (sys.executable, "-c", PATIENT, str(tmp_path / "ready"))
    leftover = subprocess.Popen(command)  # noqa: S603 (our own)
    stranger = subprocess.Popen(command)  # noqa: S603
    write_note(tmp_path / "one.pid", Note(leftover.pid, command, Ending()))
    write_note(tmp_path / "two.pid", Note(stranger.pid, (*command, "other"), Ending()))
    end_leftovers(tmp_path, grace_s=0)
    assert leftover.wait(10) == -signal.SIGTERM
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_one_that_ends_at_once_says_what_it_logged_this_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("an older complaint\n", encoding="utf-8")
    failing = program("raise SystemExit('the disk is full')", tmp_path, log=log)
    with pytest.raises(ServerFailedError, match="the disk is full") as failed:
        Supervisor(tmp_path).start(failing, lambda: False, within_s=20)
    assert "older" not in str(failed.value)


def test_one_that_is_never_ready_is_stopped(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    with pytest.raises(NotReadyError):
        supervisor.start(program(PATIENT, tmp_path / "ready"), lambda: False, within_s=BRIEF_S)
    assert supervisor.children == []


def test_a_child_has_files_enough_no_core_file_and_no_wide_umask(tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = (
        "import os; from resource import *; print(getrlimit(RLIMIT_NOFILE)[0], getrlimit(RLIMIT_CORE)[0], os.umask(0))"
    )
    wanted = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, wanted[1]))
    try:
        child = Supervisor(tmp_path).spawn(program(code, tmp_path, log=told))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, wanted)
    child.process.wait(20)
    files, core, umask = map(int, told.read_text(encoding="utf-8").split())
    assert files >= min(2_000, wanted[1])
    assert (core, umask) == (0, 0o077)


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    missing = Program("it", ("/nowhere/at/all",), log=tmp_path / "log")
    with pytest.raises(ServerFailedError, match="No such file"):
        Supervisor(tmp_path).start(missing, lambda: False, within_s=20)


def test_a_child_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    supervisor, ready = Supervisor(tmp_path), tmp_path / "ready"
    starter = threading.Thread(target=lambda: supervisor.start(program(PATIENT, ready), ready.exists, within_s=20))
    starter.start()
    starter.join()
    assert supervisor.watch(iter([False, False, False, True]).__next__) is None
    assert supervisor.stop() == []
