"""Recall: what was said, found by its words and its meaning, and read again from the record before it is shown."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.recall import Fact, Facts, FoundFacts, Said, Sought, merged
from app.core.scope import Scope
from app.core.superseding import NOTHING_OUTDATED, Outdated, Superseding
from app.core.text.periods import periods
from app.core.text.questions import asked, sayer
from app.core.text.terms import speakers
from app.infra.db.transaction import Database, Transaction
from app.infra.embedders.models import Models
from app.infra.segments.index import Filters, Hints, Index
from app.infra.segments.index import Hit as Scored
from app.infra.segments.questions import character_ids
from app.infra.segments.store import SegmentStore
from app.sessions import store
from app.sessions.indexing import ROLES
from app.sessions.model import Found, Hit, Message, Recall, Role

# So many more are looked for than are wanted: the index counts milliseconds, and one beside the border leaves no gap.
SPARE: Final = 5
NO_FACTS: Final = FoundFacts([])


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question made ready for the index."""

    index: Index
    terms: NDArray[np.uint64]
    vector: NDArray[np.float32] | None
    filters: Filters
    hints: Hints
    limit: int

    def search(self) -> list[Scored]:
        """Return the best items. It computes: call it in a thread."""
        return self.index.search(
            self.terms,
            self.vector,
            filters=self.filters,
            hints=self.hints,
            top_k=self.limit,
        )


class Recalls:
    """Searches the record."""

    def __init__(
        self,
        db: Database,
        segments: SegmentStore,
        models: Models,
        facts: Facts[Transaction],
        superseding: Superseding[Transaction],
    ) -> None:
        """Take the record, the index of messages, what embeds questions, what knows the user's facts, and what knows
        the former values of user memory.
        """
        self._superseding = superseding
        self._facts = facts
        self._db = db
        self._segments = segments
        self._models = models

    async def recall(self, scope: Scope, recall: Recall) -> Found:
        """Return what matches best. Raises `not_found` for a session that isn't there.

        Messages that wait for their vectors are found by their words; where no model answers, all are.
        """
        question = await self._models.ask(scope, recall.query, recall.waits_until_s)
        vectors = question.vectors
        async with self._db.read(scope) as tx:
            if recall.session_id and await store.find_session(tx, recall.session_id) is None:
                raise AppError("not_found")
            loaded = await self._segments.load(tx)
            prepared = _Asked(
                index=loaded.index,
                terms=tx.box.term_ids(asked(recall.query)),
                vector=vectors.get(loaded.index.model),
                filters=_filters(recall),
                hints=Hints(
                    tx.box.term_ids(speakers(recall.query)),
                    periods(recall.query, datetime.now(UTC)),
                    await character_ids(tx.box, recall.query),
                    None if (role := sayer(recall.query)) is None else ROLES[Role(role)],
                ),
                limit=recall.limit + SPARE,
            )
            tx.saw(AuditEntry("recall", "message", recall.session_id))
            # The transaction stays open: opening another one takes longer than the search.
            scored = await asyncio.to_thread(prepared.search)
            found = {message.id: message for message in await store.find_messages(tx, [one.item for one in scored])}
            kept = [one for one in scored if one.item in found and _within(recall, found[one.item])][: recall.limit]
            beside = await self._beside(tx, kept) if recall.with_neighbours else {}
            facts = await self._facts.recall(tx, _sought(recall, vectors)) if recall.with_facts else NO_FACTS
            outdated = await self._superseding.look(tx) if recall.with_superseded else NOTHING_OUTDATED
        hits = [
            Hit(
                found[one.item],
                one.score,
                before=beside.get((one.group, one.ordinal - 1)),
                after=beside.get((one.group, one.ordinal + 1)),
            )
            for one in kept
        ]
        said = [Said(hit.message.text, one.score, one.dense) for hit, one in zip(hits, kept, strict=True)]
        both: Sequence[Hit | Fact] = hits
        if facts.items:
            both = merged(recall.query, list(zip(hits, said, strict=True)), facts.items)
        shown = [_marked(hit, outdated) for hit in both[: recall.limit]]
        is_of_any = len(loaded.index) > 0 or len(facts.items) > 0
        return Found(hits, loaded.pending + facts.pending, shown, question.lacks if is_of_any else None)

    async def _beside(self, tx: Transaction, scored: Sequence[Scored]) -> Mapping[tuple[UUID, int], Message]:
        places = {(one.group, one.ordinal + step) for one in scored for step in (-1, 1)}
        messages = await store.find_neighbours(tx, sorted(places)) if places else []
        return {(message.session_id, message.seq): message for message in messages}


def _marked(hit: Hit | Fact, outdated: Outdated) -> Hit | Fact:
    if isinstance(hit, Hit):
        beside = [message.text for message in (hit.before, hit.after) if message]
        return replace(hit, superseded=outdated.of(hit.message.text, *beside))
    return replace(hit, superseded=outdated.of(hit.text))


def _sought(recall: Recall, vectors: Mapping[str, NDArray[np.float32]]) -> Sought:
    return Sought(recall.query, vectors, recall.limit, recall.after, recall.before)


def _filters(recall: Recall) -> Filters:
    return Filters(
        groups=None if recall.session_id is None else [recall.session_id],
        roles=None if recall.role is None else [ROLES[recall.role]],
        after_ms=None if recall.after is None else int(recall.after.timestamp() * 1000),
        before_ms=None if recall.before is None else int(recall.before.timestamp() * 1000) + 1,
    )


def _within(recall: Recall, message: Message) -> bool:
    """Say whether it was said in [after, before): the index counts in milliseconds."""
    return (recall.after is None or recall.after <= message.created_at) and (
        recall.before is None or message.created_at < recall.before
    )
