"""Seals a tenant's audit and is killed (SIGKILL) at a step, once for each step. Run as a program, by its test."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from app.infra.audit.chain import Batch
from app.infra.audit.ledger import Ledger, Unsealed
from app.infra.audit.sealing import Sealer
from app.infra.crypto.master import MasterKeys
from app.infra.db.engine import make_engine
from app.infra.keys.store import KeyStore, open_pool
from app.infra.keys.vault import open_vault
from app.settings import Settings

STEPS = ("read", "adding", "added", "noting", "noted")
ROWS_PER_BATCH = 2


def die_at(step: str, wanted: str) -> None:
    if step == wanted:
        os.kill(os.getpid(), signal.SIGKILL)


class DyingLedger(Ledger):
    wanted = ""

    async def unsealed(self, tenant: str, most: int) -> Unsealed:
        due = await super().unsealed(tenant, most)
        die_at("read", self.wanted)
        return due

    async def add(self, batch: Batch) -> bool:
        die_at("adding", self.wanted)
        added = await super().add(batch)
        die_at("added", self.wanted)
        return added


class DyingHeads:
    def __init__(self, store: KeyStore, wanted: str) -> None:
        self._store = store
        self._wanted = wanted

    async def audit_head(self, tenant: str) -> tuple[int, bytes] | None:
        return await self._store.audit_head(tenant)

    async def note_audit_head(self, tenant: str, number: int, digest: bytes) -> None:
        die_at("noting", self._wanted)
        await self._store.note_audit_head(tenant, number, digest)
        die_at("noted", self._wanted)


@asynccontextmanager
async def sealer(settings: Settings, wanted: str) -> AsyncIterator[Sealer]:
    engine = make_engine(settings.database_url.get_secret_value(), 1)
    store = KeyStore(await open_pool(settings.keys_url.get_secret_value(), 1))
    vault = await open_vault(store, MasterKeys.parse(settings.master_key.get_secret_value()))
    ledger = DyingLedger(engine)
    ledger.wanted = wanted
    yield Sealer(ledger, DyingHeads(store, wanted), vault.signer, ROWS_PER_BATCH)
    await store.close()
    await engine.dispose()


async def seal(settings: Settings, tenant: str, wanted: str) -> None:
    async with sealer(settings, wanted) as sealing:
        await sealing.seal_tenant(tenant)


def main(tenant: str) -> None:
    settings = Settings.load("verify")
    for wanted in STEPS:
        # Forked, for a start of Python costs more than all the rest.
        child = os.fork()
        if child == 0:
            asyncio.run(seal(settings, tenant, wanted))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        click.echo(f"{wanted} {'killed' if os.WIFSIGNALED(status) else 'ended'}")


if __name__ == "__main__":
    main(sys.argv[1])
