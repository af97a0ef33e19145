"""What a user's documents take, counted in Postgres. Each function is one statement, or two."""

from uuid import UUID

from sqlalchemy import func, select, true, update

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction
from app.knowledge.model import Status, Usage
from app.knowledge.tables import chunks, document_versions

# The place of the last chunk of a version: that many there are, but for one.
_LAST = (
    select(chunks.c.ordinal)
    .where(
        chunks.c.usr == document_versions.c.usr,
        chunks.c.document_id == document_versions.c.document_id,
        chunks.c.version == document_versions.c.version,
    )
    .order_by(chunks.c.ordinal.desc())
    .limit(1)
    .correlate(document_versions)
)


async def take_turn(tx: Transaction) -> None:
    """Wait until nobody else of this user's counts and writes: two at once would each find room for one.

    Taken before any row is locked. Not on the user's row: who changes a preference doesn't wait for an upload.
    """
    await tx.rows(select(func.pg_advisory_xact_lock(func.hashtextextended(f"knowledge {tx.scope.usr}", 0))))


async def usage(tx: Transaction, without: UUID | None = None) -> Usage:
    """Return what is kept. `without` leaves out a document that is about to be replaced, or written."""
    versions = select(
        func.count(document_versions.c.document_id.distinct()).label("documents"),
        func.coalesce(func.sum(document_versions.c.size_bytes), 0).label("size_bytes"),
        func.coalesce(func.sum(document_versions.c.chunk_count), 0).label("chunks"),
    ).where(document_versions.c.usr == tx.scope.usr, document_versions.c.status != Status.RECEIVING)
    if without is not None:
        versions = versions.where(document_versions.c.document_id != without)
    row = await tx.row(versions)
    uncounted = await _uncounted(tx, without)
    return Usage(row.documents, int(row.size_bytes), int(row.chunks) + uncounted) if row else Usage(0, 0, uncounted)


async def note_chunks(tx: Transaction, entry: AuditEntry) -> None:
    """Write how many chunks the ready versions have that don't say so yet. It locks them: call it after whatever else
    is locked by one who deletes one of them.
    """
    counted = (
        update(document_versions)
        .where(
            document_versions.c.usr == tx.scope.usr,
            document_versions.c.status == Status.READY,
            document_versions.c.chunk_count.is_(None),
        )
        .values(chunk_count=func.coalesce(_LAST.scalar_subquery() + 1, 0))
    )
    await tx.change(counted, entry)


async def _uncounted(tx: Transaction, without: UUID | None) -> int:
    """Count the chunks of versions that don't say how many they have: those on the way, those that failed."""
    last = _LAST.lateral("last")
    counted = (
        select(func.coalesce(func.sum(last.c.ordinal + 1), 0))
        .select_from(document_versions.join(last, true()))
        .where(document_versions.c.usr == tx.scope.usr, document_versions.c.chunk_count.is_(None))
    )
    if without is not None:
        counted = counted.where(document_versions.c.document_id != without)
    return int(await tx.scalar(counted))
