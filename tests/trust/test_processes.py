"""`cairn up` as a user meets it: one owner, a token that works, an orderly end, nothing left behind, nothing lost."""

import signal

import httpx
import psutil
import pytest

from tests.trust.running import (
    GONE_WITHIN_S,
    LOOPBACK,
    MODULE_TIMEOUT_S,
    PLAIN,
    Installation,
    Running,
    becomes_true,
    free_port,
    is_alive,
    printed_token,
    run_cairn,
)

CREATE = {"If-None-Match": "*"}

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


def test_a_second_up_is_told_who_holds_the_folder(installation: Installation, up: Running) -> None:
    port = str(free_port())
    second = run_cairn(installation.settings, "up", "--data", str(installation.data), "--port", port)
    assert second.returncode != 0
    assert f"in use by process {up.process.pid}," in second.stdout
    assert up.ready_status() == 200


def test_the_printed_token_and_address_work(up: Running) -> None:
    assert f"http://{LOOPBACK}:{up.port}" in up.text()
    headers = {"Authorization": f"Bearer {printed_token(up.text())}"}
    answer = httpx.get(f"{up.base_url}/v1/preferences", headers=headers, verify=PLAIN, trust_env=False)
    assert answer.status_code == 200
    created = httpx.put(
        f"{up.base_url}/v1/preferences/printed",
        json={"value": 1},
        headers=headers | CREATE,
        verify=PLAIN,
        trust_env=False,
    )
    assert created.status_code == 201


def test_a_killed_launcher_leaves_no_process_and_loses_nothing(
    installation: Installation, up: Running, tenant: str
) -> None:
    with up.client("alice", tenant) as alice:
        alice.put("/v1/preferences/language", json={"value": "zh-CN"}, headers=CREATE).raise_for_status()
    processes = up.tree()
    assert set(up.api_processes()) <= processes
    up.send(signal.SIGKILL)
    assert becomes_true(lambda: not any(map(is_alive, processes)), GONE_WITHIN_S), left_of(processes)
    with installation.start().client("alice", tenant) as alice:
        assert alice.get("/v1/preferences/language").json()["value"] == "zh-CN"


def test_sigterm_stops_everything(installation: Installation, up: Running) -> None:
    processes = up.tree()
    assert len(processes) > 8
    assert installation.stop() == 0, up.text()
    assert not left_of(processes)
    assert up.ready_status() is None
    assert not list((installation.data / "run").glob("*.pid"))


def left_of(processes: set[psutil.Process]) -> list[list[str]]:
    return [each.cmdline() for each in processes if is_alive(each)]
