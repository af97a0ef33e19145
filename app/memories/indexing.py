"""Facts in the index: by their words when they are written, by their meaning when the worker has time."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.core.text.language import language_code
from app.core.text.passages import passage
from app.core.text.terms import terms
from app.infra.db.transaction import Database, Transaction
from app.infra.embedders.models import Models
from app.infra.embedders.port import EmbedderUnavailableError
from app.infra.segments.packing import Item
from app.infra.segments.renewing import RenewVectors
from app.infra.segments.store import ByModel, SegmentStore
from app.memories import store
from app.memories.model import Memory

INDEX_JOB: Final = "index_memories"
RENEW_JOB: Final = "renew_memories"
BATCH_MEMORIES: Final = 64
MAX_BATCHES: Final = 200


class MemoryIndex:
    """The index of facts. Each version is an item of its own there: what is indexed under a name never changes."""

    def __init__(self, segments: SegmentStore) -> None:
        """Take the sealed index."""
        self.segments = segments

    async def put(self, tx: Transaction, memory: Memory, entry: AuditEntry) -> None:
        """Index the current version by its words; its vector is owed."""
        text = memory.version.content.text or ""
        item = Item(
            id=memory.indexed_as,
            # Facts stand alone: each is a group of its own.
            group=memory.id,
            ordinal=0,
            time_ms=int(memory.version.written_at.timestamp() * 1000),
            terms=tx.box.term_ids(terms(text)),
            language=language_code(text),
        )
        await self.segments.add(tx, [item], entry)
        tx.enqueue(Job(INDEX_JOB, once="index memories"))

    async def take(self, tx: Transaction, memory: Memory, entry: AuditEntry) -> None:
        """Take a version out of the index."""
        await self.segments.remove(tx, [memory.indexed_as], entry)


class IndexMemories:
    """Gives facts their vectors, and packs what has grown into segments. A Handler of app.core.jobs."""

    name = INDEX_JOB

    def __init__(self, db: Database, segments: SegmentStore, models: Models) -> None:
        """Take the doors, the index of facts and what embeds."""
        self._db = db
        self._segments = segments
        self._models = models

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:  # noqa: ARG002 - the user is all it needs
        """Embed what waits, in batches; the model is never asked inside a transaction. May run twice."""
        entry = AuditEntry("index", "memory")
        for _ in range(MAX_BATCHES):
            async with self._db.read(scope) as tx:
                waiting = await self._segments.unembedded(tx, BATCH_MEMORIES)
                texts = await texts_of(tx, waiting)
            if not waiting:
                break
            vectors = await self._vectors(scope, texts)
            gone = sorted(set(waiting) - vectors.keys())
            async with self._db.maintain(scope) as tx:
                await self._segments.attach(tx, vectors, entry)
                if gone:
                    await self._segments.remove(tx, gone, entry)
        else:
            async with self._db.maintain(scope) as tx:
                tx.enqueue(Job(INDEX_JOB, once="index memories"))
        for _ in range(MAX_BATCHES):
            async with self._db.maintain(scope) as tx:
                if not await self._segments.compact(tx, AuditEntry("compact", "memory")):
                    return

    async def _vectors(self, scope: Scope, texts: Mapping[UUID, Sequence[str]]) -> Mapping[UUID, ByModel]:
        try:
            made = await self._models.embed(scope, [text for one in texts.values() for text in one])
        except EmbedderUnavailableError as error:
            # The queue waits for a store that is down as long as it takes.
            raise AppError("store_unavailable", "the embedder") from error
        return {item: {model: rows[at : at + 1] for model, rows in made.items()} for at, item in enumerate(texts)}


async def texts_of(tx: Transaction, items: Sequence[UUID]) -> dict[UUID, Sequence[str]]:
    """Return the texts of those of the facts that are there and say something, by what the index knows them by."""
    found = await store.find_indexed(tx, items)
    texts = {memory.indexed_as: memory.version.content.text for memory in found}
    return {item: [passage(text)] for item, text in texts.items() if text}


def memory_renewal(db: Database, segments: SegmentStore, models: Models) -> RenewVectors:
    """Return what makes the vectors of facts anew where the model was changed."""
    return RenewVectors(RENEW_JOB, db, segments, models, texts_of)
