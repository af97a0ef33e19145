"""What is done with facts. Each method is one transaction; every change is conditional on a version."""

from datetime import UTC, datetime
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import EvidenceCheck
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.moments import NOW, Moment
from app.core.scope import Scope
from app.core.superseding import Superseding
from app.core.versions import Precondition, expected
from app.infra.db.snapshots import look, settle
from app.infra.db.transaction import Database, Transaction
from app.memories import store
from app.memories.expiring import end, owe_expiry
from app.memories.indexing import MemoryIndex
from app.memories.model import (
    DELETION,
    MAX_MEMORIES,
    Content,
    History,
    Memory,
    Read,
    not_there,
    require_inferable,
    require_trust,
)


class Memories:
    """The facts of users."""

    def __init__(
        self,
        db: Database,
        index: MemoryIndex,
        evidence: EvidenceCheck[Transaction],
        superseding: Superseding[Transaction],
    ) -> None:
        """Take the doors to the database, the index of facts, what knows which evidence there is, and what knows the
        former values of user memory.
        """
        self._db = db
        self._superseding = superseding
        self._index = index
        self._evidence = evidence

    async def add(self, scope: Scope, content: Content, attempt: Attempt | None) -> Memory:
        """Write a new fact.

        Raises `quota_exceeded`, `invalid` for evidence that isn't there, `sensitive_category` for what isn't inferred.
        """
        async with self._db.remember(scope, attempt) as tx:
            await self._evidence.require(tx, {"evidence": content.evidence})
            memory = await put(tx, self._index, content)
            await tx.answer(memory, memory.id)
        return memory

    async def read(self, scope: Scope, memory_id: UUID, moment: Moment) -> Read:
        """Return a fact as it is now, or was at a moment that is past: then it may be one that was erased since.

        Raises `not_found`, also where it is deleted now, and wherever its time is over.
        """
        await settle(self._db, scope, moment)
        async with self._db.read(scope) as tx:
            snapshot = await look(tx, moment)
            if snapshot.changes_since:
                memory = await store.find_at(tx, memory_id, snapshot.number)
                if memory is None or memory.ends_there or memory.has_expired(datetime.now(UTC)):
                    raise AppError("not_found")
            else:
                memory = await _required(tx, memory_id)
            outdated = await self._superseding.look(tx, snapshot.number if snapshot.changes_since else None)
            tx.saw(AuditEntry("read", "memory", memory_id))
        return Read(memory, snapshot, outdated)

    async def history(self, scope: Scope, memory_id: UUID, before: int | None, limit: int) -> History:
        """Return the versions of a fact, newest first, older than version `before` where given. Raises `not_found`.

        Of a fact that was deleted all of them are there, without what they said.
        """
        async with self._db.read(scope) as tx:
            memory = await store.find(tx, memory_id)
            # Between its end and its deletion by the worker nobody reads it any more.
            if memory is None or (not memory.is_deleted and memory.has_expired(datetime.now(UTC))):
                raise AppError("not_found")
            versions = await store.page_versions(tx, memory_id, before, limit + 1)
            tx.saw(AuditEntry("read_history", "memory", memory_id))
            snapshot = await look(tx, NOW)
        return History(versions[:limit], snapshot, more=len(versions) > limit)

    async def replace(
        self,
        scope: Scope,
        memory_id: UUID,
        content: Content,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Memory:
        """Write a fact's next version. Raises `not_found`, `stale_version`, `conflict` where it is less trusted than
        what is there, and otherwise as `add`.
        """
        async with self._db.remember(scope, attempt) as tx:
            await self._evidence.require(tx, {"evidence": content.evidence})
            require_inferable(content, tx.processing)
            entry = AuditEntry("replace", "memory", memory_id)
            number = await tx.next_change(entry)
            current = await _required(tx, memory_id)
            expected(precondition, current.version.number)
            require_trust(current.version.content, content)
            memory = await store.replace(tx, current, uuid7(), content, number, entry)
            if memory is None:
                raise AppError("conflict", "it was changed at the same time")
            await self._index.take(tx, current, entry)
            await self._index.put(tx, memory, entry)
            owe_expiry(tx, memory)
            await tx.answer(memory, memory_id)
        return memory

    async def delete(
        self,
        scope: Scope,
        memory_id: UUID,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Memory:
        """Take the text out of every version; return the stub that is left. Raises `not_found`, `stale_version`."""
        async with self._db.retract(scope, attempt) as tx:
            entry = AuditEntry("delete", "memory", memory_id)
            number = await tx.next_change(entry)
            current = await _required(tx, memory_id)
            expected(precondition, current.version.number)
            stub = await end(tx, self._index, current, DELETION, number, entry)
            await tx.answer(stub)
        return stub


async def put(tx: Transaction, index: MemoryIndex, content: Content) -> Memory:
    """Write a new fact in the caller's transaction. Raises as `Memories.add`."""
    require_inferable(content, tx.processing)
    memory_id = uuid7()
    entry = AuditEntry("add", "memory", memory_id)
    number = await tx.next_change(entry)
    if await store.count(tx) >= MAX_MEMORIES:
        raise AppError("quota_exceeded", f"at most {MAX_MEMORIES} memories")
    memory = await store.create(tx, memory_id, uuid7(), content, number, entry)
    if memory is None:
        raise AppError("conflict")
    await index.put(tx, memory, entry)
    owe_expiry(tx, memory)
    return memory


async def _required(tx: Transaction, memory_id: UUID) -> Memory:
    memory = await store.find(tx, memory_id)
    if memory is None or not memory.is_there(datetime.now(UTC)):
        raise not_there(memory)
    return memory
