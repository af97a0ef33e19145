"""Facts found by their words and their meaning, and read again before they are shown."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from app.core.audit import AuditEntry
from app.core.ranking import DOCUMENTS
from app.core.recall import Fact, FoundFacts, Sought
from app.core.text.questions import asked
from app.infra.db.transaction import Transaction
from app.infra.segments.index import Filters, Hints
from app.infra.segments.questions import character_ids
from app.infra.segments.store import SegmentStore
from app.memories import store
from app.memories.model import Memory

# So many more are looked for than are wanted: some have expired, or weren't there at the snapshot.
SPARE: Final = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """A fact that was found, at the version that was asked for. `cosine` is None where it has no vector yet.

    `lexical` is the share of the question's weight that its words cover.
    """

    memory: Memory
    score: float
    cosine: float | None
    lexical: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, best first. `pending` facts are found by their words alone so far. `is_empty`: there are none."""

    hits: Sequence[Hit]
    pending: int
    is_empty: bool = False


class MemorySearch:
    """Searches the facts. A Facts of app.core.recall."""

    def __init__(self, segments: SegmentStore) -> None:
        """Take the index of facts."""
        self._segments = segments

    async def recall(self, tx: Transaction, sought: Sought) -> FoundFacts:
        """Return the facts that match best and hold now."""
        found = await self.search(tx, sought)
        now = datetime.now(UTC)
        facts = [_fact(hit) for hit in found.hits if hit.memory.is_there(now) and _within(sought, hit.memory)]
        return FoundFacts(facts[: sought.limit], found.pending)

    async def search(self, tx: Transaction, sought: Sought, snapshot: int | None = None) -> Found:
        """Return what matches best, more than the limit where there is more: expired facts and deleted ones as well.

        At a snapshot they are as they were then. They are found by what they say now: of what was changed since, the
        words of before aren't indexed any more.
        """
        loaded = await self._segments.load(tx)
        if not len(loaded.index):
            return Found([], 0, is_empty=True)
        tx.saw(AuditEntry("recall", "memory"))
        characters = await character_ids(tx.box, sought.text)
        words = tx.box.term_ids(asked(sought.text))
        scored = await asyncio.to_thread(
            loaded.index.search,
            words,
            sought.vectors.get(loaded.index.model),
            # Facts stand alone, as passages do: none is the answer to the one before it.
            weights=DOCUMENTS,
            filters=_filters(sought),
            hints=Hints(characters=characters),
            top_k=sought.limit + SPARE,
        )
        items = [one.item for one in scored]
        if snapshot is None:
            read = await store.find_indexed(tx, items)
        else:
            read = await store.find_indexed_at(tx, items, snapshot)
        memories = {memory.indexed_as: memory for memory in read}
        hits = [Hit(memories[one.item], one.score, one.dense, one.lexical) for one in scored if one.item in memories]
        return Found(hits, loaded.pending)


def _filters(sought: Sought) -> Filters:
    return Filters(
        after_ms=None if sought.after is None else int(sought.after.timestamp() * 1000),
        before_ms=None if sought.before is None else int(sought.before.timestamp() * 1000) + 1,
    )


def _within(sought: Sought, memory: Memory) -> bool:
    """Say whether it was written in [after, before): the index counts in milliseconds."""
    written_at = memory.version.written_at
    return (sought.after is None or sought.after <= written_at) and (
        sought.before is None or written_at < sought.before
    )


def _fact(hit: Hit) -> Fact:
    version = hit.memory.version
    return Fact(
        id=hit.memory.id,
        version=version.number,
        text=version.content.text or "",
        source=version.content.source,
        trust=version.content.trust,
        written_at=version.written_at,
        expires_at=version.content.expires_at,
        score=hit.score,
        cosine=hit.cosine,
    )
