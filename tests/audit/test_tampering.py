"""Whatever the owner of the database does to what is sealed is found, and the batch is named."""

# ruff: noqa: S608 - every statement is made of the texts below

import dataclasses
import time
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio

from app.core.scope import Scope, Subject
from app.infra.audit.chain import FIRST_NUMBER, digest_of
from app.infra.audit.verifying import Fault, Verifier
from app.infra.crypto.signing import Signer
from app.settings import Settings
from app.wiring import Wiring
from tests.audit.conftest import Audit, Owner, act, faults_of

BATCHES = 4
# The rows of the second batch of the tenant $1, and one of them.
SECOND = """
    SELECT l.* FROM audit_log l JOIN audit_batches b ON b.tenant = l.tenant AND b.number = 2
        AND l.xid >= b.from_xid AND l.xid < b.to_xid
    WHERE l.tenant = $1 ORDER BY l.xid, l.id
"""
ONE = f"(SELECT id FROM ({SECOND}) AS s LIMIT 1)"
OTHER = f"(SELECT id FROM ({SECOND}) AS s OFFSET 1 LIMIT 1)"
THIRD_XID = "(SELECT from_xid FROM audit_batches WHERE tenant = $1 AND number = 3)"
TABLES = ("audit_log", "audit_batches")
COLUMNS = "tenant, usr, at, xid, actor, agent, action, kind, item, outcome, request_id, address"

CHANGES = {
    "tenant": "usr = gen_random_uuid()",
    "at": "at = at + interval '1 microsecond'",
    "never": "at = 'infinity'",
    "actor": "actor = 'operator'",
    "agent": "agent = 'somebody'",
    "no agent": "agent = ''",
    "operator": "operator = gen_random_uuid()",
    "action": "action = 'read'",
    "kind": "kind = 'session'",
    "item": "item = NULL",
    "outcome": "outcome = 'not_found'",
    "request": "request_id = 'req_other'",
    "address": "address = 'public'",
    "reason": "reason_sealed = 'x'",
}


@pytest_asyncio.fixture(scope="session")
async def chain(audit: Audit, wiring: Wiring) -> str:
    """A tenant with a chain of BATCHES batches, with rows of two users in them, and nothing wrong."""
    tenant = "t-tampered"
    users = [await wiring.directory.enter(Subject("", tenant, sub), int(time.time()), None) for sub in ("alice", "bob")]
    while await audit.ledger.batch(tenant, BATCHES) is None:
        for usr, times in zip(users, (2, 1), strict=True):
            await act(wiring, Scope(tenant, usr, None), times)
        await audit.seal(tenant)
    return tenant


@pytest_asyncio.fixture
async def tampered(chain: str, audit: Audit, owner: Owner) -> AsyncIterator[str]:
    """The tenant of that chain. Whatever is done to its rows and batches is undone in the end."""
    head = await audit.heads.audit_head(chain)
    assert head is not None
    for table in TABLES:
        await owner.execute(f"CREATE TEMP TABLE kept_{table} AS SELECT * FROM {table} WHERE tenant = '{chain}'")
    yield chain
    for table in TABLES:
        await owner.execute(f"DELETE FROM {table} WHERE starts_with(tenant, '{chain}')")
        await owner.execute(f"INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM kept_{table}")
        await owner.execute(f"DROP TABLE kept_{table}")
    assert await audit.heads.audit_head(chain) == head
    assert await audit.faults(chain) == []


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_changed_row_is_found(audit: Audit, owner: Owner, tampered: str, change: str) -> None:
    assert await owner.execute(f"UPDATE audit_log SET {change} WHERE id = {ONE}", tampered) == "UPDATE 1"
    assert await audit.faults(tampered) == [(Fault.ROWS_CHANGED, 2)]


async def test_a_removed_row_is_found(audit: Audit, owner: Owner, tampered: str) -> None:
    assert await owner.execute(f"DELETE FROM audit_log WHERE id = {ONE}", tampered) == "DELETE 1"
    assert await audit.faults(tampered) == [(Fault.ROWS_REMOVED, 2)]


async def test_an_inserted_row_is_found(audit: Audit, owner: Owner, tampered: str) -> None:
    await owner.execute(f"INSERT INTO audit_log ({COLUMNS}) SELECT {COLUMNS} FROM audit_log WHERE id = {ONE}", tampered)
    assert await audit.faults(tampered) == [(Fault.ROWS_INSERTED, 2)]


async def test_rows_in_another_order_are_found(audit: Audit, owner: Owner, tampered: str) -> None:
    one, other = await owner.fetchval(f"SELECT {ONE}", tampered), await owner.fetchval(f"SELECT {OTHER}", tampered)
    await owner.execute("DELETE FROM audit_log WHERE id = ANY($1::bigint[])", [one, other])
    swapped = f"""
        INSERT INTO audit_log (id, {COLUMNS}) OVERRIDING SYSTEM VALUE
        SELECT CASE id WHEN $1 THEN $2 ELSE $1 END, {COLUMNS} FROM kept_audit_log WHERE id IN ($1, $2)
    """
    assert await owner.execute(swapped, one, other) == "INSERT 0 2"
    assert await audit.faults(tampered) == [(Fault.ROWS_CHANGED, 2)]


