"""Which chunks are near in meaning: a port with two implementations, and the choice between them.

The exact one looks at every vector of the sealed index and is always right; Chroma looks at few and is asked where a
user has many. Both go by the cosine alone, and equal texts count as one: whoever answers, the answer is the same.
Whenever Chroma fails, is short of vectors or has yet to be told something, the exact one answers.
"""

import asyncio
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Protocol
from uuid import UUID

import numpy as np
import structlog
from numpy.typing import NDArray

from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.chroma.client import BrokenCollectionError
from app.infra.chroma.index import ChromaIndex
from app.infra.db.transaction import Database
from app.infra.segments.index import Index
from app.knowledge import chunk_store
from app.knowledge.service import REBUILD_JOB

# A server that didn't answer isn't asked again for so long: searches don't queue up behind its time-out.
PAUSE_S: Final = 5.0
# So long it is waited for, in all.
ANSWER_S: Final = 2.0
NO_TERMS: Final[NDArray[np.uint64]] = np.empty(0, np.uint64)

log = structlog.get_logger("cairn.knowledge")


class VectorIndex(Protocol):
    """Finds chunks by meaning."""

    async def nearest(
        self, scope: Scope, index: Index, vector: NDArray[np.float32], limit: int, until_s: float | None = None
    ) -> AbstractSet[UUID]:
        """Return the ids of the user's chunks that are nearest to a unit vector, at most about `limit`.

        `index` is the user's sealed one: its model is the one that has made `vector`. A server is waited for
        ANSWER_S, and where `until_s` is given (time.monotonic) no longer than that.
        """
        ...


class UnfitError(Exception):
    """An index can't answer for a user now. `broken`: it lacks something that it was told."""

    def __init__(self, *, broken: bool) -> None:
        super().__init__("broken" if broken else "unfit")
        self.broken = broken


class ExactIndex:
    """Looks at every vector of the sealed index."""

    async def nearest(
        self,
        scope: Scope,  # noqa: ARG002 - the index is the user's
        index: Index,
        vector: NDArray[np.float32],
        limit: int,
        until_s: float | None = None,  # noqa: ARG002 - nobody is waited for
    ) -> AbstractSet[UUID]:
        """Return the nearest of all."""
        return await asyncio.to_thread(index.nearest, vector, limit)


class ChromaVectors:
    """Asks Chroma, and Postgres whether it can be believed. Raises UnfitError where it can't."""

    def __init__(self, db: Database, collections: Sequence[ChromaIndex]) -> None:
        """Take the doors, and the vector store by model."""
        self._db = db
        self._collections = {one.model: one for one in collections}
        self._asked_again_at_s = 0.0

    async def nearest(
        self, scope: Scope, index: Index, vector: NDArray[np.float32], limit: int, until_s: float | None = None
    ) -> AbstractSet[UUID]:
        """Return the nearest that Chroma finds and Postgres knows."""
        chroma = self._collections[index.model]
        if index.embedded < len(index):  # the model is making them
            raise UnfitError(broken=False)
        if time.monotonic() < self._asked_again_at_s:
            raise UnfitError(broken=False)
        async with self._db.read(scope) as tx:
            extent = await chunk_store.extent(tx)
            box = tx.box
        if extent.changes:
            raise UnfitError(broken=False)
        within_s = ANSWER_S if until_s is None else min(max(until_s - time.monotonic(), 0.0), ANSWER_S)
        try:
            async with asyncio.timeout(within_s):
                count, near = await asyncio.gather(
                    chroma.count(scope.usr),
                    chroma.nearest(box, vector, limit),
                )
        except BrokenCollectionError as error:
            log.warning("index_damaged", usr=str(scope.usr))
            raise UnfitError(broken=True) from error
        except (AppError, TimeoutError) as error:
            # That it was too slow for somebody in a hurry isn't said of it to the others.
            if within_s == ANSWER_S or isinstance(error, AppError):
                self._asked_again_at_s = time.monotonic() + PAUSE_S
            log.warning("index_unavailable", usr=str(scope.usr), error=type(error).__name__)
            raise UnfitError(broken=False) from error
        is_short = count != extent.texts or len(near) < min(limit, extent.texts)
        tags = {one.id.bytes for one in near}
        async with self._db.read(scope) as tx:
            known = await chunk_store.ids_by_tag(tx, tags)
            strays = len(tags - set(known.values()))
            if not is_short and not strays:
                return known.keys()
            # What was replaced while Chroma was asked isn't its fault; without it the next version would be missing.
            later = await chunk_store.extent(tx)
        told = {"expected": extent.texts, "actual": count, "found": len(near), "strays": strays}
        log.warning("index_short" if is_short else "index_strays", usr=str(scope.usr), **told)
        raise UnfitError(broken=later == extent)


class CheckedIndex:
    """Asks Chroma, and the exact index where that is unfit; what is broken is owed to be built anew."""

    def __init__(self, db: Database, chroma: VectorIndex, exact: VectorIndex) -> None:
        """Take the doors and both indexes."""
        self._db = db
        self._chroma = chroma
        self._exact = exact

    async def nearest(
        self, scope: Scope, index: Index, vector: NDArray[np.float32], limit: int, until_s: float | None = None
    ) -> AbstractSet[UUID]:
        """Return the nearest, by one of the two."""
        try:
            return await self._chroma.nearest(scope, index, vector, limit, until_s)
        except UnfitError as unfit:
            if unfit.broken:
                async with self._db.maintain(scope) as tx:
                    tx.enqueue(Job(REBUILD_JOB, once=REBUILD_JOB))
        return await self._exact.nearest(scope, index, vector, limit)
