"""The user's trail in an export. An Exported of app.core.portability."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Row

from app.audit import store
from app.audit.model import Filters, Place
from app.audit.schemas import entry_answer
from app.audit.service import entry_of
from app.core.portability import BITE, ArchiveFile
from app.infra.audit.reasons import opened_reason
from app.infra.audit.tables import audit_log
from app.infra.db.transaction import Transaction
from app.web.records import Record, json_lines
from app.web.wire import Moment

FILE: Final = "audit.jsonl"


class AccessRecord(Record):
    """One access, the newest first: who did what with which thing, when, and how it ended. No content but the words of
    an operator's reason.
    """

    at: Moment
    user_id: str | None
    actor: str
    agent: str | None
    operator: str | None
    action: str
    kind: str
    item: str | None
    outcome: str
    request_id: str
    address: str
    reason: str | None
    batch: int | None


class AuditExport:
    """Gives the user's trail."""

    tables: tuple[str, ...] = (audit_log.name,)
    records: Mapping[str, type] = {FILE: AccessRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give the one file."""
        yield ArchiveFile(FILE, json_lines(_pages(tx)))


async def _pages(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: Place | None = None
    while rows := await store.of_user(tx, Filters(), last, BITE):
        last = Place(rows[-1].transaction, rows[-1].id)
        yield [_record(tx, row) for row in rows]


def _record(tx: Transaction, row: Row[Any]) -> AccessRecord:  # Any: rows of the store
    reason = opened_reason(row.reason_sealed, row.request_id, tx.box) if row.reason_sealed else None
    return AccessRecord.kept(**dict(entry_answer(entry_of(row, reason))))
