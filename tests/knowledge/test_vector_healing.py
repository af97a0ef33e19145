"""The vector store is stopped, killed, emptied and damaged: searches answer the same, and what it lost comes back."""

import asyncio
import shutil
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from sqlalchemy import select

from app.core.errors import AppError
from app.core.versions import Anything
from app.infra.chroma.client import READ_TIMEOUT_S, ChromaClient
from app.infra.chroma.index import ChromaIndex
from app.knowledge.index_watch import LostVectors
from app.knowledge.indexing import Check, VectorKeeper
from app.knowledge.tables import chunks
from app.knowledge.vectors import UnfitError
from app.settings import Settings
from tests.conftest import MakeScope, eventually
from tests.knowledge.chroma_server import ChromaServer
from tests.knowledge.conftest import NOTE, AskForTea, Knowledge, working
from tests.knowledge.notes import answers, filled, note

Contents = dict[str, Any]  # Any: Chroma's JSON


async def test_with_chroma_stopped_search_answers_the_same_and_afterwards_it_heals(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer, keeper: VectorKeeper, tea: AskForTea
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    chroma.stop()
    assert await answers(by_chroma, someone) == before
    added = await by_chroma.ingest(someone, await by_chroma.documents.add(someone, "Otters hold hands.", NOTE, None))
    assert (await by_chroma.texts(someone, "otters", 1)) == ["Otters hold hands."]
    with pytest.raises(AppError, match="store_unavailable"):
        await by_chroma.index(someone)
    await by_chroma.documents.delete(someone, added.id, Anything(), None)
    assert "Otters hold hands." not in await by_chroma.texts(someone, "otters", 50)
    chroma.start()
    await by_chroma.index(someone)
    assert (await keeper.check(someone)).is_complete
    assert await tea(someone)
    assert await answers(by_chroma, someone) == before


async def test_with_chroma_hanging_one_search_waits_and_the_next_ones_do_not(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    chroma.send(signal.SIGSTOP)
    try:
        async with asyncio.timeout(2 * READ_TIMEOUT_S + 10):
            assert await answers(by_chroma, someone) == before
    finally:
        chroma.send(signal.SIGCONT)


async def test_what_chroma_lost_is_answered_exactly_and_built_anew(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, keeper: VectorKeeper, tea: AskForTea
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    async with by_chroma.wiring.db.read(someone) as tx:
        rows = await tx.rows(select(chunks.c.content_tag).filter_by(usr=someone.usr).limit(3))
    some = [UUID(bytes=row.content_tag) for row in rows]
    harms: list[Callable[[], Awaitable[object]]] = [
        lambda: index.delete(someone.usr, some),
        lambda: index.drop(index.name(someone.usr)),
    ]
    for harm in harms:
        await harm()
        assert not (await keeper.check(someone)).is_complete
        with pytest.raises(UnfitError, match="broken"):
            await tea(someone)
        assert await answers(by_chroma, someone) == before
        await by_chroma.rebuild(someone)
        assert await keeper.check(someone) == Check(expected=31, actual=31, owed=0)
        assert await answers(by_chroma, someone) == before


async def test_a_search_that_meets_a_broken_index_has_it_built_anew(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, keeper: VectorKeeper, settings: Settings
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    await index.drop(index.name(someone.usr))
    before = await answers(by_chroma, someone)

    async def is_complete() -> bool:
        await by_chroma.find(someone, "tea")  # a pause that another test has caused may have to pass first
        return (await keeper.check(someone)).is_complete

    async with working(by_chroma.wiring, settings):
        await eventually(is_complete)
    assert await answers(by_chroma, someone) == before


@pytest.mark.parametrize("round_number", range(3))
async def test_chroma_killed_while_it_is_written_to_is_whole_again(
    by_chroma: Knowledge,
    scope: MakeScope,
    chroma: ChromaServer,
    keeper: VectorKeeper,
    tea: AskForTea,
    round_number: int,
) -> None:
    people = [await scope() for _ in range(4)]
    for someone in people:
        await by_chroma.ingest(someone, await by_chroma.documents.add(someone, "Otters hold hands.", NOTE, None))
        await by_chroma.ingest(someone, await by_chroma.documents.add(someone, note("tea", round_number), NOTE, None))
    writing = [asyncio.create_task(by_chroma.index(someone)) for someone in people]
    await asyncio.sleep(
        0.03 * (round_number + 1)
    )  # not to wait for anything: the kill shall fall somewhere in the writes
    chroma.kill()
    await asyncio.gather(*writing, return_exceptions=True)
    for someone in people:
        assert (await by_chroma.texts(someone, "otters", 1)) == ["Otters hold hands."]
    chroma.start()
    for someone in people:
        await by_chroma.index(someone)
        assert (await keeper.check(someone)).is_complete
        assert len(await tea(someone)) == 2


async def test_chroma_that_lost_its_disk_is_filled_again(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer, keeper: VectorKeeper
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    chroma.stop()
    shutil.rmtree(chroma.data)
    chroma.data.mkdir()
    chroma.start()
    assert await answers(by_chroma, someone) == before
    await by_chroma.ready(someone, "Otters hold hands.")
    assert await keeper.check(someone) == Check(expected=32, actual=32, owed=0)


def damage_files(data: Path) -> None:
    """The server is up, counts and answers fail."""
    for file in data.rglob("*.bin"):
        file.write_bytes(b"damaged")


def lose_files(data: Path) -> None:
    """The count, which is kept in another file, stays right."""
    for folder in data.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)


@pytest.mark.parametrize("harm", [damage_files, lose_files])
async def test_a_damaged_collection_is_answered_for_and_built_anew_by_itself(
    by_chroma: Knowledge,
    scope: MakeScope,
    chroma: ChromaServer,
    keeper: VectorKeeper,
    tea: AskForTea,
    harm: Callable[[Path], None],
) -> None:
    searched, written = await scope(), await scope()
    for someone in (searched, written):
        await filled(by_chroma, someone)
    before = await answers(by_chroma, searched)
    chroma.stop()
    harm(chroma.data)
    chroma.start()
    assert not (await keeper.check(searched)).is_complete
    with pytest.raises(UnfitError, match="broken"):
        await tea(searched)
    assert await answers(by_chroma, searched) == before
    assert await answers(by_chroma, written) == before
    await by_chroma.ready(written, "Otters hold hands.")
    assert await keeper.check(written) == Check(expected=32, actual=32, owed=0)
    await by_chroma.index(searched)
    assert await keeper.check(searched) == Check(expected=31, actual=31, owed=0)
    assert await tea(searched)
    assert await answers(by_chroma, searched) == before


async def test_vectors_of_another_size_are_no_answer_and_are_replaced(
    by_chroma: Knowledge,
    scope: MakeScope,
    index: ChromaIndex,
    chroma_client: ChromaClient,
    keeper: VectorKeeper,
    tea: AskForTea,
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    before = await answers(by_chroma, someone)
    name = index.name(someone.usr)
    await chroma_client.drop(name)
    ids = [uuid4() for _ in range(31)]
    await chroma_client.upsert(await chroma_client.create(name), ids, np.ones((31, 32), np.float32))
    assert not (await keeper.check(someone)).is_complete
    assert await answers(by_chroma, someone) == before
    with pytest.raises(UnfitError, match="broken"):
        await tea(someone)
    await by_chroma.ready(someone, "Otters hold hands.")
    assert await keeper.check(someone) == Check(expected=32, actual=32, owed=0)
    assert await tea(someone)


async def test_one_collection_that_is_damaged_keeps_nobody_else_from_the_vector_store(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, chroma_client: ChromaClient, tea: AskForTea
) -> None:
    harmed, other = await scope(), await scope()
    for someone in (harmed, other):
        await filled(by_chroma, someone, 5)
    name = index.name(harmed.usr)
    await chroma_client.drop(name)
    await chroma_client.upsert(
        await chroma_client.create(name), [uuid4() for _ in range(6)], np.ones((6, 32), np.float32)
    )
    with pytest.raises(UnfitError):
        await tea(harmed)
    assert await tea(other)


async def test_a_collection_that_another_process_has_built_anew_is_asked_at_once(
    by_chroma: Knowledge, scope: MakeScope, tea: AskForTea, keeper: VectorKeeper
) -> None:
    someone = await scope()
    await filled(by_chroma, someone, 5)
    assert len(await tea(someone)) == 5
    await by_chroma.rebuild(someone)
    assert len(await tea(someone)) == 5
    await keeper.rebuild(someone)
    await by_chroma.ready(someone, "Otters hold hands.")
    assert await keeper.check(someone) == Check(expected=7, actual=7, owed=0)


async def test_the_watch_finds_who_lacks_something_and_nobody_else(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, keeper: VectorKeeper
) -> None:
    whole, lost, short, owed = [await scope() for _ in range(4)]
    for someone in (whole, lost, short):
        await filled(by_chroma, someone, 5)
    await by_chroma.ingest(owed, await by_chroma.documents.add(owed, "Otters hold hands.", NOTE, None))
    await index.drop(index.name(lost.usr))
    async with by_chroma.wiring.db.read(short) as tx:
        row = (await tx.rows(select(chunks.c.content_tag).filter_by(usr=short.usr).limit(1)))[0]
    await index.delete(short.usr, [UUID(bytes=row.content_tag)])
    found = {usr async for _, usr in LostVectors(by_chroma.wiring.db, keeper).due()}
    assert {someone.usr for someone in (lost, short, owed)} <= found
    assert whole.usr not in found
    for someone in (lost, short, owed):
        await by_chroma.index(someone)
        assert (await keeper.check(someone)).is_complete
