"""Search by words and meaning; every hit is read again from Postgres under row-level security before it is shown."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import numpy as np
import structlog
from numpy.typing import NDArray

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.ranking import DOCUMENTS
from app.core.scope import Scope
from app.core.superseding import NOTHING_OUTDATED, Outdated, Superseding
from app.core.text.highlights import highlights
from app.core.text.terms import terms
from app.infra.db.transaction import Database, Transaction
from app.infra.embedders.models import Asked, Models
from app.infra.segments.index import ANYTHING, Filters, Hints, Index
from app.infra.segments.index import Half as ScoredHalf
from app.infra.segments.index import Hit as Scored
from app.infra.segments.questions import character_ids
from app.infra.segments.store import ByModel, SegmentStore
from app.knowledge import chunk_store, filter_store, store
from app.knowledge.model import EVERYTHING, Found, Half, Hit, Mode, Passage, Query, Reranked
from app.knowledge.reranking import READ, Reranking
from app.knowledge.vectors import NO_TERMS, VectorIndex

# How many chunks are looked at closely where a user has more than all are looked at.
CANDIDATES: Final = 300
# So many more are asked for, for the vector store has them in more bits than the sealed index, which decides.
SPARE_CANDIDATES: Final = 150
# Equal passages are shown once: so many more are ranked than are asked for.
SPARE_FACTOR: Final = 4
SPARE: Final = 20

NOT_ASKED: Final = Asked({})

log = structlog.get_logger("cairn.knowledge")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A query made ready: the user's index, the query's keyed terms and its vector, and what may be found."""

    query: Query
    index: Index
    terms: NDArray[np.uint64]
    vector: NDArray[np.float32] | None
    filters: Filters
    hints: Hints

    @property
    def limit(self) -> int:
        """How many chunks are ranked."""
        return max(self.query.top_k * SPARE_FACTOR, READ if self.query.rerank else 0) + SPARE

    @property
    def mode(self) -> Mode:
        """How it is answered: by words alone, where there is no vector."""
        return self.query.mode if self.vector is not None else Mode.LEXICAL


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a look came to: what was ranked, the passages that are there of it, and what isn't current any more.

    `is_of_any`: the user has something that could be found.
    """

    scored: Sequence[Scored]
    passages: Mapping[UUID, Passage]
    mode: Mode
    outdated: Outdated
    pending: int
    is_of_any: bool


class Search:
    """Searches what a user gave."""

    def __init__(
        self,
        db: Database,
        segments: SegmentStore,
        models: Models,
        vectors: VectorIndex,
        exact_max_chunks: int,
        superseding: Superseding[Transaction],
        reranking: Reranking,
    ) -> None:
        """Take the doors, the sealed index, what embeds, what is asked above so many chunks, what knows the former
        values of user memory, and what puts hits in order.
        """
        self._reranking = reranking
        self._superseding = superseding
        self._db = db
        self._segments = segments
        self._models = models
        self._vectors = vectors
        self._exact_max_chunks = exact_max_chunks

    async def search(self, scope: Scope, query: Query) -> Found:
        """Return the best passages. Raises `store_unavailable` where only the meaning is asked and no model answers."""
        asked = NOT_ASKED
        if query.mode is not Mode.LEXICAL:
            asked = await self._models.ask(scope, query.text, query.waits_until_s)
        vectors = asked.vectors
        seen = await self._look(scope, query, vectors) or await self._look_at_once(scope, query, vectors)
        reranks = query.rerank and self._reranking.is_on
        hits = _hits(seen.scored, seen.passages, seen.mode, max(query.top_k, READ) if reranks else query.top_k)
        reranked = Reranked.OFF
        if reranks:
            hits, reranked = await self._reranking.ordered(scope, query.text, hits)
        hits = hits[: query.top_k]
        if query.with_details:
            hits = await asyncio.to_thread(_detailed, hits, query.text, seen.outdated)
        return Found(hits, seen.mode, seen.pending, reranked, asked.lacks if seen.is_of_any else None)

    async def _look(self, scope: Scope, query: Query, vectors: ByModel) -> _Seen | None:
        """Return what is found, None where it changed meanwhile: with a version that was ranked and is gone when it is
        to be shown, its document would be missing, though its next version was there all along.
        """
        async with self._db.read(scope) as tx:
            pending = await store.count_on_the_way(tx)
            asked = await self._asked(tx, query, vectors)
            tx.saw(AuditEntry("search", "document"))
        scored = await self._scored(scope, asked)
        if scored is None:
            return None
        async with self._db.read(scope) as tx:
            passages = await chunk_store.passages(tx, [one.item for one in scored])
            if len(passages) < len(scored):
                return None
            return _Seen(scored, passages, asked.mode, await self._outdated(tx, query), pending, len(asked.index) > 0)

    async def _look_at_once(self, scope: Scope, query: Query, vectors: ByModel) -> _Seen:
        """Return what is found in one snapshot, by the index that asks nobody else."""
        log.info("searched_in_one_snapshot", usr=str(scope.usr))
        async with self._db.read(scope) as tx:
            pending = await store.count_on_the_way(tx)
            asked = await self._asked(tx, query, vectors)
            scored = await asyncio.to_thread(_ranked, asked, asked.limit)
            passages = await chunk_store.passages(tx, [one.item for one in scored])
            return _Seen(scored, passages, asked.mode, await self._outdated(tx, query), pending, len(asked.index) > 0)

    async def _asked(self, tx: Transaction, query: Query, vectors: ByModel) -> _Prepared:
        filters = ANYTHING
        if query.limits != EVERYTHING:
            filters = Filters(groups=await filter_store.matching(tx, query.limits))
        index = (await self._segments.load(tx)).index
        vector = vectors.get(index.model)
        if vector is None and query.mode is Mode.DENSE:
            raise AppError("store_unavailable", headers={"Retry-After": "2"})
        words, hints = NO_TERMS, Hints()
        if query.mode is not Mode.DENSE:
            words = tx.box.term_ids(terms(query.text))
            hints = Hints(characters=await character_ids(tx.box, query.text))
        return _Prepared(query, index, words, vector, filters, hints)

    async def _outdated(self, tx: Transaction, query: Query) -> Outdated:
        return await self._superseding.look(tx) if query.with_details else NOTHING_OUTDATED

    async def _scored(self, scope: Scope, asked: _Prepared) -> Sequence[Scored] | None:
        """Return the best; None where the vector store knows what came after the index was read."""
        is_large = len(asked.index) > self._exact_max_chunks
        is_limited = asked.query.limits != EVERYTHING
        # The vector store knows no languages: what is said in another one than the question isn't among its nearest.
        if asked.vector is not None and is_large and not is_limited and asked.index.is_of_one_language:
            wanted, until_s = CANDIDATES + SPARE_CANDIDATES, asked.query.waits_until_s
            proposed = await self._vectors.nearest(scope, asked.index, asked.vector, wanted, until_s)
            if not await asyncio.to_thread(asked.index.holds, proposed):
                return None
            near = await asyncio.to_thread(asked.index.nearest, asked.vector, CANDIDATES, proposed)
            if len(asked.terms):
                by_words = await asyncio.to_thread(_ranked, replace(asked, vector=None), CANDIDATES)
                near |= {one.item for one in by_words}
            asked = replace(asked, filters=Filters(items=near))
        return await asyncio.to_thread(_ranked, asked, asked.limit)


def _ranked(asked: _Prepared, limit: int) -> Sequence[Scored]:
    return asked.index.search(
        asked.terms, asked.vector, weights=DOCUMENTS, filters=asked.filters, hints=asked.hints, top_k=limit
    )


def _hits(scored: Sequence[Scored], passages: Mapping[UUID, Passage], mode: Mode, top_k: int) -> Sequence[Hit]:
    """Return the best hits: those that are still there, of equal texts the first."""
    hits: dict[bytes, Hit] = {}
    for one in scored:
        passage = passages.get(one.item)
        if passage is not None and passage.tag not in hits and len(hits) < top_k:
            lexical = None if mode is Mode.DENSE else one.lexical
            dense = None if mode is Mode.LEXICAL else one.dense
            words = None if mode is Mode.DENSE else _half(one.words)
            meaning = None if mode is Mode.LEXICAL else _half(one.meaning)
            hits[passage.tag] = Hit(passage, one.score, dense, lexical, one.score, words, meaning)
    return list(hits.values())


def _half(half: ScoredHalf | None) -> Half | None:
    return None if half is None else Half(half.score, half.weight)


def _detailed(hits: Sequence[Hit], question: str, outdated: Outdated) -> Sequence[Hit]:
    """Return the hits with what is to be told of their texts. It computes: call it in a thread."""
    return [
        replace(
            hit,
            highlights=highlights(question, hit.passage.text),
            superseded=outdated.of(hit.passage.text, hit.passage.title),
        )
        for hit in hits
    ]
