"""Every table with a user's data is bound by row-level security and claimed by exactly one kind of user data."""

import asyncpg
import pytest

from app.wiring import Wiring
from tests.house.tables import TABLES, OwnedTable, not_claimed_once, unprotected

POLICY = "usr = (current_setting('app.user_id')) AND tenant = current_setting('app.tenant')"


async def test_every_table_with_a_users_data_is_protected(database: str) -> None:
    connection = await asyncpg.connect(database)
    try:
        tables = await _tables(connection)
    finally:
        await connection.close()
    assert {"users", "messages", "preferences", "chunks", "audit_log"} <= {table.name for table in tables}
    assert list(unprotected(tables)) == []


@pytest.mark.parametrize(
    "harm",
    [
        "CREATE TABLE things (usr uuid)",
        "ALTER TABLE users NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE users DISABLE ROW LEVEL SECURITY",
        "DROP POLICY owner ON users",
        "CREATE POLICY wide ON users TO cairn_app USING (true)",
        "CREATE POLICY wide ON users FOR SELECT USING (usr = nullif(current_setting('app.user_id'), '')::uuid)",
    ],
)
async def test_a_table_that_is_less_protected_is_found(database: str, harm: str) -> None:
    connection = await asyncpg.connect(database)
    transaction = connection.transaction()
    await transaction.start()
    try:
        before = {*unprotected(await _tables(connection))}
        await connection.execute(harm)
        after = {*unprotected(await _tables(connection))}
    finally:
        await transaction.rollback()
        await connection.close()
    assert after - before


async def test_every_table_with_a_users_data_is_claimed_once(database: str, wiring: Wiring) -> None:
    connection = await asyncpg.connect(database)
    try:
        tables = await _tables(connection)
    finally:
        await connection.close()
    assert list(not_claimed_once(tables, [name for kind in wiring.user_data for name in kind.tables])) == []


@pytest.mark.parametrize(
    "claims",
    [[], ["messages", "messages"], ["messages", "catalogue"]],
    ids=["by none", "by two", "of no user's"],
)
def test_a_wrong_claim_is_found(claims: list[str]) -> None:
    assert list(not_claimed_once([OwnedTable("messages", True, True, (POLICY,))], claims))


async def _tables(connection: "asyncpg.Connection[asyncpg.Record]") -> list[OwnedTable]:
    return [OwnedTable(*row) for row in await connection.fetch(TABLES)]
