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
from app.core.scope import Scope
from app.infra.chroma.client import BrokenCollectionError, NoCollectionError
from app.infra.chroma.index import ChromaIndex
from app.infra.crypto.box import Box
from app.infra.db.transaction import Database
from app.infra.segments.store import SegmentStore
from app.knowledge import chunk_store
from app.knowledge.service import INDEX_JOB, REBUILD_JOB

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

    @property
    def is_complete(self) -> bool:
        """Whether the vector store can be asked."""
        return self.is_sound and self.owed == 0 and self.actual == self.expected


class VectorKeeper:
    """Keeps a user's collection equal to the chunks in Postgres. Everything may run twice, and at any time."""

    def __init__(self, db: Database, chroma: ChromaIndex, model: str) -> None:
        """Take the doors, the vector store, and the name of the model whose vectors it holds."""
        self._db = db
        self._chroma = chroma
        self._model = model

    async def catch_up(self, scope: Scope) -> None:
        """Tell the vector store everything that it is owed; build it anew where something is missing afterwards."""
        async with self.nothing_left_behind(scope):
            try:
                await self._tell(scope)
            except BrokenCollectionError:
                log.warning("index_damaged", usr=str(scope.usr))
                await self._build(scope)
                return
            check = await self.check(scope)
            if check.owed == 0 and not check.is_complete:
                log.warning("index_incomplete", usr=str(scope.usr), expected=check.expected, actual=check.actual)
                await self._build(scope)

    async def rebuild(self, scope: Scope) -> None:
        """Build the user's collection anew from Postgres. Until that is done the exact index answers."""
        async with self.nothing_left_behind(scope):
            await self._build(scope)

    async def check(self, scope: Scope) -> Check:
        """Compare the counts of Postgres and the vector store, and see whether some vectors are found by themselves: a
        count comes from another file than an answer. Raises `store_unavailable`.
        """
        async with self._db.read(scope) as tx:
            extent = await chunk_store.extent(tx, self._model)
            sample = await chunk_store.some_vectors(tx, self._model, SAMPLE_TEXTS)
            box = tx.box
        try:
            actual = await self._chroma.count(scope.usr)
            if extent.changes or actual != extent.texts:
                return Check(extent.texts, actual, extent.changes)
            found = [await self._finds(box, tag, vector) for tag, vector in sample.items()]
        except BrokenCollectionError:
            return Check(extent.texts, 0, extent.changes, is_sound=False)
        return Check(extent.texts, actual, extent.changes, is_sound=all(found))

    async def _finds(self, box: Box, tag: bytes, vector: NDArray[np.float32]) -> bool:
        near = await self._chroma.nearest(box, vector, SAMPLE_NEAR)
        return UUID(bytes=tag) in {one.id for one in near}

    @asynccontextmanager
    async def nothing_left_behind(self, scope: Scope) -> AsyncIterator[None]:
        """Drop the collection of a user who turns out to be no more: an erasure may have looked before it was there."""
        try:
            yield
        except AppError as error:
            if error.code in _GONE:
                await self._chroma.drop(self._chroma.name(scope.usr))
            raise

    async def _build(self, scope: Scope) -> None:
        async with self._db.write(scope) as tx:
            await chunk_store.note_all(tx, AuditEntry("rebuild", "index"))
        await self._chroma.drop(self._chroma.name(scope.usr))
        try:
            await self._tell(scope)
        except BrokenCollectionError as error:
            # It was made a moment ago: the server is what doesn't work.
            raise AppError("store_unavailable", headers={"Retry-After": "2"}) from error

    async def _tell(self, scope: Scope) -> None:
        while True:
            async with self._db.read(scope) as tx:
                changes = await chunk_store.changes(tx, BATCH_TEXTS)
                tags = [change.tag for change in changes]
                vectors = await chunk_store.searched_vectors(tx, tags, self._model)
                box = tx.box
            if not changes:
                return
            await self._apply(scope, box, tags, vectors)
            # This door reads the user's row again, after what was written outside of Postgres.
            async with self._db.write(scope) as tx:
                await chunk_store.settle(tx, changes, AuditEntry("index", "document"))

    async def _apply(
        self,
        scope: Scope,
        box: Box,
        tags: Sequence[bytes],
        vectors: Mapping[bytes, NDArray[np.float32]],
    ) -> None:
        if vectors:
            ids = [UUID(bytes=tag) for tag in vectors]
            stacked = np.stack(list(vectors.values()))
            try:
                await self._chroma.upsert(box, ids, stacked)
            except NoCollectionError:
                await self._create(scope)
                await self._chroma.upsert(box, ids, stacked)
        gone = [UUID(bytes=tag) for tag in tags if tag not in vectors]
        if gone:
            await self._chroma.delete(scope.usr, gone)

    async def _create(self, scope: Scope) -> None:
        """Make the collection, its name written first: an erasure that begins now finds it."""
        name = self._chroma.name(scope.usr)
        async with self._db.write(scope) as tx:
            await chunk_store.remember_collection(tx, name, AuditEntry("index", "document"))
        await self._chroma.create(scope.usr)


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
                async with self._db.write(scope) as tx:
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
