"""`cairn index`: it says who lacks something in the vector store, and builds it anew; it shows counts alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio
from click.testing import CliRunner, Result

from app.commands.index import index
from app.core.ids import show
from app.core.scope import Scope
from app.infra.chroma import client as chroma_client
from app.infra.chroma.client import ChromaClient
from app.infra.chroma.index import ChromaIndex
from app.infra.embedded.ports import free_port
from app.infra.embedders.use import UseEmbedder
from app.infra.segments.cache import IndexCache
from app.infra.segments.store import SegmentStore
from app.knowledge import sharing
from app.knowledge.index_watch import LostVectors
from app.knowledge.indexing import VectorKeeper
from app.knowledge.model import Description
from app.knowledge.orphans import Orphans
from app.settings import Settings, variable
from tests.conftest import MakeScope
from tests.knowledge.conftest import NOTE, Knowledge

NEEDED = ("database_url", "database_log_url", "keys_url", "redis_url", "master_key")


async def ran(settings: Settings, *arguments: str) -> Result:
    """Run the command as an operator does: in a loop of its own, with what it needs in the environment."""
    given = {variable(name): getattr(settings, name).get_secret_value() for name in NEEDED}
    environment = given | {variable("chroma_url"): settings.chroma_url}
    return await asyncio.to_thread(CliRunner().invoke, index, arguments, env=environment)


@pytest_asyncio.fixture
async def vectors(settings: Settings) -> AsyncIterator[ChromaIndex]:
    client = ChromaClient(settings.chroma_url)
    yield ChromaIndex(client, f"use@{UseEmbedder().revision}")
    await client.close()


@asynccontextmanager
async def chroma_at(settings: Settings) -> AsyncIterator[ChromaClient]:
    opened = ChromaClient(settings.chroma_url)
    yield opened
    await opened.close()


async def audited(settings: Settings, someone: Scope) -> list[tuple[str, str, str]]:
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    async with connection.transaction():
        await connection.execute(
            "SELECT set_config('app.user_id', $1, true), set_config('app.tenant', $2, true)",
            str(someone.usr),
            someone.tenant,
        )
        rows = await connection.fetch("SELECT actor, action, kind FROM audit_log WHERE actor = 'operator'")
    await connection.close()
    return [tuple(row) for row in rows]


async def test_a_check_names_who_lacks_something_and_what_to_do(
    knowledge: Knowledge, scope: MakeScope, settings: Settings, vectors: ChromaIndex
) -> None:
    whole, lost, owed = await scope(), await scope("liz"), await scope()
    for someone in (whole, lost):
        await knowledge.ready(someone, "Otters hold hands.")
    await knowledge.ingest(owed, await knowledge.documents.add(owed, "Otters hold hands.", NOTE, None))
    await vectors.drop(vectors.name(lost.usr))
    found = await ran(settings, "check")
    reference = show("usr", lost.usr)
    assert f"FAIL  {reference}: 0 of 1 vectors: run `cairn index rebuild --user {reference}`" in found.output
    assert f"wait  {show('usr', owed.usr)}: 0 of 1 vectors, 1 change(s) are owed" in found.output
    assert show("usr", whole.usr) not in found.output
    assert found.exit_code == 1
    assert "Otters" not in found.output
    one = await ran(settings, "check", "--user", show("usr", whole.usr))
    assert f"ok    {show('usr', whole.usr)}: 1 of 1 vectors" in one.output
    assert one.exit_code == 0
    by_name = await ran(settings, "check", "--user", "liz", "--tenant", lost.tenant)
    assert (reference in by_name.output, by_name.exit_code) == (True, 1)


async def test_a_rebuild_puts_it_in_order_and_the_audit_says_who_asked(
    knowledge: Knowledge, scope: MakeScope, settings: Settings, vectors: ChromaIndex
) -> None:
    lost, other = await scope("liz"), await scope()
    for someone in (lost, other):
        await knowledge.ready(someone, "Otters hold hands.")
        await vectors.drop(vectors.name(someone.usr))
    done = await ran(settings, "rebuild", "--user", "liz", "--tenant", lost.tenant)
    assert f"ok    {show('usr', lost.usr)}: 1 of 1 vectors" in done.output
    assert done.exit_code == 0
    assert await vectors.count(lost.usr) == 1
    assert await vectors.count(other.usr) == 0
    assert ("operator", "rebuild", "index") in await audited(settings, lost)


async def test_collections_of_nobody_are_named_and_dropped_and_those_of_others_are_not(
    knowledge: Knowledge, scope: MakeScope, settings: Settings, vectors: ChromaIndex
) -> None:
    someone, nobody = await scope(), uuid4()
    await knowledge.ready(someone, "Otters hold hands.")
    older = f"u_{someone.usr.hex}_{'0' * 12}"
    async with chroma_at(settings) as client:
        await client.create("not-ours")
        # One of a user who is gone, and one of a model that nobody has written down.
        await client.create(vectors.name(nobody))
        await client.create(older)
        found = await ran(settings, "check")
        told = [line for line in found.output.splitlines() if "belongs to nobody" in line]
        assert {line.split()[1].rstrip(":") for line in told} >= {vectors.name(nobody), older}
        assert found.exit_code == 1
        assert vectors.name(someone.usr) not in found.output
        dropped = await ran(settings, "prune")
        assert (dropped.exit_code, "dropped" in dropped.output) == (0, True)
        left = await client.names()
        assert {vectors.name(someone.usr), "not-ours"} <= {*left}
        assert {*left}.isdisjoint({vectors.name(nobody), older})
        assert await Orphans(knowledge.wiring.db, client).find() == []
        await client.drop("not-ours")


async def test_a_collection_with_settings_of_before_is_named_and_built_anew_by_a_worker(
    knowledge: Knowledge, scope: MakeScope, settings: Settings, vectors: ChromaIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = await scope()
    with monkeypatch.context() as before:
        before.setattr(chroma_client, "_INDEX", {"hnsw": {**chroma_client.HNSW, "ef_search": 100}})
        await knowledge.ready(someone, "Otters hold hands.")
    reference = show("usr", someone.usr)
    found = await ran(settings, "check", "--user", reference)
    assert "1 of 1 vectors, made with settings of before: run `cairn index rebuild" in found.output
    assert found.exit_code == 1
    keeper = VectorKeeper(knowledge.wiring.db, SegmentStore("chunk", IndexCache(), vectors.model), [vectors])
    assert someone.usr in {usr async for _, usr in LostVectors(knowledge.wiring.db, keeper).due()}
    await knowledge.index(someone)
    assert await vectors.is_current(someone.usr)
    assert await knowledge.texts(someone, "otters") == ["Otters hold hands."]
    assert (await ran(settings, "check", "--user", reference)).exit_code == 0


async def test_texts_that_are_shared_are_given_back_to_each_passage(
    knowledge: Knowledge, scope: MakeScope, settings: Settings
) -> None:
    someone = await scope()
    for title in ("one", "two"):
        await knowledge.ready(someone, "Otters hold hands.", Description("note", title))
    asked = await ran(settings, "unshare", "--user", show("usr", someone.usr))
    assert ("2 passage(s) have" in asked.output, asked.exit_code) == (True, 0)
    assert await sharing.unshare(knowledge.wiring.db, someone) == 0
    assert await knowledge.texts(someone, "otters") == ["Otters hold hands."]
    assert ("operator", "unshare", "document") in await audited(settings, someone)


async def test_who_is_not_there_and_a_server_that_is_not_up_are_said(settings: Settings, tenant: str) -> None:
    nobody = await ran(settings, "check", "--user", "nobody", "--tenant", tenant)
    assert (nobody.exit_code, nobody.output) == (1, f"Error: there is no user nobody in the tenant {tenant}\n")
    malformed = await ran(settings, "check", "--user", "usr_1")
    assert (malformed.exit_code, malformed.output) == (1, "Error: usr_1 is no reference of a user\n")
    away = settings.model_copy(update={"chroma_url": f"http://127.0.0.1:{free_port()}"})
    down = await ran(away, "check")
    assert "FAIL  store_unavailable: is Chroma up" in down.output
    assert down.exit_code == 1
