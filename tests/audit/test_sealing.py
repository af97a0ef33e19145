"""Every row is sealed exactly once, however its transaction overlaps with others and with the sealing."""

import asyncio
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.infra.audit.chain import END_OF_XIDS, NO_DIGEST, NO_ID, Batch, Line, next_batch
from app.infra.audit.ledger import Ledger
from app.infra.audit.verifying import Fault
from app.settings import Settings
from app.wiring import Wiring
from tests.audit.conftest import ROWS_PER_BATCH, Audit, Owner, act
from tests.conftest import MakeScope, eventually

WRITERS = 12
ROUNDS = 6
LONG_ROUNDS = 60
INSERT = """
    INSERT INTO audit_log (tenant, usr, actor, action, kind, outcome, request_id, address)
    SELECT $1, $2, 'user', 'touch', 'user', 'done', '', '' FROM generate_series(1, $3)
"""


class Passes:
    """Counts passes of the sealing, for writers that hold a transaction open over one."""

    def __init__(self) -> None:
        self._done = 0
        self._changed = asyncio.Condition()

    async def one_more(self) -> None:
        async with self._changed:
            self._done += 1
            self._changed.notify_all()

    async def over_two(self) -> None:
        """Wait for a pass that begins from now on to end."""
        async with self._changed:
            until = self._done + 2
            await self._changed.wait_for(lambda: self._done >= until)


async def write(url: str, tenant: str, seed: int, rounds: int, passes: Passes) -> int:
    """Write rows in transactions of which every third stays open while others commit and are sealed."""
    chance = random.Random(seed)  # noqa: S311 - an order of steps, no secret
    connection = await asyncpg.connect(url)
    written = 0
    try:
        for _ in range(rounds):
            async with connection.transaction():
                rows = chance.randint(1, 2 * ROWS_PER_BATCH)
                await connection.execute(INSERT, tenant, UUID(int=seed), rows)
                if chance.random() < 1 / 3:
                    await passes.over_two()
                    await connection.execute(INSERT, tenant, UUID(int=seed), 1)
                    rows += 1
            written += rows
    finally:
        await connection.close()
    return written


async def sealed_ids(ledger: Ledger, tenant: str) -> Sequence[int]:
    """Return the ids of the rows that each batch seals, one batch after the other."""
    return [row.id for _, rows in await ledger.batches(tenant, 1, 100_000) for row in rows]


async def test_every_row_of_overlapping_transactions_is_sealed_once(
    audit: Audit, owner: Owner, settings: Settings, tenant: str, pytestconfig: pytest.Config
) -> None:
    rounds = LONG_ROUNDS if pytestconfig.getoption("long") else ROUNDS
    url, passes = settings.database_log_url.get_secret_value(), Passes()
    writing = asyncio.gather(*(write(url, tenant, seed, rounds, passes) for seed in range(WRITERS)))

    async def seal() -> int:
        sealed = 0
        while not writing.done():
            sealed += await audit.sealer.seal_tenant(tenant)
            await passes.one_more()
        return sealed

    # Two workers, as in a deployment: neither seals what the other did.
    sealed = sum(await asyncio.gather(seal(), seal()))
    written = sum(await writing)
    sealed += await audit.seal(tenant)
    ids = await sealed_ids(audit.ledger, tenant)
    assert len(ids) == written
    assert len(set(ids)) == written
    assert {row["id"] for row in await owner.fetch("SELECT id FROM audit_log WHERE tenant = $1", tenant)} == set(ids)
    last = await audit.ledger.last(tenant)
    assert last is not None
    assert last.number == sealed
    verdict = await audit.verifier.verify(tenant)
    assert (verdict.findings, verdict.rows, verdict.unsealed) == ((), written, 0)


async def test_what_is_not_committed_is_waited_for(
    audit: Audit, settings: Settings, wiring: Wiring, scope: MakeScope, tenant: str
) -> None:
    alice = await scope("alice")
    await audit.seal(tenant)
    slow = await asyncpg.connect(settings.database_log_url.get_secret_value())
    try:
        async with slow.transaction():
            await slow.execute(INSERT, tenant, alice.usr, 1)
            await act(wiring, alice, 2)
            assert await audit.sealer.seal_tenant(tenant) == 0
    finally:
        await slow.close()
    await audit.seal(tenant)
    last = await audit.ledger.last(tenant)
    assert last is not None
    # Two rows of `act` for each of two calls, the slow one, and the user's first.
    assert len(await sealed_ids(audit.ledger, tenant)) == 4
    assert await audit.faults(tenant) == []


async def test_rows_of_one_transaction_are_not_parted(audit: Audit, settings: Settings, tenant: str) -> None:
    writer = await asyncpg.connect(settings.database_log_url.get_secret_value())
    try:
        for rows in (1, 5 * ROWS_PER_BATCH, 1):
            await writer.execute(INSERT, tenant, uuid4(), rows)
    finally:
        await writer.close()
    await audit.seal(tenant)
    counts = [batch.row_count for batch, _ in await audit.ledger.batches(tenant, 1, 10)]
    assert sum(counts) == 5 * ROWS_PER_BATCH + 2
    assert max(counts) >= 5 * ROWS_PER_BATCH
    assert await audit.faults(tenant) == []


