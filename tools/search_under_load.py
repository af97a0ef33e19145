"""Whether two users are found what is theirs after others have used the vector store for a while, as at the start.

    .venv/bin/python tools/search_under_load.py [--minutes 20] [--others 1000] [--every 2]

Starts servers of its own. A user of 20 chunks and one of 500 ask for meaning alone, and Chroma is made to answer for
any number of chunks. Each answer is held against the exact one, from PostgreSQL: R is the share of its ten passages
that are there as well. Meanwhile the others upload, search, replace and delete, and Chroma closes and opens their
collections.

Beside it, in the same server, all of these vectors stand in one collection with the user as a filter: the layout that
this product doesn't have. Its R is against the nearest ten of the user's vectors, counted here.
"""

import argparse
import asyncio
import base64
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from app import wiring
from app.core.errors import AppError
from app.core.scope import Scope, Subject
from app.core.versions import Anything
from app.infra.crypto.master import MasterKeys
from app.infra.db import migrations
from app.infra.embedded.stack import Stack, start_for_tests
from app.infra.embedders.use import UseEmbedder
from app.infra.queue.runner import Runner, make_queue
from app.infra.segments.index import Index
from app.knowledge.model import Description, Document, Mode, Query
from app.knowledge.search import Search
from app.knowledge.service import Documents
from app.knowledge.vectors import UnfitError
from app.settings import Settings

TOP_K = 10
QUESTIONS = 40
SIZES = (20, 500)
WRITERS = 6
CHUNKS_A_DOCUMENT = 4
COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
# In one language: in two, the exact index answers alone.
WORDS = (
    *("harbour", "bee", "violin", "tax", "desert", "cake", "railway", "chess", "gravity", "tea", "island", "bridge"),
    *(
        "doctor",
        "winter",
        "engine",
        "garden",
        "letter",
        "market",
        "mountain",
        "school",
        "river",
        "coat",
        "lamp",
        "paper",
    ),
    *("salt", "ship", "stone", "storm", "summer", "table", "train", "valley", "wheat", "window", "wool", "yard"),
)

Json = dict[str, Any]  # Any: JSON


@dataclass
class Person:
    """A user, and the documents that are theirs."""

    scope: Scope
    documents: list[Document] = field(default_factory=list)


class Shared:
    """All vectors in one collection, each with its user: what is compared with, not the product's layout."""

    def __init__(self, url: str) -> None:
        """Speak to the server."""
        self._http = httpx.AsyncClient(base_url=url, timeout=60)
        self._of: dict[str, list[np.ndarray]] = {}
        self._id = ""

    async def make(self) -> None:
        """Make the collection, as it is made where nobody says otherwise."""
        made = await self._http.post(
            COLLECTIONS, json={"name": "shared", "configuration": {"hnsw": {"space": "cosine"}}}
        )
        self._id = made.json()["id"]

    async def add(self, user: str, vectors: np.ndarray) -> None:
        """Write a user's vectors."""
        held = self._of.setdefault(user, [])
        body = {
            "ids": [f"{user}-{len(held) + number}" for number in range(len(vectors))],
            "embeddings": [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors],
            "metadatas": [{"user": user}] * len(vectors),
        }
        held.extend(vectors)
        (await self._http.post(f"{COLLECTIONS}/{self._id}/upsert", json=body)).raise_for_status()

    async def recall(self, user: str, questions: np.ndarray) -> float:
        """Return the share of the nearest ten of a user's that a filtered query finds."""
        own = np.stack(self._of[user])
        found = 0
        for question in questions:
            body = {"query_embeddings": [question.tolist()], "n_results": TOP_K, "where": {"user": user}}
            answer = await self._http.post(f"{COLLECTIONS}/{self._id}/query", json=body | {"include": ["distances"]})
            ids = answer.json().get("ids", [[]])[0] if answer.is_success else []
            best = {f"{user}-{place}" for place in np.argsort(-(own @ question))[:TOP_K]}
            found += len(best & set(ids))
        return found / (TOP_K * len(questions))


