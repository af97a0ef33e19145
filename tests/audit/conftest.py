"""A small audit: a sealer of small batches, a verifier, and the database's owner, who can change anything."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import asyncpg
import pytest_asyncio

from app.core.audit import AuditEntry
from app.core.ids import uuid7
from app.core.scope import Scope
from app.infra.audit.ledger import Ledger
from app.infra.audit.sealing import Sealer
from app.infra.audit.verifying import Fault, Verdict, Verifier
from app.infra.crypto.signing import Signer
from app.infra.db.engine import make_engine
from app.infra.embedded.stack import Stack
from app.infra.keys.store import KeyStore, open_pool
from app.settings import Settings
from app.wiring import Wiring
from tests.conftest import eventually

ROWS_PER_BATCH = 3

Owner = asyncpg.Connection


@dataclass(frozen=True)
class Audit:
    """What seals and verifies, as the worker and the API have it."""

    ledger: Ledger
    heads: KeyStore
    sealer: Sealer
    verifier: Verifier
    signer: Signer

    async def seal(self, tenant: str) -> int:
        """Seal all that is written of a tenant: whatever else holds the horizon back now ends soon."""
        sealed = 0

        async def all_sealed() -> bool:
            nonlocal sealed
            sealed += await self.sealer.seal_tenant(tenant)
            last = await self.ledger.last(tenant)
            return last is not None and (await self.ledger.waiting(tenant, last.line())).rows == 0

        await eventually(all_sealed)
        return sealed

    async def faults(self, tenant: str) -> list[tuple[Fault, int]]:
        """Return what is found, by batch."""
        return faults_of(await self.verifier.verify(tenant))


def faults_of(verdict: Verdict) -> list[tuple[Fault, int]]:
    return sorted((finding.fault, finding.batch) for finding in verdict.findings)


async def act(wiring: Wiring, scope: Scope, times: int) -> None:
    """Leave that many audit rows of the user's, each of a transaction of its own."""
    for _ in range(times):
        async with wiring.db.remember(scope) as tx:
            await tx.next_change(AuditEntry("touch", "user", uuid7()))


@pytest_asyncio.fixture(scope="session")
async def audit(wiring: Wiring, settings: Settings) -> AsyncIterator[Audit]:
    engine = make_engine(settings.database_url.get_secret_value(), 4)
    heads = KeyStore(await open_pool(settings.keys_url.get_secret_value(), 2))
    ledger, signer = Ledger(engine), wiring.vault.signer
    keys = {signer.key_id: signer.public_jwk()}
    yield Audit(ledger, heads, Sealer(ledger, heads, signer, ROWS_PER_BATCH), Verifier(ledger, heads, keys), signer)
    await heads.close()
    await engine.dispose()


@pytest_asyncio.fixture(scope="session")
async def owner(stack: Stack) -> AsyncIterator[Owner]:
    """The superuser of the database: no policy, no right and no trigger holds them back."""
    connection = await asyncpg.connect(stack.admin_url.rsplit("/", 1)[0] + "/cairn")
    yield connection
    await connection.close()
