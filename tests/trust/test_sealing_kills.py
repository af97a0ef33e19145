"""The worker is killed (SIGKILL) at every step of sealing: each row is sealed once, and the chain ends where it is."""

import asyncio
import os
import sys

from app.core.audit import AuditEntry
from app.core.ids import uuid7
from app.infra.audit.ledger import Ledger
from app.infra.audit.sealing import Sealer
from app.infra.audit.verifying import Verifier
from app.infra.db.engine import make_engine
from app.infra.keys.store import KeyStore, open_pool
from app.settings import NEEDED, Settings, variable
from app.wiring import Wiring
from tests.conftest import MakeScope, eventually
from tests.trust.dying_sealer import STEPS

ROWS = 16


async def test_a_sealer_that_is_killed_anywhere_seals_every_row_once(
    wiring: Wiring, settings: Settings, scope: MakeScope, tenant: str
) -> None:
    alice = await scope("alice")
    for _ in range(ROWS - 1):
        async with wiring.db.remember(alice) as tx:
            await tx.next_change(AuditEntry("touch", "user", uuid7()))
    given = {variable(name): getattr(settings, name).get_secret_value() for name in NEEDED["verify"]}
    dying = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.trust.dying_sealer", tenant, env=os.environ | given, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await dying.communicate()
    assert told.decode().split("\n")[:-1] == [f"{step} killed" for step in STEPS]

    engine = make_engine(settings.database_url.get_secret_value(), 2)
    heads = KeyStore(await open_pool(settings.keys_url.get_secret_value(), 2))
    ledger, signer = Ledger(engine), wiring.vault.signer
    sealer = Sealer(ledger, heads, signer)

    async def all_sealed() -> bool:
        await sealer.seal_all(everybody=True)
        verdict = await verifier.verify(tenant)
        return verdict.unsealed == 0

    verifier = Verifier(ledger, heads, {signer.key_id: signer.public_jwk()})
    await eventually(all_sealed)
    verdict = await verifier.verify(tenant)
    assert (verdict.findings, verdict.rows) == ((), ROWS)
    last = await ledger.last(tenant)
    assert last is not None
    assert await heads.audit_head(tenant) == (last.number, last.digest())
    ids = [row.id for _, rows in await ledger.batches(tenant, 1, 100) for row in rows]
    assert len(set(ids)) == len(ids) == ROWS
    await heads.close()
    await engine.dispose()