class Trial:
    """The product on servers of its own, its users, and what is measured."""

    def __init__(self, by_chroma: wiring.Wiring, exact: wiring.Wiring, shared: Shared, seed: int) -> None:
        """Take the product twice: asking Chroma for every search, and for none."""
        self._by_chroma, self._shared = by_chroma, shared
        self._exact_search: Any = exact.provided[Search]  # Any: an object of that type
        self._chance = random.Random(seed)  # noqa: S311 - who does what
        self._embedder = UseEmbedder()
        self._questions = self._embedder.embed([self._sentence() for _ in range(QUESTIONS)])
        self._asked = [self._sentence() for _ in range(QUESTIONS)]
        self.done: dict[str, int] = dict.fromkeys(("uploads", "searches", "replacements", "deletions", "refused"), 0)

    async def person(self, name: str) -> Person:
        """Return a new user."""
        subject = Subject("", "load", name)
        usr = await self._by_chroma.directory.enter(subject, int(time.time()), None)
        return Person(Scope("load", usr, None))

    async def give(self, person: Person, chunks: int) -> None:
        """Upload a document of so many chunks, and put its vectors beside the others'."""
        texts = [" ".join(self._sentence() for _ in range(4)) for _ in range(chunks)]
        body = "\n\n".join(f"# {number}\n\n{text}" for number, text in enumerate(texts))
        documents = self._service(Documents)
        person.documents.append(await documents.add(person.scope, body, Description("note"), None))
        vectors = await asyncio.to_thread(self._embedder.embed, texts)
        await self._shared.add(str(person.scope.usr), vectors)

    async def settle(self, person: Person) -> None:
        """Wait until all of a user's documents are searched, and Chroma has been told."""
        vectors = self._service(Search)._vectors._chroma  # noqa: SLF001 - the one that has no other to answer for it
        while True:
            states = [await self._service(Documents).read(person.scope, one.id) for one in person.documents]
            if all(one.status == "ready" for one in states):
                try:
                    await vectors.nearest(person.scope, await self._sealed(person), self._questions[0], TOP_K)
                except UnfitError:
                    pass
                else:
                    return
            await asyncio.sleep(0.5)

    async def recall(self, person: Person) -> tuple[float, int]:
        """Return the share of the exact answers' passages that Chroma's have, and how often it couldn't answer."""
        vectors = self._service(Search)._vectors._chroma  # noqa: SLF001 - to see that it was it that answered
        found = wanted = unfit = 0
        for text, question in zip(self._asked, self._questions, strict=True):
            asked = Query(text, TOP_K, mode=Mode.DENSE)
            one = await self._service(Search).search(person.scope, asked)
            other = await self._exact_search.search(person.scope, asked)
            best = {hit.passage.chunk_id for hit in other.hits}
            found += len(best & {hit.passage.chunk_id for hit in one.hits})
            wanted += len(best)
            try:
                await vectors.nearest(person.scope, await self._sealed(person), question, TOP_K)
            except UnfitError:
                unfit += 1
        return found / wanted, unfit

    async def _sealed(self, person: Person) -> Index:
        async with self._by_chroma.db.read(person.scope) as tx:
            return (await self._service(Search)._segments.load(tx)).index  # noqa: SLF001 - what it goes by

    async def shared_recall(self, person: Person) -> float:
        """Return what the one collection finds of theirs."""
        return await self._shared.recall(str(person.scope.usr), self._questions)

    async def use(self, others: Sequence[Person], until_s: float) -> None:
        """Be one after the other of the others, until it is time."""
        while time.monotonic() < until_s:
            person = self._chance.choice(others)
            try:
                await self._act(person)
            except AppError:
                self.done["refused"] += 1

    async def _act(self, person: Person) -> None:
        what = self._chance.random()
        if what < 0.3 or not person.documents:  # noqa: PLR2004 - a third writes
            await self.give(person, CHUNKS_A_DOCUMENT)
            self.done["uploads"] += 1
        elif what < 0.4:  # noqa: PLR2004
            one = self._chance.choice(person.documents)
            text = " ".join(self._sentence() for _ in range(8))
            await self._service(Documents).replace(person.scope, one.id, text, Description("note"), Anything(), None)
            self.done["replacements"] += 1
        elif what < 0.5:  # noqa: PLR2004
            one = person.documents.pop(self._chance.randrange(len(person.documents)))
            await self._service(Documents).delete(person.scope, one.id, Anything(), None)
            self.done["deletions"] += 1
        else:
            await self._service(Search).search(person.scope, Query(self._sentence(), TOP_K, mode=Mode.DENSE))
            self.done["searches"] += 1

    def _sentence(self) -> str:
        return " ".join(self._chance.choice(WORDS) for _ in range(9)) + "."

    def _service(self, kind: type[Any]) -> Any:  # noqa: ANN401 - an object of that type
        return self._by_chroma.provided[kind]


