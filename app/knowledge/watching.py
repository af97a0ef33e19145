"""Following a document until its ingestion has come to an end, by looking again: no connection is held open for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.knowledge import store
from app.knowledge.model import Document

FIRST_LOOK_S: Final = 0.05
LONGEST_LOOK_S: Final = 1.0
MAX_WAIT_S: Final = 60
# A stream ends after this time; a client that still wants to know opens another.
MAX_FOLLOW_S: Final = 600
# Each follower asks the database once a second: so many at a time in a process, and of one user.
MAX_FOLLOWERS: Final = 200
MAX_FOLLOWERS_OF_ONE: Final = 20


class Watching:
    """Looks after documents on behalf of those who wait for them."""

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db
        self._followers: Counter[UUID] = Counter()

    @contextmanager
    def place(self, scope: Scope) -> Iterator[None]:
        """Take the place of a follower while the block runs. Raises `rate_limited`, `overloaded` where none is left."""
        if self._followers[scope.usr] >= MAX_FOLLOWERS_OF_ONE:
            told = f"{MAX_FOLLOWERS_OF_ONE} documents are followed at a time"
            raise AppError("rate_limited", told, headers={"Retry-After": "5"})
        if self._followers.total() >= MAX_FOLLOWERS:
            raise AppError("overloaded", headers={"Retry-After": "5"})
        self._followers[scope.usr] += 1
        try:
            yield
        finally:
            self._followers[scope.usr] -= 1
            # Nobody who has followed once is remembered for it.
            self._followers += Counter()

    async def settled(
        self,
        scope: Scope,
        document_id: UUID,
        wait_s: float,
        is_ending: Callable[[], bool] = lambda: False,
    ) -> Document:
        """Return the document when it is ready or has failed, or as it is after `wait_s`, or when the process ends.

        Raises `not_found`, and what `place` raises.
        """
        with self.place(scope):
            document = await self.seen(scope, document_id)
            async for later in self.follow(scope, document, wait_s):
                document = later
                if is_ending():
                    break
            return document

    async def follow(self, scope: Scope, document: Document, within_s: float = MAX_FOLLOW_S) -> AsyncIterator[Document]:
        """Yield the document at each look, changed or not, until it is settled.

        Raises `not_found` when it is deleted, `erasing` or `erased` when its user is.
        """
        end = asyncio.get_running_loop().time() + within_s
        wait_s = FIRST_LOOK_S
        while not document.is_settled:
            left_s = end - asyncio.get_running_loop().time()
            if left_s <= 0:
                return
            await asyncio.sleep(min(wait_s, left_s))
            wait_s = min(2 * wait_s, LONGEST_LOOK_S)
            later = await self._look(scope, document.id)
            if later is None:
                raise AppError("not_found")
            if later != document:
                document, wait_s = later, FIRST_LOOK_S
            yield document

    async def seen(self, scope: Scope, document_id: UUID) -> Document:
        """Return the document as it is, and note that it was read. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            document = await store.find(tx, document_id)
            if document is None:
                raise AppError("not_found")
            tx.saw(AuditEntry("read", "document", document_id))
        return document

    async def _look(self, scope: Scope, document_id: UUID) -> Document | None:
        async with self._db.read(scope) as tx:
            return await store.find(tx, document_id)
