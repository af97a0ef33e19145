"""Seals what the audit has written: the worker's part. Killed anywhere, it begins again where the chain ends."""

import asyncio
from contextlib import suppress
from typing import Final, Protocol

import structlog

from app.core.errors import AppError
from app.infra.audit.chain import Batch, next_batch
from app.infra.audit.ledger import Ledger, Unsealed
from app.infra.crypto.signing import Signer

# What was written last can be taken away unseen until it is sealed: seldom longer than this and a commit.
SEALS_EVERY_S: Final = 2.0
ROWS_PER_BATCH: Final = 1_000

log = structlog.get_logger("cairn.audit")


class Heads(Protocol):
    """Where the heads of the chains are kept: apart from the chains."""

    async def audit_head(self, tenant: str) -> tuple[int, bytes] | None:
        """Return number and digest of the last batch that was noted."""
        ...

    async def note_audit_head(self, tenant: str, number: int, digest: bytes) -> None:
        """Note a batch as the last one, where an earlier one was."""
        ...


class Sealer:
    """Seals the rows of every tenant, in batches. Several may run at once: a batch of a number is kept once."""

    def __init__(self, ledger: Ledger, heads: Heads, signer: Signer, rows_per_batch: int = ROWS_PER_BATCH) -> None:
        """Take the audit, the key store and the installation's signer."""
        self._ledger = ledger
        self._heads = heads
        self._signer = signer
        self._keys = {signer.key_id: signer.public_jwk()}
        self._rows_per_batch = rows_per_batch

    async def run(self, stop: asyncio.Event) -> None:
        """Seal until `stop` is set. A store that is down is for the next round."""
        first = True
        while not stop.is_set():
            try:
                # What was sealed before a kill may not have been noted.
                await self.seal_all(everybody=first)
                first = False
            except AppError as error:
                log.warning("sealing_waits", code=error.code)
            with suppress(TimeoutError):
                async with asyncio.timeout(SEALS_EVERY_S):
                    await stop.wait()

    async def seal_all(self, *, everybody: bool = False) -> int:
        """Seal what can be sealed of every tenant that has some; return how many batches that were."""
        sealed = 0
        async for tenant in self._ledger.tenants(due=not everybody):
            sealed += await self.seal_tenant(tenant)
        return sealed

    async def seal_tenant(self, tenant: str) -> int:
        """Seal what can be sealed of a tenant, and note where its chain ends; return how many batches that were."""
        sealed = 0
        while (due := await self._ledger.unsealed(tenant, self._rows_per_batch)).rows:
            if due.last is not None and not due.last.is_signed_by(self._keys):
                # Nothing is built on what somebody else has put there. `cairn verify` says what it is.
                log.error("audit_chain_broken", batch=due.last.number)
                return sealed
            batch = await asyncio.to_thread(self._made, tenant, due)
            sealed += await self._ledger.add(batch)
        await self._note(tenant)
        return sealed

    def _made(self, tenant: str, due: Unsealed) -> Batch:
        return next_batch(tenant, due.last, due.line, due.rows, due.to_xid).signed(self._signer)

    async def _note(self, tenant: str) -> None:
        """Note the chain's end, where what was noted before is on the chain: a chain that was cut off stays so."""
        last = await self._ledger.last(tenant)
        if last is None or not last.is_signed_by(self._keys):
            return
        noted = await self._heads.audit_head(tenant)
        if noted is not None:
            number, digest = noted
            before = await self._ledger.batch(tenant, number)
            if before is None or before.digest() != digest:
                log.error("audit_chain_cut", noted=number, last=last.number)
                return
        await self._heads.note_audit_head(tenant, last.number, last.digest())
