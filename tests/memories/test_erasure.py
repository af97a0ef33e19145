"""What facts keep of a user is sealed, and goes to the last row, for that user alone."""

import asyncpg
from sqlalchemy import update

from app.core.audit import AuditEntry
from app.infra.db.tables import users
from app.infra.embedded.stack import Stack
from app.wiring import Wiring
from tests.conftest import MakeClient, MakeScope
from tests.memories.facts import add, delete, put

PHRASE = "planted-phrase-of-the-test"
TABLES = {"memories": 1, "memory_versions": 2, "segment_items": 1}


async def test_nothing_that_was_said_is_readable_in_a_row(client: MakeClient, scope: MakeScope, stack: Stack) -> None:
    alice = await client()
    memory = await add(alice, PHRASE, metadata={PHRASE: PHRASE})
    memory = await put(alice, memory, PHRASE, metadata={PHRASE: PHRASE})
    usr = (await scope("alice")).usr
    connection = await asyncpg.connect(stack.admin_url.rpartition("/")[0] + "/cairn")
    try:
        for table, count in TABLES.items():
            rows = await connection.fetch(f"SELECT t::text AS row FROM {table} t WHERE usr = $1", usr)  # noqa: S608 - names from above
            assert len(rows) == count
            for row in rows:
                assert PHRASE not in row["row"]
                assert PHRASE.encode().hex() not in row["row"]
        await delete(alice, memory)
        indexed = await connection.fetchval("SELECT count(*) FROM segment_items WHERE usr = $1", usr)
        assert indexed == 0
    finally:
        await connection.close()


async def test_all_facts_of_an_erased_user_go_and_nobody_elses(
    client: MakeClient, wiring: Wiring, scope: MakeScope
) -> None:
    for sub in ("alice", "bob"):
        one = await client(sub)
        await put(one, await add(one, PHRASE), PHRASE)
    alice = await scope("alice")
    async with wiring.db.gate(alice) as (tx, _):
        await tx.change(update(users).filter_by(usr=alice.usr).values(state="erasing"), AuditEntry("erase", "user"))
    kinds = [kind for kind in wiring.user_data if kind.name in {"memories", "index"}]
    assert {kind.name: await kind.count(alice) for kind in kinds} == {"memories": 3, "index": 1}
    for _ in range(2):
        for kind in kinds:
            await kind.erase(alice)
    assert [await kind.count(alice) for kind in kinds] == [0, 0]
    bob = await client("bob")
    hits = (await bob.post("/v1/recall", json={"query": PHRASE})).json()["hits"]
    assert [hit["text"] for hit in hits] == [PHRASE]
