"""Every table with a user's data is bound by row-level security and claimed by exactly one kind of user data."""

import asyncpg
import pytest

from app.infra.embedded.stack import Stack
from tests.house.tables import TABLES, OwnedTable, not_claimed_once, unprotected

POLICY = "usr = (current_setting('app.user_id')) AND tenant = current_setting('app.tenant')"


@pytest.mark.usefixtures("histories")
async def test_every_table_with_a_users_data_is_protected(stack: Stack) -> None:
    tables = await _tables(stack)
    assert {"users", "messages", "preferences", "chunks", "audit_log"} <= {table.name for table in tables}
    assert list(unprotected(tables)) == []


@pytest.mark.usefixtures("histories")
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
async def test_a_table_that_is_less_protected_is_found(stack: Stack, harm: str) -> None:
    connection = await asyncpg.connect(stack.urls.database_owner)
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(harm)
        tables = [OwnedTable(*row) for row in await connection.fetch(TABLES)]
    finally:
        await transaction.rollback()
        await connection.close()
    assert list(unprotected(tables))


@pytest.mark.parametrize(
    "claims",
    [[], ["messages", "messages"], ["messages", "catalogue"]],
    ids=["by none", "by two", "of no user's"],
)
def test_a_wrong_claim_is_found(claims: list[str]) -> None:
    assert list(not_claimed_once([OwnedTable("messages", True, True, (POLICY,))], claims))


async def _tables(stack: Stack) -> list[OwnedTable]:
    connection = await asyncpg.connect(stack.urls.database_owner)
    try:
        return [OwnedTable(*row) for row in await connection.fetch(TABLES)]
    finally:
        await connection.close()