async def test_a_row_that_is_moved_to_another_batch_is_found_in_both(audit: Audit, owner: Owner, tampered: str) -> None:
    await owner.execute(f"UPDATE audit_log SET xid = {THIRD_XID} WHERE id = {ONE}", tampered)
    assert await audit.faults(tampered) == [(Fault.ROWS_INSERTED, 3), (Fault.ROWS_REMOVED, 2)]


async def test_a_row_that_is_made_to_look_new_is_found(audit: Audit, owner: Owner, tampered: str) -> None:
    await owner.execute(f"UPDATE audit_log SET xid = pg_current_xact_id() WHERE id = {ONE}", tampered)
    assert await audit.faults(tampered) == [(Fault.ROWS_REMOVED, 2)]


async def test_a_row_that_is_given_to_another_tenant_is_found(audit: Audit, owner: Owner, tampered: str) -> None:
    await owner.execute(f"UPDATE audit_log SET tenant = tenant || '-other' WHERE id = {ONE}", tampered)
    assert await audit.faults(tampered) == [(Fault.ROWS_REMOVED, 2)]


async def test_a_batch_that_is_made_to_fit_is_found(audit: Audit, owner: Owner, tampered: str) -> None:
    """Its digest is recomputed over changed rows, and so is that of every batch after it. The key is missing."""
    await owner.execute(f"DELETE FROM audit_log WHERE id = {ONE}", tampered)
    [(batch, rows)] = await audit.ledger.batches(tampered, 2, 1)
    forged = dataclasses.replace(batch, row_count=len(rows), rows_digest=digest_of(rows))
    await replace(owner, forged)
    assert await audit.faults(tampered) == [(Fault.BATCH_CHANGED, 2), (Fault.CHAIN_BROKEN, 3)]
    forger = Signer.from_seed(bytes(32))
    previous = batch.previous
    for number in range(2, BATCHES + 1):
        [(batch, rows)] = await audit.ledger.batches(tampered, number, 1)
        forged = dataclasses.replace(batch, previous=previous, row_count=len(rows), rows_digest=digest_of(rows))
        forged = forged.signed(forger)
        await replace(owner, forged)
        previous = forged.digest()
    forged_batches = [(Fault.BATCH_CHANGED, number) for number in range(2, BATCHES + 1)]
    assert await audit.faults(tampered) == [*forged_batches, (Fault.END_CHANGED, BATCHES)]


async def replace(owner: Owner, batch: object) -> None:
    values = dataclasses.asdict(batch)  # type: ignore[call-overload] # a Batch
    names = ("previous", "row_count", "rows_digest", "key_id", "signature")
    given = ", ".join(f"{name} = ${place}" for place, name in enumerate(names, 3))
    await owner.execute(
        f"UPDATE audit_batches SET {given} WHERE tenant = $1 AND number = $2",
        values["tenant"],
        values["number"],
        *(values[name] for name in names),
    )


REMOVED = {
    "in the middle": ("= 2", [(Fault.BATCH_REMOVED, 2)]),
    "at the beginning": ("= 1", [(Fault.BATCH_REMOVED, 1)]),
    "at the end": (f"= {BATCHES}", [(Fault.END_REMOVED, BATCHES)]),
    "from the middle on": ("> 2", [(Fault.END_REMOVED, 3)]),
    "all": ("> 0", [(Fault.END_REMOVED, 1)]),
}


@pytest.mark.parametrize("which", REMOVED)
async def test_a_batch_that_is_removed_with_its_rows_is_found(
    audit: Audit, owner: Owner, tampered: str, which: str
) -> None:
    numbers, expected = REMOVED[which]
    await owner.execute(
        f"DELETE FROM audit_log l USING audit_batches b WHERE l.tenant = $1 AND b.tenant = $1 AND b.number {numbers}"
        " AND l.xid >= b.from_xid AND l.xid < b.to_xid",
        tampered,
    )
    await owner.execute(f"DELETE FROM audit_batches WHERE tenant = $1 AND number {numbers}", tampered)
    assert await audit.faults(tampered) == expected


async def test_a_tenant_whose_audit_is_gone_is_still_asked_for(audit: Audit, owner: Owner, tampered: str) -> None:
    for table in ("audit_log", "audit_batches"):
        await owner.execute(f"DELETE FROM {table} WHERE tenant = $1", tampered)
    assert tampered in await audit.heads.audit_heads()


async def test_a_batch_of_another_installation_is_none_of_ours(audit: Audit, tampered: str) -> None:
    verdict = await Verifier(audit.ledger, audit.heads, {}).verify(tampered)
    assert faults_of(verdict) == [(Fault.BATCH_CHANGED, number) for number in range(FIRST_NUMBER, BATCHES + 1)]


@pytest.mark.parametrize("role", ["database_url", "database_log_url"])
@pytest.mark.parametrize("table", ["audit_log", "audit_batches"])
async def test_the_service_can_neither_change_nor_delete_what_it_noted(
    audit: Audit, settings: Settings, tampered: str, role: str, table: str
) -> None:
    service = await asyncpg.connect(getattr(settings, role).get_secret_value())
    try:
        for statement in (f"UPDATE {table} SET tenant = tenant", f"DELETE FROM {table}", f"TRUNCATE {table}"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await service.execute(statement)
    finally:
        await service.close()
    assert await audit.faults(tampered) == []
