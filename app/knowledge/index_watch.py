"""Looking after the vector store of everybody: who has something in it, or should have, and whether it is all there."""

import time
from collections.abc import AsyncIterator
from typing import Final
from uuid import UUID

from sqlalchemy import Uuid, bindparam, text

from app.core.errors import AppError
from app.core.scope import Actor, Scope
from app.infra.db.transaction import Database
from app.knowledge.indexing import VectorKeeper
from app.knowledge.service import INDEX_JOB

PAGE_USERS: Final = 1_000
# Each user costs some questions: what is asked for above so many chunks is looked at when it is searched, too.
LOOKS_EVERY_S: Final = 3_600.0
GONE: Final = frozenset({"erasing", "erased"})
_FIRST: Final = UUID(int=0)
_OWNERS: Final = text("SELECT tenant, usr FROM index_owners(:past, :most)").bindparams(bindparam("past", type_=Uuid))


async def index_owners(db: Database) -> AsyncIterator[tuple[str, UUID]]:
    """Yield tenant and reference of everybody with documents that are searched, or with a collection."""
    past = _FIRST
    while page := await db.survey(_OWNERS, {"past": past, "most": PAGE_USERS}):
        for row in page:
            yield row.tenant, row.usr
        past = page[-1].usr


class LostVectors:
    """Finds who lacks something in the vector store. An Ageing of app.core.ageing: the job puts it in order."""

    job = INDEX_JOB

    def __init__(self, db: Database, keeper: VectorKeeper) -> None:
        """Take the doors and what keeps the vector store."""
        self._db = db
        self._keeper = keeper
        self._looks_again_at_s = 0.0

    async def due(self) -> AsyncIterator[tuple[str, UUID]]:
        """Yield those whose collection is missing, short, damaged or owed something. Raises `store_unavailable`."""
        if time.monotonic() < self._looks_again_at_s:
            return
        async for tenant, usr in index_owners(self._db):
            try:
                check = await self._keeper.check(Scope(tenant, usr, None, Actor.WORKER))
            except AppError as error:
                if error.code in GONE:
                    continue
                raise
            if check.is_made and not check.is_complete:
                yield tenant, usr
        self._looks_again_at_s = time.monotonic() + LOOKS_EVERY_S
