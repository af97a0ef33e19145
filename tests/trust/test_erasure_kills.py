"""A process is killed (SIGKILL) after each step of an erasure: whoever goes on ends it, and nothing is left."""

import asyncio
import os
import sys
from uuid import UUID

import asyncpg
import httpx
import pytest

from app.infra.crypto.signing import verify
from app.infra.embedded.stack import Stack
from app.settings import NEEDED, Settings, variable
from tests.conftest import MakeClient, MakeScope, eventually
from tests.erasure.test_forgetting import fill, rows_of
from tests.sessions.talk import Json

# In the short form, beside the first kind of data: the gate is closed, all is counted, the keys are gone, and the end.
IN_SHORT = ("door.gate.1", "door.erase.2", "keys.destroy.1", "door.erase.3")
LEAST_KINDS = 20
STAYS = {"users", "audit_log", "erasures"}


@pytest.mark.timeout(600)  # the long form kills after every kind
async def test_an_erasure_killed_after_any_step_is_ended_by_who_goes_on(
    settings: Settings,
    stack: Stack,
    client: MakeClient,
    scope: MakeScope,
    tenant: str,
    request: pytest.FixtureRequest,
) -> None:
    first = (await scope("nobody")).usr
    told = await died(settings, tenant, [f"{first.hex}:-"])
    assert told[-2:] == ["done", "- ended"]
    steps = [line.removeprefix("step ") for line in told if line.startswith("step ")]
    of_kinds = [step for step in steps if not step.startswith(("door.", "hot.bury", "keys."))]
    assert len(of_kinds) > LEAST_KINDS
    assert set(IN_SHORT) < set(steps)
    if not request.config.getoption("--long"):
        steps = [*IN_SHORT, of_kinds[0]]
    users = {step: await client(step) for step in steps}
    scopes = {}
    for step, user in users.items():
        await fill(user)
        scopes[step] = await scope(step)
    told = await died(settings, tenant, [f"{scopes[step].usr.hex}:{step}" for step in steps])
    assert told == [f"{step} killed" for step in steps]

    keys = (await users[steps[0]].get("/.well-known/cairn-keys.json")).json()["keys"]
    for step, user in users.items():
        signed = await forgotten(user)
        assert verify(signed["document"], signed["signature"]["value"], keys[0]), step
        assert {each["remaining"] for each in signed["document"]["stores"]} == {0}, step
        assert {each["kind"] for each in signed["document"]["stores"] if each["before"]} >= {"sessions", "profile"}, (
            step
        )
        assert set(await rows_of(stack, scopes[step].usr)) == STAYS, step
        assert await keys_of(settings, scopes[step].usr) == 0, step


async def forgotten(user: httpx.AsyncClient) -> Json:
    """Ask to be forgotten until there is a certificate; return it."""
    answers: list[httpx.Response] = []

    async def is_done() -> bool:
        answers.append(await user.delete("/v1/users/me"))
        return answers[-1].status_code == httpx.codes.OK

    await eventually(is_done)
    certificate: Json = answers[-1].json()["certificate"]
    return certificate


async def died(settings: Settings, tenant: str, orders: list[str]) -> list[str]:
    """Return what the program printed for those orders."""
    given = {variable(name): _plain(getattr(settings, name)) for name in NEEDED["worker"]}
    given[variable("data_dir")] = str(settings.data_dir)
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.trust.dying_eraser",
        tenant,
        *orders,
        env=os.environ | given,
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await program.communicate()
    assert program.returncode == 0
    return [line for line in told.decode().splitlines() if not line.startswith(("20", "{"))]


def _plain(value: object) -> str:
    secret = getattr(value, "get_secret_value", None)
    return str(value if secret is None else secret())


async def keys_of(settings: Settings, usr: UUID) -> int:
    """Count the keys that the key store still holds of a user."""
    connection = await asyncpg.connect(settings.keys_url.get_secret_value())
    try:
        return int(await connection.fetchval("SELECT count(*) FROM data_keys WHERE usr = $1", usr))
    finally:
        await connection.close()
