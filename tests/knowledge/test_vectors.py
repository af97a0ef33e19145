"""The vector store: it is told what is searched, answers as the exact index does, and whatever it loses comes back."""

from typing import Any
from uuid import UUID, uuid4

import httpx
import numpy as np
import pytest
from sqlalchemy import update

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Scope
from app.core.versions import Anything, Exactly
from app.infra.chroma.client import ChromaClient, NoCollectionError
from app.infra.chroma.index import ChromaIndex
from app.infra.db.tables import users
from app.infra.embedders.port import Embedder
from app.knowledge import chunk_store, search
from app.knowledge.indexing import Check, VectorKeeper
from app.knowledge.model import Description, Mode
from app.knowledge.userdata import CollectionData
from tests.conftest import MakeScope
from tests.knowledge.chroma_server import ChromaServer
from tests.knowledge.conftest import NOTE, AskForTea, Knowledge
from tests.knowledge.notes import QUESTIONS, answers, filled

Contents = dict[str, Any]  # Any: Chroma's JSON


async def erasing(knowledge: Knowledge, someone: Scope) -> None:
    """Close the gate, as an erasure does first."""
    async with knowledge.wiring.db.gate(someone) as (tx, _):
        closed = update(users).filter_by(usr=someone.usr).values(state="erasing")
        await tx.change(closed, AuditEntry("forget", "user"))


async def contents(chroma: ChromaServer, name: str) -> Contents:
    """Return everything that a collection holds."""
    base = f"{chroma.url}/api/v2/tenants/default_tenant/databases/default_database/collections"
    async with httpx.AsyncClient() as http:
        collection = (await http.get(f"{base}/{name}")).json()["id"]
        include = ["embeddings", "metadatas", "documents"]
        found: Contents = (await http.post(f"{base}/{collection}/get", json={"include": include})).json()
    return found


async def test_chroma_gives_the_same_hits_as_the_exact_index(
    by_chroma: Knowledge, knowledge: Knowledge, scope: MakeScope, tea: AskForTea
) -> None:
    someone = await scope()
    await filled(by_chroma, someone)
    assert await tea(someone), "Chroma is asked, and answers"
    assert await answers(by_chroma, someone) == await answers(knowledge, someone)
    for mode in Mode:
        one, other = [await each.find(someone, "围棋", 5, mode) for each in (by_chroma, knowledge)]
        assert [hit.passage for hit in one.hits] == [hit.passage for hit in other.hits]


async def test_with_more_texts_than_are_looked_at_closely_chroma_and_its_fallback_give_the_same_hits_and_scores(
    by_chroma: Knowledge, scope: MakeScope, tea: AskForTea, chroma: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "CANDIDATES", 20)
    monkeypatch.setattr(search, "SPARE_CANDIDATES", 20)
    someone = await scope()
    await filled(by_chroma, someone, 150)
    assert await tea(someone)

    async def found() -> list[tuple[str, float, float | None, float | None]]:
        asked = [(question, mode) for question in QUESTIONS for mode in Mode]
        hits = [hit for each in asked for hit in (await by_chroma.find(someone, each[0], 8, each[1])).hits]
        return [(hit.passage.text, hit.score, hit.dense, hit.lexical) for hit in hits]

    by_vectors = await found()
    chroma.stop()
    by_exact = await found()
    chroma.start()
    assert by_vectors == by_exact
    assert len(by_vectors) > len(QUESTIONS) * 8


async def test_what_is_said_in_another_language_is_not_lost_among_what_is_nearest(
    by_chroma: Knowledge, knowledge: Knowledge, scope: MakeScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "CANDIDATES", 10)
    monkeypatch.setattr(search, "SPARE_CANDIDATES", 0)
    someone = await scope()
    await filled(by_chroma, someone, 60)
    await by_chroma.ready(someone, "蜜蜂需要在秋天喂糖水。")
    for question in ("What are bees fed in autumn?", "蜜蜂秋天吃什么"):
        one, other = [await each.find(someone, question, 5) for each in (by_chroma, knowledge)]
        assert [hit.passage for hit in one.hits] == [hit.passage for hit in other.hits]
        assert "蜜蜂需要在秋天喂糖水。" in [hit.passage.text for hit in one.hits]


async def test_a_new_version_is_in_the_vector_store_instead_of_the_old(
    by_chroma: Knowledge, scope: MakeScope, keeper: VectorKeeper, index: ChromaIndex
) -> None:
    someone = await scope()
    old = await by_chroma.ready(someone, "# One\n\nThe first part.\n\n# Two\n\nThe second part.")
    kept = await by_chroma.ready(someone, "# Two\n\nThe second part.")
    new = await by_chroma.documents.replace(
        someone, old.id, "# One\n\nThe first part, changed.", NOTE, Exactly(frozenset({1})), None
    )
    await by_chroma.ingest(someone, new)
    await by_chroma.index(someone)
    assert await keeper.check(someone) == Check(expected=2, actual=2, owed=0)
    await by_chroma.documents.delete(someone, old.id, Anything(), None)
    await by_chroma.documents.delete(someone, kept.id, Anything(), None)
    await by_chroma.index(someone)
    assert await keeper.check(someone) == Check(expected=0, actual=0, owed=0)
    assert await index.count(someone.usr) == 0


