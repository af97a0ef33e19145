"""A context while a store or the embedder hangs: answered within its deadline with what there is, and it says what is
missing. Connections stay open and nothing comes over them, which is worse than a server that is gone.
"""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
import pytest_asyncio
from pydantic import SecretStr

from app.context.service import Contexts
from app.core.assembly import DENSE, Ask, Assembled, Reason
from app.core.errors import AppError
from app.core.ids import parse
from app.core.scope import Scope
from app.knowledge.model import Mode, Query
from app.knowledge.search import Search
from app.sessions.model import Recall
from app.sessions.recall import Recalls
from app.settings import Settings
from app.wiring import build
from tests.conftest import MakeClient, MakeScope
from tests.embedders import endpoint
from tests.embedders.endpoint import Answer, Recorder
from tests.lease.own_redis import Line

DEADLINE_S = 2.5
# Far past the deadline and what required kinds are given beyond it: nobody waits for a server that hangs.
ANSWERED_WITHIN_S = 15.0
CREATE = {"If-None-Match": "*"}
FOUND = {"recall", "memories", "knowledge"}
ALL = frozenset({"summary", "messages", "profile", "preferences"} | FOUND)


@dataclass(frozen=True)
class Apart:
    """A process whose ways to the servers can be held, each by itself."""

    contexts: Contexts
    recalls: Recalls
    search: Search
    lines: dict[str, Line]
    embedder: Recorder

    async def assemble(self, scope: Scope, session_id: UUID) -> Assembled:
        require = frozenset({"preferences", "profile"})
        return await self.contexts.assemble(scope, Ask("Where is the zebra?", session_id, 2_000, ALL, require, None))


@pytest.fixture(scope="module")
def embedder() -> Iterator[Recorder]:
    with endpoint.running() as recorder:
        yield recorder


@pytest_asyncio.fixture
async def apart(settings: Settings, embedder: Recorder) -> AsyncIterator[Apart]:
    urls = {"chroma_url": settings.chroma_url}
    urls |= {name: getattr(settings, name).get_secret_value() for name in ("redis_url", "database_url")}
    lines: dict[str, Line] = {}
    changed: dict[str, Any] = {  # Any: settings of many types
        "embedder": "openai:tiny",
        "llm_base_url": embedder.url,
        "context_deadline_s": DEADLINE_S,
        "embedder_deadline_s": 0.2,
        "exact_max_chunks": 0,  # Chroma is asked by every search
    }
    async with AsyncExitStack() as stack:
        for name, url in urls.items():
            port = urlsplit(url).port
            assert port is not None
            line = lines[name] = Line(port)
            await line.start()
            stack.push_async_callback(line.stop)
            led = url.replace(f":{port}", f":{line.port}")
            changed[name] = led if name == "chroma_url" else SecretStr(led)
        wiring = await stack.enter_async_context(build(settings.model_copy(update=changed)))
        contexts, recalls, search = (wiring.provided[kind] for kind in (Contexts, Recalls, Search))
        assert isinstance(contexts, Contexts)
        assert isinstance(recalls, Recalls)
        assert isinstance(search, Search)
        yield Apart(contexts, recalls, search, lines, embedder)
        for line in lines.values():
            line.let_go()


@pytest_asyncio.fixture
async def alice(client: MakeClient, scope: MakeScope, worker: None) -> tuple[Scope, UUID]:
    """Somebody of whom something of every kind is known, and a session of hers."""
    del worker
    alice = await client("alice")
    assert (await alice.put("/v1/preferences/tone", json={"value": "formal"}, headers=CREATE)).status_code == 201
    assert (await alice.post("/v1/memories", json={"text": "The zebra is called Ann."})).status_code == 201
    session = (await alice.post("/v1/sessions", json={})).json()["id"]
    said = [{"role": "user", "content": f"The zebra number {number}."} for number in range(5)]
    assert (await alice.post(f"/v1/sessions/{session}/messages", json={"messages": said})).status_code == 201
    body = {"text": "The zebra is in the garden.", "doc_type": "note"}
    document = (await alice.post("/v1/knowledge/documents", json=body)).json()["id"]
    done = await alice.get(f"/v1/knowledge/documents/{document}/events", params={"wait_s": 30})
    assert done.json()["status"] == "ready"
    return await scope("alice"), parse("ses", session)


