"""`cairn verify`: what an operator with the database and the key store runs."""

import asyncio

from click.testing import CliRunner, Result

from app.commands.verify import verify
from app.settings import NEEDED, Settings, variable
from app.wiring import Wiring
from tests.audit.conftest import Audit, Owner, act
from tests.conftest import MakeScope


async def run(settings: Settings, *arguments: str) -> Result:
    given = {variable(name): getattr(settings, name).get_secret_value() for name in NEEDED["verify"]}
    return await asyncio.to_thread(CliRunner().invoke, verify, arguments, env=given)


async def test_what_is_whole_and_what_is_not(
    audit: Audit, owner: Owner, settings: Settings, wiring: Wiring, scope: MakeScope, tenant: str
) -> None:
    other = f"{tenant}-other"
    await act(wiring, await scope("alice"), 5)
    await act(wiring, await scope("bob", in_tenant=other), 2)
    await audit.seal(tenant)
    await audit.seal(other)
    last = await audit.ledger.last(tenant)
    assert last is not None
    whole = await run(settings, "--tenant", tenant)
    assert (whole.exit_code, whole.output) == (
        0,
        f"ok    {tenant}: 6 row(s) in {last.number} batch(es)\n1 tenant(s), 0 with faults\n",
    )
    await owner.execute("UPDATE audit_log SET outcome = 'not_found' WHERE tenant = $1", tenant)
    for table in ("audit_log", "audit_batches"):
        await owner.execute(f"DELETE FROM {table} WHERE tenant = $1", other)  # noqa: S608 - one of two names
    found = await run(settings)
    lines = found.output.splitlines()
    assert found.exit_code == 1
    for number in range(1, last.number + 1):
        assert f"FAIL  {tenant}: batch {number}: rows were changed" in lines
    # All of it is gone, and the key store knows that there was something.
    assert any(line.startswith(f"FAIL  {other}: batch") and "cut off the end" in line for line in lines)
