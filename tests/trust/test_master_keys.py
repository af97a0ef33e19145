"""The master key, rotated while the service serves; and what happens at a start where one is missing."""

import threading

import pytest

from app.infra.crypto.master import MasterKeys
from tests.trust.running import MODULE_TIMEOUT_S, Installation, Running, run_cairn

USERS = 5

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


def test_a_master_key_is_rotated_while_serving_and_back(installation: Installation, up: Running, tenant: str) -> None:
    settings = installation.environment()
    old = settings["CAIRN_MASTER_KEY"]
    made = run_cairn(settings, "keys", "new-master", "k-next")
    new = made.stdout.strip()
    assert MasterKeys.parse(new).current == "k-next"
    for number in range(USERS):
        say(up, tenant, f"before-{number}")
    with installation.serving(CAIRN_MASTER_KEY=f"{new},{old}", CAIRN_WORKERS="1") as both:
        try:
            newcomers = Newcomers(both, tenant)
            newcomers.start()
            rotated = run_cairn(settings | {"CAIRN_MASTER_KEY": f"{new},{old}"}, "keys", "rotate-master")
            assert rotated.returncode == 0, rotated.stdout
            newcomers.stop()
            assert newcomers.subs, "nobody came meanwhile"
            subs = [f"before-{number}" for number in range(USERS)] + newcomers.subs
            again = run_cairn(settings | {"CAIRN_MASTER_KEY": f"{new},{old}"}, "keys", "rotate-master")
            assert again.stdout.startswith("0 key(s)"), again.stdout

            refused = run_cairn(settings | {"CAIRN_PORT": "1"}, "serve")
            assert refused.returncode != 0
            assert refused.stdout == "Error: CAIRN_MASTER_KEY: missing is k-next, which still wraps keys: given is k1\n"

            with installation.serving(CAIRN_MASTER_KEY=new, CAIRN_WORKERS="1") as alone:
                for sub in subs:
                    assert said(alone, tenant, sub) == sub
        finally:
            back = run_cairn(settings | {"CAIRN_MASTER_KEY": f"{old},{new}"}, "keys", "rotate-master")
    assert back.returncode == 0, back.stdout
    assert int(back.stdout.split()[0]) >= 2 + 2 * USERS
    for sub in subs:
        assert said(up, tenant, sub) == sub


class Newcomers(threading.Thread):
    """Users who come for the first time while the keys are wrapped anew."""

    def __init__(self, running: Running, tenant: str) -> None:
        super().__init__(daemon=True)
        self.subs: list[str] = []
        self._running = running
        self._tenant = tenant
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.is_set():
            sub = f"during-{len(self.subs)}"
            say(self._running, self._tenant, sub)
            self.subs.append(sub)

    def stop(self) -> None:
        self._enough.set()
        self.join(MODULE_TIMEOUT_S)
        assert not self.is_alive()


def say(running: Running, tenant: str, sub: str) -> None:
    with running.client(sub, tenant) as client:
        answer = client.put("/v1/preferences/me", json={"value": sub}, headers={"If-None-Match": "*"})
        assert answer.status_code == 201, answer.text


def said(running: Running, tenant: str, sub: str) -> object:
    with running.client(sub, tenant) as client:
        answer = client.get("/v1/preferences/me")
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]


@pytest.mark.parametrize(
    ("command", "lost", "told"),
    [
        ("serve", MasterKeys.generate("other"), "missing is k1, which still wraps keys: given is other"),
        ("worker", MasterKeys.generate("k1"), "master key 'k1' isn't the one that wrapped this key"),
    ],
    ids=["serve", "worker"],
)
def test_a_lost_master_key_is_told_at_the_start(
    installation: Installation, up: Running, command: str, lost: str, told: str
) -> None:
    assert up.ready_status() == 200
    settings = installation.environment() | {"CAIRN_PORT": "1", "CAIRN_MASTER_KEY": lost}
    refused = run_cairn(settings, command)
    assert refused.returncode != 0
    assert refused.stdout.startswith("Error: CAIRN_MASTER_KEY: ")
    assert told in refused.stdout
    assert "Traceback" not in refused.stdout
    assert lost.partition(":")[2] not in refused.stdout
