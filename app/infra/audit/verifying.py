"""Verifies a tenant's trail: every row, every batch, the chain, and where it ends. Nothing of it is taken on trust."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol
from uuid import UUID

from app.infra.audit.chain import FIRST_NUMBER, NO_DIGEST, AuditRow, Batch, Line, digest_of, follows
from app.infra.audit.ledger import Ledger

BATCHES_PER_READ: Final = 8
# Rows and batches that one question goes through; the answer says where the next one begins.
MAX_LOOKS: Final = 20_000
MAX_FINDINGS: Final = 100


class Fault(StrEnum):
    """What is wrong with a batch, and with the rows that it seals."""

    ROWS_CHANGED = "rows_changed"
    ROWS_REMOVED = "rows_removed"
    ROWS_INSERTED = "rows_inserted"
    BATCH_CHANGED = "batch_changed"
    BATCH_REMOVED = "batch_removed"
    CHAIN_BROKEN = "chain_broken"
    END_REMOVED = "end_removed"
    END_CHANGED = "end_changed"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, the batch it is in, and the last one where it is a run of batches that are gone."""

    fault: Fault
    batch: int
    to_batch: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was gone through, and what was found. `next_batch` is where to go on; None: all was seen.

    `own_rows` are those of the user that was asked for. `unsealed` are rows that are too new to prove anything yet.
    """

    first_batch: int
    last_batch: int | None
    rows: int
    own_rows: int
    findings: Sequence[Finding]
    next_batch: int | None
    unsealed: int = 0
    unsealed_since: datetime | None = None

    @property
    def is_intact(self) -> bool:
        """Say whether nothing was found."""
        return not self.findings


class Heads(Protocol):
    """Where the heads of the chains are kept."""

    async def audit_head(self, tenant: str) -> tuple[int, bytes] | None:
        """Return number and digest of the last batch that was noted."""
        ...


@dataclass(slots=True)
class _Walk:
    """Where a verification is on the chain, and what it has found so far."""

    number: int
    previous: bytes | None
    line: Line | None
    findings: list[Finding] = field(default_factory=list)
    last_batch: int | None = None
    rows: int = 0
    own_rows: int = 0
    # Batches and rows: a batch without rows is a look as well.
    looks: int = 0

    def found(self, fault: Fault, batch: int, to_batch: int | None = None) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(fault, batch, batch if to_batch is None else to_batch))


class Verifier:
    """Recomputes chains."""

    def __init__(self, ledger: Ledger, heads: Heads, keys: Mapping[str, Mapping[str, str]]) -> None:
        """Take the audit, the key store, and the public keys by id that may have signed batches."""
        self._ledger = ledger
        self._heads = heads
        self._keys = keys

    async def verify(
        self, tenant: str, usr: UUID | None = None, first: int = FIRST_NUMBER, max_looks: int = MAX_LOOKS
    ) -> Verdict:
        """Go through a tenant's chain from batch `first` on, to its end or for about `max_looks` rows and batches.

        With `usr` the rows of that user are counted too.
        """
        # Read first: what is sealed meanwhile is past it.
        noted = await self._heads.audit_head(tenant)
        walk = await self._start(tenant, first)
        while walk.looks < max_looks:
            page = await self._ledger.batches(tenant, walk.number, BATCHES_PER_READ)
            if not page:
                return await self._ended(tenant, first, walk, noted)
            for batch, rows in page:
                await self._step(tenant, walk, batch)
                await asyncio.to_thread(_compare, walk, batch, rows)
                if noted is not None and noted[0] == batch.number and noted[1] != batch.digest():
                    walk.found(Fault.END_CHANGED, batch.number)
                walk.own_rows += sum(row.usr == usr for row in rows)
                walk.rows += len(rows)
                walk.looks += len(rows) + 1
        return _verdict(first, walk, walk.number)

    async def _start(self, tenant: str, first: int) -> _Walk:
        if first <= FIRST_NUMBER:
            return _Walk(FIRST_NUMBER, NO_DIGEST, Line())
        before = await self._ledger.batch(tenant, first - 1)
        if before is None:
            return _Walk(first, None, None)
        return _Walk(first, before.digest(), before.line())

    async def _step(self, tenant: str, walk: _Walk, batch: Batch) -> None:
        """Look at the batch itself, and at how it hangs on the one before."""
        if batch.number > walk.number:
            walk.found(Fault.BATCH_REMOVED, walk.number, batch.number - 1)
        elif walk.previous is not None and walk.line is not None:
            if not follows(batch, walk.number, walk.previous, walk.line):
                walk.found(Fault.CHAIN_BROKEN, batch.number)
            elif batch.past_id > walk.line.past_id and await self._ledger.outside(tenant, walk.line, batch.past_id):
                walk.found(Fault.ROWS_INSERTED, batch.number)
        if not batch.is_signed_by(self._keys):
            walk.found(Fault.BATCH_CHANGED, batch.number)
        walk.number, walk.previous, walk.line = batch.number + 1, batch.digest(), batch.line()
        walk.last_batch = batch.number

    async def _ended(self, tenant: str, first: int, walk: _Walk, noted: tuple[int, bytes] | None) -> Verdict:
        if noted is not None and noted[0] >= walk.number:
            walk.found(Fault.END_REMOVED, walk.number, noted[0])
        waiting = await self._ledger.waiting(tenant, walk.line or Line())
        verdict = _verdict(first, walk, None)
        return replace(verdict, unsealed=waiting.rows, unsealed_since=waiting.since)


def _compare(walk: _Walk, batch: Batch, rows: Sequence[AuditRow]) -> None:
    """Hold the rows that are there against the batch that sealed them."""
    if len(rows) < batch.row_count:
        walk.found(Fault.ROWS_REMOVED, batch.number)
    elif len(rows) > batch.row_count:
        walk.found(Fault.ROWS_INSERTED, batch.number)
    elif digest_of(rows) != batch.rows_digest:
        walk.found(Fault.ROWS_CHANGED, batch.number)


def _verdict(first: int, walk: _Walk, next_batch: int | None) -> Verdict:
    return Verdict(first, walk.last_batch, walk.rows, walk.own_rows, tuple(walk.findings), next_batch)
