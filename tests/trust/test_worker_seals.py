"""An installation as users run it: the worker seals by itself, `cairn verify` agrees, the public key is published."""

import httpx
import pytest

from tests.trust.running import MODULE_TIMEOUT_S, PLAIN, Installation, Running, becomes_true, run_cairn

SEALED_WITHIN_S = 120

pytestmark = pytest.mark.timeout(MODULE_TIMEOUT_S)


def test_the_worker_seals_and_anybody_can_verify(installation: Installation, up: Running, tenant: str) -> None:
    with up.client("alice", tenant) as alice:
        made = alice.post("/v1/sessions", json={})
        made.raise_for_status()

        def batch() -> int | None:
            asked = {"action": "create", "kind": "session"}
            [entry] = alice.get("/v1/audit", params=asked).raise_for_status().json()["items"]
            found: int | None = entry["batch"]
            return found

        assert becomes_true(lambda: batch() is not None, SEALED_WITHIN_S)
        verdict = alice.post("/v1/audit/verify", json={}).raise_for_status().json()
    assert (verdict["intact"], verdict["findings"]) == (True, [])
    assert verdict["entries"] > 0
    verified = run_cairn(installation.environment(), "verify", "--tenant", tenant)
    assert verified.returncode == 0, verified.stdout
    assert verified.stdout.startswith(f"ok    {tenant}: "), verified.stdout
    keys = (
        httpx.get(f"{up.base_url}/.well-known/cairn-keys.json", verify=PLAIN, trust_env=False)
        .raise_for_status()
        .json()["keys"]
    )
    assert [key["crv"] for key in keys] == ["Ed25519"]