async def run(stack: Stack, minutes: float, others: int, every: float) -> None:
    """Fill, measure, use and measure again."""
    settings = _settings(stack, exact_max_chunks=0)
    async with AsyncExitStack() as opened:
        by_chroma = await opened.enter_async_context(wiring.build(settings))
        exact = await opened.enter_async_context(wiring.build(_settings(stack, exact_max_chunks=10**9)))
        shared = Shared(str(stack.urls.chroma))
        await shared.make()
        trial = Trial(by_chroma, exact, shared, seed=5)
        stop = asyncio.Event()
        working = asyncio.create_task(
            Runner(make_queue(settings.queue_url.get_secret_value()), by_chroma.handlers).run(stop)
        )
        watched = [await trial.person(f"of {size}") for size in SIZES]
        for person, size in zip(watched, SIZES, strict=True):
            await trial.give(person, size)
        crowd = [await trial.person(f"other {number}") for number in range(others)]
        for person in watched:
            await trial.settle(person)
        print("| minutes | R of 20 | R of 500 | not by Chroma | one collection: R of 20 | R of 500 | done meanwhile |")
        print("|---|---|---|---|---|---|---|")
        began = time.monotonic()
        await _measure(trial, watched, 0)
        for person in crowd:
            await trial.give(person, CHUNKS_A_DOCUMENT)
        await _measure(trial, watched, (time.monotonic() - began) / 60)
        end = time.monotonic() + 60 * minutes
        began = time.monotonic()
        while time.monotonic() < end:
            until = min(end, time.monotonic() + 60 * every)
            await asyncio.gather(*(trial.use(crowd, until) for _ in range(WRITERS)))
            await _measure(trial, watched, (time.monotonic() - began) / 60)
        stop.set()
        await working


async def _measure(trial: Trial, watched: Sequence[Person], minutes: float) -> None:
    found = [await trial.recall(person) for person in watched]
    beside = [await trial.shared_recall(person) for person in watched]
    shown = [f"{recall:.3f}" for recall, _ in found]
    unfit = sum(number for _, number in found)
    done = ", ".join(f"{number} {name}" for name, number in trial.done.items() if number)
    columns = [f"{minutes:.0f}", *shown, str(unfit), *(f"{recall:.3f}" for recall in beside), done]
    print(f"| {' | '.join(columns)} |", flush=True)


def _settings(stack: Stack, exact_max_chunks: int) -> Settings:
    urls = stack.urls
    given = {
        "auth_secret": "a secret of a trial, and of nothing else",
        "master_key": MASTER_KEY,
        "database_url": urls.database,
        "database_owner_url": urls.database_owner,
        "database_log_url": urls.database_log,
        "queue_url": urls.queue,
        "keys_url": urls.keys,
        "redis_url": urls.redis,
        "chroma_url": urls.chroma,
        "exact_max_chunks": exact_max_chunks,
    }
    return Settings.model_validate(given)


MASTER_KEY = MasterKeys.generate("trial")


def main() -> None:
    """Start the servers, try, and remove them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--others", type=int, default=1_000)
    parser.add_argument("--every", type=float, default=2, help="Minutes between two measurements.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root runs this
        stack = start_for_tests(Path(folder) / "data")
        try:
            migrations.upgrade(str(stack.urls.database_owner), str(stack.urls.keys))
            asyncio.run(run(stack, asked.minutes, asked.others, asked.every))
        finally:
            stack.stop()
            stack.remove()


if __name__ == "__main__":
    main()
