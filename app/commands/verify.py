"""`cairn verify`: recomputes the audit, row by row, of every tenant or of one."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import click

from app.commands.environment import load_settings
from app.core.errors import AppError
from app.infra.audit.chain import FIRST_NUMBER
from app.infra.audit.ledger import Ledger
from app.infra.audit.verifying import Fault, Finding, Verdict, Verifier
from app.infra.crypto.master import MasterKeyError, MasterKeys
from app.infra.db.engine import make_engine
from app.infra.keys.store import KeyStore, open_pool
from app.infra.keys.vault import open_vault
from app.settings import Settings

POOL: Final = 2
FAULTS: Final = {
    Fault.ROWS_CHANGED: "rows were changed",
    Fault.ROWS_REMOVED: "rows were removed",
    Fault.ROWS_INSERTED: "rows were put in",
    Fault.BATCH_CHANGED: "the batch was changed: its signature doesn't fit",
    Fault.BATCH_REMOVED: "removed from the chain",
    Fault.CHAIN_BROKEN: "doesn't follow on the batch before it",
    Fault.END_REMOVED: "cut off the end of the chain: removed, or an older backup was restored",
    Fault.END_CHANGED: "isn't the batch that the key store knows by this number",
}


@dataclass(frozen=True)
class Audit:
    """What is verified, and by what."""

    ledger: Ledger
    heads: KeyStore
    verifier: Verifier


@click.command("verify")
@click.option("--tenant", help="This tenant's audit alone.")
def verify(tenant: str | None) -> None:
    """Recompute the audit from its rows. The exit status is 1 where a row or a batch isn't as it was sealed."""
    try:
        intact = asyncio.run(_all(load_settings("verify"), tenant))
    except MasterKeyError as error:
        raise click.ClickException(str(error)) from None
    except AppError as error:
        raise click.ClickException(f"{error.code}: is PostgreSQL up, and the key store?") from None
    sys.exit(0 if intact else 1)


async def _all(settings: Settings, tenant: str | None) -> bool:
    async with _opened(settings) as audit:
        tenants = [tenant] if tenant is not None else await _tenants(audit)
        # Every one of them, whatever is found in the first.
        intact = [await _one(audit, each) for each in tenants]
    click.echo(f"{len(tenants)} tenant(s), {intact.count(False)} with faults")
    return all(intact)


async def _tenants(audit: Audit) -> list[str]:
    """Return every tenant that has an audit, or had one: its head is in the key store."""
    found = {tenant async for tenant in audit.ledger.tenants(due=False)}
    return sorted(found | set(await audit.heads.audit_heads()))


async def _one(audit: Audit, tenant: str) -> bool:
    """Go through a tenant's chain and say how it is."""
    first, rows, last, intact = FIRST_NUMBER, 0, None, True
    while True:
        verdict = await audit.verifier.verify(tenant, first=first)
        rows += verdict.rows
        last = verdict.last_batch or last
        intact = intact and verdict.is_intact
        for finding in verdict.findings:
            click.echo(f"FAIL  {tenant}: {_told(finding)}")
        if verdict.next_batch is None:
            break
        first = verdict.next_batch
    if intact:
        click.echo(f"ok    {tenant}: {rows} row(s) in {last or 0} batch(es){_waiting(verdict)}")
    return intact


def _told(finding: Finding) -> str:
    many = finding.to_batch > finding.batch
    named = f"batches {finding.batch} to {finding.to_batch}" if many else f"batch {finding.batch}"
    return f"{named}: {FAULTS[finding.fault]}"


def _waiting(verdict: Verdict) -> str:
    if verdict.unsealed_since is None:
        return ""
    return f", {verdict.unsealed} not sealed yet since {verdict.unsealed_since.isoformat(timespec='seconds')}"


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Audit]:
    async with AsyncExitStack() as stack:
        engine = make_engine(settings.database_url.get_secret_value(), POOL)
        stack.push_async_callback(engine.dispose)
        store = KeyStore(await open_pool(settings.keys_url.get_secret_value(), POOL))
        stack.push_async_callback(store.close)
        vault = await open_vault(store, MasterKeys.parse(settings.master_key.get_secret_value()))
        ledger, signer = Ledger(engine), vault.signer
        yield Audit(ledger, store, Verifier(ledger, store, {signer.key_id: signer.public_jwk()}))