async def test_each_tenant_has_a_chain_of_its_own(audit: Audit, wiring: Wiring, scope: MakeScope, tenant: str) -> None:
    other = f"{tenant}-other"
    await act(wiring, await scope("alice"), 2)
    await act(wiring, await scope("alice", in_tenant=other), 3)

    async def nothing_due() -> bool:
        await audit.sealer.seal_all()
        due = [each async for each in audit.ledger.tenants(due=True)]
        return tenant not in due and other not in due

    await eventually(nothing_due)
    for each, rows in ((tenant, 3), (other, 4)):
        verdict = await audit.verifier.verify(each)
        assert (verdict.first_batch, verdict.rows, verdict.findings) == (1, rows, ())
        assert each in [name async for name in audit.ledger.tenants(due=False)]


async def test_a_chain_goes_on_where_transactions_are_counted_anew(
    audit: Audit, owner: Owner, wiring: Wiring, scope: MakeScope, tenant: str
) -> None:
    """A dump that is restored elsewhere: its rows bear numbers that the new server comes to much later."""
    alice = await scope("alice")
    await act(wiring, alice, 5)
    far = 10**12
    await owner.execute(
        "UPDATE audit_log SET xid = (xid::text::bigint + $2)::text::xid8 WHERE tenant = $1", tenant, far
    )
    xids = [row["xid"] for row in await owner.fetch("SELECT xid FROM audit_log WHERE tenant = $1 ORDER BY 1", tenant)]
    # What the other server had sealed is all but the last three rows.
    to_xid = int(xids[3])
    draft = Batch(tenant, 1, NO_DIGEST, NO_ID, 0, to_xid, 0, 0, NO_DIGEST, datetime.now(UTC))
    assert await audit.ledger.add(draft)
    [(_, rows)] = await audit.ledger.batches(tenant, 1, 1)
    await owner.execute("DELETE FROM audit_batches WHERE tenant = $1", tenant)
    assert await audit.ledger.add(next_batch(tenant, None, Line(), rows, to_xid).signed(audit.signer))
    await act(wiring, alice, 2)
    await audit.seal(tenant)
    batches = [batch for batch, _ in await audit.ledger.batches(tenant, 1, 10)]
    assert [(batch.row_count, batch.to_xid == END_OF_XIDS) for batch in batches] == [(3, False), (3, True), (2, False)]
    assert await audit.faults(tenant) == []
    await act(wiring, alice, 2)
    await audit.seal(tenant)
    assert await audit.faults(tenant) == []
    assert tenant not in [each async for each in audit.ledger.tenants(due=True)]
    # Between the two lines nothing can be put in either.
    await owner.execute(
        "INSERT INTO audit_log (id, xid, tenant, usr, actor, action, kind, outcome, request_id, address)"
        " OVERRIDING SYSTEM VALUE SELECT -5, '5', tenant, usr, actor, action, kind, outcome, request_id, address"
        " FROM audit_log WHERE tenant = $1 LIMIT 1",
        tenant,
    )
    assert await audit.faults(tenant) == [(Fault.ROWS_INSERTED, 1)]


async def test_nothing_is_built_on_a_batch_that_is_not_ours(
    audit: Audit, owner: Owner, wiring: Wiring, scope: MakeScope, tenant: str
) -> None:
    alice = await scope("alice")
    await act(wiring, alice, 2)
    await audit.seal(tenant)
    await owner.execute(
        "INSERT INTO audit_batches SELECT tenant, number + 1, previous, past_id, from_xid, to_xid, last_id, row_count,"
        " rows_digest, sealed_at, key_id, signature FROM audit_batches WHERE tenant = $1 ORDER BY number DESC LIMIT 1",
        tenant,
    )
    last = await audit.ledger.last(tenant)
    assert last is not None
    await act(wiring, alice, 2)
    assert await audit.sealer.seal_tenant(tenant) == 0
    assert (Fault.BATCH_CHANGED, last.number) in await audit.faults(tenant)
    await owner.execute("DELETE FROM audit_batches WHERE tenant = $1 AND number = $2", tenant, last.number)
    await audit.seal(tenant)
    assert await audit.faults(tenant) == []


async def test_an_end_that_was_cut_off_is_found_even_when_sealing_went_on(
    audit: Audit, owner: Owner, wiring: Wiring, scope: MakeScope, tenant: str
) -> None:
    """An older backup, or somebody who takes the last batch away: new batches take its number, and hide nothing."""
    alice = await scope("alice")
    await act(wiring, alice, 3)
    await audit.seal(tenant)
    await act(wiring, alice, 2)
    await audit.seal(tenant)
    last = await audit.ledger.last(tenant)
    assert last is not None
    await owner.execute("DELETE FROM audit_log WHERE tenant = $1 AND xid >= $2::text::xid8", tenant, str(last.from_xid))
    await owner.execute("DELETE FROM audit_batches WHERE tenant = $1 AND number = $2", tenant, last.number)
    assert await audit.faults(tenant) == [(Fault.END_REMOVED, last.number)]
    for _ in range(3):
        await act(wiring, alice, 2)
        await audit.seal(tenant)
    assert await audit.faults(tenant) == [(Fault.END_CHANGED, last.number)]
