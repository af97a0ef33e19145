"""The end of a fact: by its user's word or when its time is over, its text goes out of every version."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.jobs import Job
from app.core.scope import Scope
from app.infra.db.transaction import Database, Transaction
from app.memories import store
from app.memories.indexing import MemoryIndex
from app.memories.model import EXPIRY, Content, Memory

EXPIRE_JOB: Final = "expire_memory"
# What the queue counts delays in has four bytes.
LONGEST_DELAY_S: Final = 2**31 - 1


def owe_expiry(tx: Transaction, memory: Memory) -> None:
    """Owe the deletion of a fact at the end of its time. Where a later version moves it, that version's job counts."""
    version = memory.version
    if version.content.expires_at is not None:
        left_s = ceil((version.content.expires_at - datetime.now(UTC)).total_seconds())
        args: dict[str, str | int] = {"memory_id": str(memory.id), "version": version.number}
        tx.enqueue(Job(EXPIRE_JOB, args, delay_s=min(max(1, left_s), LONGEST_DELAY_S)))


async def end(
    tx: Transaction,
    index: MemoryIndex,
    memory: Memory,
    content: Content,
    number: int,
    entry: AuditEntry,
) -> Memory:
    """Write the version that ends a fact, and take its text out of the earlier ones and out of the index."""
    stub = await store.replace(tx, memory, memory.indexed_as, content, number, entry)
    if stub is None:
        raise AppError("conflict", "it was changed at the same time")
    await store.erase_texts(tx, stub.id, stub.version.number, entry)
    await index.take(tx, memory, entry)
    await tx.forget_answers(stub.id, entry)
    return stub


class ExpireMemory:
    """Deletes a fact whose time is over. A Handler of app.core.jobs."""

    name = EXPIRE_JOB

    def __init__(self, db: Database, index: MemoryIndex) -> None:
        """Take the doors, and the index of facts."""
        self._db = db
        self._index = index

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Delete it, unless it is at another version by now. May run twice."""
        memory_id, version = UUID(str(args["memory_id"])), int(args["version"])
        async with self._db.retract(scope) as tx:
            memory = await store.find(tx, memory_id)
            if memory is None or memory.is_deleted or memory.version.number != version:
                return
            if not memory.has_expired(datetime.now(UTC)):
                # This machine's clock is behind the one that the queue goes by.
                owe_expiry(tx, memory)
                return
            entry = AuditEntry("expire", "memory", memory_id)
            await end(tx, self._index, memory, EXPIRY, await tx.next_change(entry), entry)