async def test_equal_texts_of_a_user_are_one_vector(by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex) -> None:
    someone = await scope()
    documents = [await by_chroma.ready(someone, "Otters hold hands.", Description("note", title)) for title in "abc"]
    assert len({document.id for document in documents}) == 3
    assert await index.count(someone.usr) == 1
    assert await by_chroma.texts(someone, "otters", 3) == ["Otters hold hands."]
    for document in documents[:2]:
        await by_chroma.documents.delete(someone, document.id, Anything(), None)
        await by_chroma.index(someone)
    assert await index.count(someone.usr) == 1, "the last of them needs it"
    hits = (await by_chroma.find(someone, "otters", 3)).hits
    assert [hit.passage.document_id for hit in hits] == [documents[2].id]


async def test_what_the_vector_store_says_of_somebody_else_is_not_shown_and_is_swept_out(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, keeper: VectorKeeper, embedder: Embedder
) -> None:
    someone, other = await scope(), await scope()
    await filled(by_chroma, someone)
    await by_chroma.ready(other, "Otters hold hands.")
    before = await answers(by_chroma, someone)
    async with by_chroma.wiring.db.read(other) as tx:
        theirs = UUID(bytes=chunk_store.text_tag(tx.box, "Otters hold hands."))
    async with by_chroma.wiring.db.read(someone) as tx:
        box = tx.box
    # Their text's tag in this user's collection, nearest to the question.
    await index.upsert(box, [theirs], embedder.embed(["otters"]))
    assert "Otters hold hands." not in await by_chroma.texts(someone, "otters", 9)
    assert await answers(by_chroma, someone) == before
    assert not (await keeper.check(someone)).is_complete
    await by_chroma.index(someone)
    assert (await keeper.check(someone)).is_complete
    assert await by_chroma.texts(other, "otters") == ["Otters hold hands."]


async def test_the_vector_store_holds_neither_text_nor_names_nor_a_vector_that_tells_of_one(
    by_chroma: Knowledge, scope: MakeScope, chroma: ChromaServer, index: ChromaIndex, embedder: Embedder
) -> None:
    one, other = await scope(), await scope()
    for someone in (one, other):
        await by_chroma.ready(someone, "Otters hold hands.")
    stored = [await contents(chroma, index.name(someone.usr)) for someone in (one, other)]
    plain = embedder.embed(["Otters hold hands."])[0]
    for body in stored:
        assert body["documents"] == body["metadatas"] == [None]
        turned = np.array(body["embeddings"][0], np.float32)
        assert abs(float(turned @ plain)) < 0.3
    assert stored[0]["ids"] != stored[1]["ids"]
    first, second = (np.array(body["embeddings"][0], np.float32) for body in stored)
    assert abs(float(first @ second)) < 0.3
    written = b"".join(file.read_bytes() for file in chroma.data.rglob("*") if file.is_file())
    assert b"Otters" not in written
    assert one.tenant.encode() not in written


async def test_erasing_drops_the_collections_of_every_model(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, chroma_client: ChromaClient
) -> None:
    someone, other = await scope(), await scope()
    older = ChromaIndex(chroma_client, "an older model")
    for user in (someone, other):
        await by_chroma.ready(user, "Otters hold hands.")
        async with by_chroma.wiring.db.write(user) as tx:
            await chunk_store.remember_collection(tx, older.name(user.usr), AuditEntry("index", "document"))
            box = tx.box
        await older.create(user.usr)
        await older.upsert(box, [uuid4()], np.ones((1, 16), np.float32))
    data = CollectionData(by_chroma.wiring.db, [index])
    await erasing(by_chroma, someone)
    assert await data.count(someone) == 2
    await data.erase(someone)
    await data.erase(someone)
    assert await data.count(someone) == 0
    for each in (index, older):
        assert await each.count_in(each.name(someone.usr)) == 0
        assert await each.count_in(each.name(other.usr)) == 1


async def test_a_job_in_flight_can_not_bring_a_collection_back(
    by_chroma: Knowledge, scope: MakeScope, index: ChromaIndex, chroma_client: ChromaClient
) -> None:
    someone = await scope()
    await by_chroma.ingest(someone, await by_chroma.documents.add(someone, "Otters hold hands.", NOTE, None))
    await index.create(someone.usr)
    await erasing(by_chroma, someone)
    with pytest.raises(AppError, match="erasing"):
        await by_chroma.index(someone)
    with pytest.raises(NoCollectionError):
        await chroma_client.find(index.name(someone.usr))
