"""Messages in the index: by their words when they are stored, by their meaning when the worker has time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.core.text import passages
from app.core.text.language import language_code
from app.core.text.passages import passage, spoken
from app.core.text.terms import speaker, terms
from app.infra.crypto.box import Box
from app.infra.db.transaction import Database, Transaction
from app.infra.embedders.models import Models
from app.infra.embedders.port import EmbedderUnavailableError
from app.infra.segments.codec import Role as IndexedRole
from app.infra.segments.packing import Item
from app.infra.segments.renewing import RenewVectors
from app.infra.segments.store import ByModel, SegmentStore
from app.sessions import store
from app.sessions.model import Draft, Message, Role, SealedMessage

INDEX_JOB: Final = "index_messages"
RENEW_JOB: Final = "renew_messages"
ONCE: Final = "index"
BATCH_MESSAGES: Final = 64
MAX_BATCHES: Final = 200
# What a model makes one vector of is about one thing: a longer message has a vector for each of its pieces, so that
# what stands at its end is found as well.
MAX_PIECES: Final = 8

ROLES: Final[Mapping[Role, IndexedRole]] = {
    Role.USER: IndexedRole.USER,
    Role.ASSISTANT: IndexedRole.ASSISTANT,
    Role.SYSTEM: IndexedRole.SYSTEM,
    Role.TOOL: IndexedRole.TOOL,
}


@dataclass(frozen=True, slots=True)
class Words:
    """What the index knows of a message before it has a vector: nothing that can be read without the user's keys."""

    terms: NDArray[np.uint64]
    language: int
    speaker: int


def words_of(box: Box, draft: Draft | Message) -> Words | None:
    """Return what is indexed of a message, None where it says nothing."""
    text = draft.body.content or ""
    if not text.strip():
        return None
    name = speaker(draft.body.name or "")
    said = spoken(draft.body.name or "", text)
    return Words(box.term_ids(terms(said)), language_code(text), box.term(name) if name else 0)


def items(session_id: UUID, words: Sequence[Words | None], sealed: Sequence[SealedMessage]) -> list[Item]:
    """Return the items of messages that are being stored."""
    return [
        replace(
            fresh_item(session_id, message.id, message.role, said),
            ordinal=message.seq,
            time_ms=int(message.created_at.timestamp() * 1000),
        )
        for said, message in zip(words, sealed, strict=True)
        if said is not None
    ]


def fresh_item(session_id: UUID, message_id: UUID, role: Role, said: Words) -> Item:
    """Return the item of a message whose number and time aren't known yet."""
    return Item(
        id=message_id,
        group=session_id,
        ordinal=0,
        time_ms=0,
        terms=said.terms,
        role=ROLES[role],
        language=said.language,
        speaker=said.speaker,
    )


def pieces(message: Message, before: Message | None = None) -> list[str]:
    """Return the pieces of a message that have a vector each: whole sentences, as many as fit into each piece.

    The first one has its speaker and what it answers: `before`, the message before it in its session.
    """
    first, *others = passages.pieces(message.text, MAX_PIECES) or [""]
    return [passage(_spoken(message, first), _answered(message, before)), *others] if first else []


async def texts_of(tx: Transaction, ids: Sequence[UUID]) -> dict[UUID, Sequence[str]]:
    """Return the pieces of those of the messages that are there."""
    messages = await store.find_messages(tx, ids)
    places = [(message.session_id, message.seq - 1) for message in messages]
    before = await store.find_neighbours(tx, places) if places else []
    at = {(message.session_id, message.seq): message for message in before}
    return {one.id: pieces(one, at.get((one.session_id, one.seq - 1))) for one in messages}


def message_renewal(db: Database, segments: SegmentStore, models: Models) -> RenewVectors:
    """Return what makes the vectors of messages anew where the model was changed."""
    return RenewVectors(RENEW_JOB, db, segments, models, texts_of)


def _answered(message: Message, before: Message | None) -> str:
    if before is None or _who(before) == _who(message):
        return ""
    return _spoken(before, before.text)


def _who(message: Message) -> tuple[Role, str]:
    return message.role, message.body.name or ""


def _spoken(message: Message, text: str) -> str:
    return spoken(message.body.name or "", text)


class IndexMessages:
    """Gives messages their vectors, and packs what has grown into segments. A Handler of app.core.jobs."""

    name = INDEX_JOB

    def __init__(self, db: Database, segments: SegmentStore, models: Models) -> None:
        """Take the record, the index of messages and what embeds."""
        self._db = db
        self._segments = segments
        self._models = models

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:  # noqa: ARG002 - the user is all it needs
        """Embed what waits, in batches; the model is never asked inside a transaction. May run twice."""
        for _ in range(MAX_BATCHES):
            async with self._db.read(scope) as tx:
                waiting = await self._segments.unembedded(tx, BATCH_MESSAGES)
                texts = await texts_of(tx, waiting)
            if not waiting:
                break
            vectors = await self._vectors(scope, texts)
            gone = sorted(set(waiting) - vectors.keys())
            async with self._db.maintain(scope) as tx:
                entry = AuditEntry("index", "message")
                await self._segments.attach(tx, vectors, entry)
                if gone:
                    await self._segments.remove(tx, gone, entry)
        else:
            async with self._db.maintain(scope) as tx:
                tx.enqueue(Job(INDEX_JOB, once=ONCE))
        await self._compact(scope)

    async def _compact(self, scope: Scope) -> None:
        for _ in range(MAX_BATCHES):
            async with self._db.maintain(scope) as tx:
                if not await self._segments.compact(tx, AuditEntry("compact", "message")):
                    return

    async def _vectors(self, scope: Scope, texts: Mapping[UUID, Sequence[str]]) -> dict[UUID, ByModel]:
        try:
            made = await self._models.embed(scope, [piece for one in texts.values() for piece in one])
        except EmbedderUnavailableError as error:
            # The queue waits for a store that is down as long as it takes.
            raise AppError("store_unavailable", "the embedder") from error
        vectors: dict[UUID, ByModel] = {}
        start = 0
        for message_id, one in texts.items():
            if one:
                vectors[message_id] = {model: rows[start : start + len(one)] for model, rows in made.items()}
            start += len(one)
        return vectors
