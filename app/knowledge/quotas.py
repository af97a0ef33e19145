"""How much a user may give: documents, their bytes, and the chunks that are made of them.

What is there is counted anew each time, under a lock of the user's. A ready version says how many chunks it has in its
own row, with which that goes: a count that is kept beside the rows would drift from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from app.core.account import Amount
from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.remembered import RememberedKind
from app.core.scope import Scope
from app.infra.db.transaction import Database, Transaction
from app.knowledge import quota_store
from app.knowledge.model import Usage


@dataclass(frozen=True, slots=True)
class Quotas:
    """The most of each that a user may have."""

    documents: int
    size_bytes: int
    chunks: int

    async def require_room(self, tx: Transaction, size_bytes: int, replaced: UUID | None = None) -> None:
        """Raise `quota_exceeded` where a document of this size, in place of `replaced`, would be one too many.

        The caller holds the user's turn (`quota_store.take_turn`), so that what is found stays true until it commits.
        """
        kept = await quota_store.usage(tx, replaced)
        self._require(Usage(kept.documents + 1, kept.size_bytes + size_bytes, kept.chunks + 1))

    async def require_chunks(self, tx: Transaction, document_id: UUID, number: int) -> None:
        """Raise `quota_exceeded` where so many chunks of a document would be too many beside those of the others.

        Its own don't count twice: those of the version before go when this one is ready.
        """
        kept = await quota_store.usage(tx, document_id)
        self._require(Usage(0, 0, kept.chunks + number))

    def _require(self, wanted: Usage) -> None:
        limits: Mapping[str, int] = asdict(self)
        for name, number in asdict(wanted).items():
            if number > limits[name]:
                told = f"{_NAMES[name]}: {limits[name]} are allowed, this would make {number}"
                raise AppError("quota_exceeded", told, quota=_NAMES[name], limit=limits[name])


# What clients know them by.
_NAMES: Mapping[str, str] = {"documents": "documents", "size_bytes": "bytes", "chunks": "chunks"}


class Usages:
    """Tells users what their documents take. A Counted of app.core.account."""

    kind = RememberedKind.DOCUMENT.value
    permission = "knowledge:read"

    def __init__(self, db: Database, quotas: Quotas) -> None:
        """Take the doors, and what is allowed."""
        self._db = db
        self.quotas = quotas

    async def read(self, scope: Scope) -> Usage:
        """Return what is kept of the user's."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("read", "usage"))
            return await quota_store.usage(tx)

    async def amounts(self, tx: Transaction) -> Sequence[Amount]:
        """Return what is kept of what is allowed."""
        usage, limits = asdict(await quota_store.usage(tx)), asdict(self.quotas)
        return [Amount(shown, usage[name], limits[name]) for name, shown in _NAMES.items()]
