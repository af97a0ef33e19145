"""Keeps the vector store equal to Postgres: tells it what came and went, and builds it anew where it lost something."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
import structlog
from numpy.typing import NDArray

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.chroma.client import BrokenCollectionError, NoCollectionError
from app.infra.chroma.index import ChromaIndex
from app.infra.crypto.box import Box
from app.infra.db.transaction import Database
from app.infra.embedders.models import Models
from app.infra.segments.renewing import RenewVectors
from app.infra.segments.store import SegmentStore
from app.knowledge import chunk_store, text_store
from app.knowledge.service import INDEX_JOB, REBUILD_JOB, RENEW_JOB

BATCH_TEXTS: Final = 500
# So many vectors are looked for when a collection is checked, each among so many.
SAMPLE_TEXTS: Final = 3
SAMPLE_NEAR: Final = 10
_GONE: Final = frozenset({"erasing", "erased"})

log = structlog.get_logger("cairn.knowledge")


@dataclass(frozen=True, slots=True)
class Check:
    """How many vectors of a user there should be in the vector store and how many are, and what it is still owed."""

    expected: int
    actual: int
    owed: int
    # Whether the vector store can read what it has.
    is_sound: bool = True
    # Whether a model that is asked has made vectors of all there is: until then PostgreSQL alone answers.
    is_made: bool = True
    # Whether it was made with the settings of now: one of before may find less.
    is_current: bool = True

    @property
    def is_complete(self) -> bool:
        """Whether the vector store can be asked."""
        is_whole = self.owed == 0 and self.actual == self.expected
        return self.is_made and self.is_sound and self.is_current and is_whole


class VectorKeeper:
    """Keeps a user's collections equal to the chunks in Postgres: one for each model that has made all vectors.

    Everything may run twice, and at any time.
    """

    def __init__(self, db: Database, segments: SegmentStore, collections: Sequence[ChromaIndex]) -> None:
        """Take the doors, the sealed index of the chunks, and the vector store by model, the wanted one first."""
        self._db = db
        self._segments = segments
        self._collections = collections

    async def catch_up(self, scope: Scope) -> None:
        """Tell the vector store everything that it is owed; build it anew where something is missing afterwards."""
        async with self.nothing_left_behind(scope):
            made = await self._made(scope)
            try:
                await self._tell(scope, made)
                checks = [await self._check(scope, one) for one in made]
            except BrokenCollectionError:
                log.warning("index_damaged", usr=str(scope.usr))
                await self._build(scope, made)
                return
            for check in checks:
                if check.owed == 0 and not check.is_complete:
                    log.warning("index_incomplete", usr=str(scope.usr), expected=check.expected, actual=check.actual)
                    await self._build(scope, made)
                    return

    async def rebuild(self, scope: Scope) -> None:
        """Build the user's collections anew from Postgres. Until that is done the exact index answers."""
        async with self.nothing_left_behind(scope):
            await self._build(scope, await self._made(scope))

    async def renewed(self, scope: Scope) -> None:
        """Fill the collection of a model that has made all vectors now, and drop those that nobody asks any more."""
        entry = AuditEntry("index", "document")
        async with self.nothing_left_behind(scope):
            async with self._db.maintain(scope) as tx:
                await chunk_store.note_all(tx, entry)
                tx.enqueue(Job(INDEX_JOB, once=INDEX_JOB))
                names = await chunk_store.collections(tx)
            for name in set(names) - {one.name(scope.usr) for one in self._collections}:
                await self._collections[0].drop(name)
                async with self._db.maintain(scope) as tx:
                    await chunk_store.forget_collection(tx, name, entry)

    async def check(self, scope: Scope) -> Check:
        """Compare Postgres with the collection that is searched. Raises `store_unavailable`."""
        made = await self._made(scope)
        if made:
            return await self._check(scope, made[0])
        async with self._db.read(scope) as tx:
            extent = await chunk_store.extent(tx)
        return Check(extent.texts, 0, extent.changes, is_made=False)

    @asynccontextmanager
    async def nothing_left_behind(self, scope: Scope) -> AsyncIterator[None]:
        """Drop the collections of a user who turns out to be no more: an erasure may have looked too early."""
        try:
            yield
        except AppError as error:
            if error.code in _GONE:
                for one in self._collections:
                    await one.drop(one.name(scope.usr))
            raise

    async def _made(self, scope: Scope) -> Sequence[ChromaIndex]:
        async with self._db.read(scope) as tx:
            complete = await self._segments.complete(tx)
        return [one for one in self._collections if one.model in complete]

    async def _check(self, scope: Scope, collection: ChromaIndex) -> Check:
        """Compare the counts, and see whether some vectors are found by themselves: counts come from another file."""
        async with self._db.read(scope) as tx:
            extent = await chunk_store.extent(tx)
            sample = await chunk_store.some_texts(tx, SAMPLE_TEXTS)
            vectors = await self._segments.vectors(tx, list(sample.values()), collection.model)
            box = tx.box
        try:
            actual = await collection.count(scope.usr)
            if extent.changes or actual != extent.texts:
                return Check(extent.texts, actual, extent.changes)
            for tag, chunk in sample.items():
                near = await collection.nearest(box, vectors[chunk], SAMPLE_NEAR)
                if UUID(bytes=tag) not in {one.id for one in near}:
                    return Check(extent.texts, actual, extent.changes, is_sound=False)
            is_current = await collection.is_current(scope.usr)
        except BrokenCollectionError:
            return Check(extent.texts, 0, extent.changes, is_sound=False)
        return Check(extent.texts, actual, extent.changes, is_current=is_current)

    async def _build(self, scope: Scope, collections: Sequence[ChromaIndex]) -> None:
        async with self._db.maintain(scope) as tx:
            await chunk_store.note_all(tx, AuditEntry("rebuild", "index"))
        for one in collections:
            await one.drop(one.name(scope.usr))
        try:
            await self._tell(scope, collections)
        except BrokenCollectionError as error:
            # It was made a moment ago: the server is what doesn't work.
            raise AppError("store_unavailable", headers={"Retry-After": "2"}) from error

    async def _tell(self, scope: Scope, collections: Sequence[ChromaIndex]) -> None:
        while True:
            async with self._db.read(scope) as tx:
                changes = await chunk_store.changes(tx, BATCH_TEXTS)
                searched = await chunk_store.searched(tx, [change.tag for change in changes])
                chunks = list(searched.values())
                made = {one.model: await self._segments.vectors(tx, chunks, one.model) for one in collections}
                box = tx.box
            if not changes:
                return
            gone = [UUID(bytes=change.tag) for change in changes if change.tag not in searched]
            for one in collections:
                vectors = made[one.model]
                known = {UUID(bytes=tag): vectors[chunk] for tag, chunk in searched.items() if chunk in vectors}
                await self._apply(scope, one, box, known, gone)
            # This door reads the user's row again, after what was written outside of Postgres.
            async with self._db.maintain(scope) as tx:
                await chunk_store.settle(tx, changes, AuditEntry("index", "document"))

    async def _apply(
        self,
        scope: Scope,
        collection: ChromaIndex,
        box: Box,
        vectors: Mapping[UUID, NDArray[np.float32]],
        gone: Sequence[UUID],
    ) -> None:
        if vectors:
            ids, stacked = list(vectors), np.stack(list(vectors.values()))
            try:
                await collection.upsert(box, ids, stacked)
            except NoCollectionError:
                await self._create(scope, collection)
                await collection.upsert(box, ids, stacked)
        if gone:
            await collection.delete(scope.usr, gone)

    async def _create(self, scope: Scope, collection: ChromaIndex) -> None:
        """Make the collection, its name written first: an erasure that begins now finds it."""
        name = collection.name(scope.usr)
        async with self._db.maintain(scope) as tx:
            await chunk_store.remember_collection(tx, name, AuditEntry("index", "document"))
        await collection.create(scope.usr)