async def test_a_store_or_an_embedder_that_hangs_costs_its_kinds_alone(apart: Apart, alice: tuple[Scope, UUID]) -> None:
    everything = await apart.assemble(*alice)
    assert everything.missing == []
    assert set(everything.packed.usage()) >= {"preferences", "messages"} | FOUND

    # Redis and Chroma aren't the only ones that know: what they don't answer in time is read from PostgreSQL.
    for name, kinds in (("redis_url", {"summary", "messages"}), ("chroma_url", set[str]())):
        apart.lines[name].hold()
        without = await apart.assemble(*alice)
        apart.lines[name].let_go()
        assert set(without.missing) <= kinds
        assert "formal" in without.packed.prompt
        assert "in the garden" in without.packed.prompt


async def test_with_an_embedder_that_hangs_all_is_found_by_its_words(apart: Apart, alice: tuple[Scope, UUID]) -> None:
    caller, session_id = alice
    with hanging(apart.embedder):
        made = await apart.contexts.assemble(caller, other_question(session_id))
        check(made, FOUND)
        told = {decision.kind: decision.id for decision in made.packed.decisions if decision.part == DENSE}
        assert told == dict.fromkeys(FOUND, "")
        assert set(made.packed.usage()) >= FOUND
        for words in ("The zebra is called Ann.", "The zebra is in the garden.", "The zebra number 0."):
            assert words in made.packed.prompt
        recalled = await apart.recalls.recall(caller, Recall("What is the zebra like?", 3, with_facts=True))
        assert recalled.hits
        assert recalled.lacks is Reason.SOURCE_LATE
        found = await apart.search.search(caller, Query("What is the zebra like?", 3))
        assert (len(found.hits), found.mode, found.lacks) == (1, Mode.LEXICAL, Reason.SOURCE_LATE)
        with pytest.raises(AppError, match="store_unavailable"):
            await apart.search.search(caller, Query("What is the zebra like?", 3, mode=Mode.DENSE))
    # It is asked again, and nothing is missing then.
    assert (await apart.assemble(*alice)).missing == []


async def test_what_the_embedder_refuses_is_told_too(apart: Apart, alice: tuple[Scope, UUID]) -> None:
    apart.embedder.answers[:] = [endpoint.status(400)] * 3
    made = await apart.contexts.assemble(alice[0], other_question(alice[1]))
    apart.embedder.answers.clear()
    assert set(made.missing) == FOUND
    assert {each.reason for each in made.packed.decisions if each.part == DENSE} == {Reason.SOURCE_FAILED}


async def test_who_has_nothing_misses_nothing_of_an_embedder_that_hangs(apart: Apart, scope: MakeScope) -> None:
    with hanging(apart.embedder):
        caller = await scope("bob")
        made = await apart.contexts.assemble(caller, Ask("Where?", None, 2_000, frozenset(FOUND), frozenset(), None))
    assert made.missing == []


@contextmanager
def hanging(embedder: Recorder) -> Iterator[None]:
    """An embedder that answers when the block is left."""
    released = threading.Event()

    def hang(body: dict[str, Any]) -> Answer:
        released.wait(ANSWERED_WITHIN_S)
        return endpoint.embeddings(body)

    embedder.answers[:] = [hang] * 20
    try:
        yield
    finally:
        embedder.answers.clear()
        released.set()


async def test_with_a_database_that_hangs_it_is_refused_in_time(apart: Apart, alice: tuple[Scope, UUID]) -> None:
    await apart.assemble(*alice)
    apart.lines["database_url"].hold()
    with pytest.raises(AppError, match="store_unavailable"):
        await apart.assemble(*alice)
    apart.lines["database_url"].let_go()


def other_question(session_id: UUID) -> Ask:
    """Ask what no vector is remembered of."""
    return Ask("What is the zebra called?", session_id, 2_000, ALL, frozenset({"preferences", "profile"}), None)


def check(assembled: Assembled, missing: set[str]) -> None:
    assert set(assembled.missing) == missing
    late = {each.kind for each in assembled.packed.decisions if each.reason is Reason.SOURCE_LATE}
    assert late == missing
    assert "formal" in assembled.packed.prompt
    assert "The zebra number 4." in assembled.packed.prompt