class IndexChunks:
    """The handler of the job that follows a change of what is searched: both indexes are put in order."""

    name = INDEX_JOB

    def __init__(self, db: Database, segments: SegmentStore, keeper: VectorKeeper) -> None:
        """Take the doors, the sealed index of the chunks, and what keeps the vector store."""
        self._db = db
        self._segments = segments
        self._keeper = keeper

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:  # noqa: ARG002 - the user is all it needs
        """Put newer items together in segments, then tell the vector store."""
        entry = AuditEntry("index", "document")
        moved = True
        async with self._keeper.nothing_left_behind(scope):
            while moved:
                async with self._db.maintain(scope) as tx:
                    moved = await self._segments.compact(tx, entry) > 0
        await self._keeper.catch_up(scope)


class RebuildIndex:
    """The handler of the job that builds a user's collection anew."""

    name = REBUILD_JOB

    def __init__(self, keeper: VectorKeeper) -> None:
        """Take what keeps the vector store."""
        self._keeper = keeper

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:  # noqa: ARG002 - the user is all it needs
        """Build it."""
        await self._keeper.rebuild(scope)


def chunk_renewal(db: Database, segments: SegmentStore, models: Models, keeper: VectorKeeper) -> RenewVectors:
    """Return what makes the vectors of chunks anew where the model was changed."""
    texts, kept = chunk_store.texts_of, text_store.replace_vectors
    return RenewVectors(RENEW_JOB, db, segments, models, texts, kept, keeper.renewed)
