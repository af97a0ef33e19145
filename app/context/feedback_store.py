"""What was said of contexts, in Postgres."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select
from sqlalchemy.dialects.postgresql import insert as upsert

from app.context.model import Feedback, ItemMark
from app.context.tables import context_feedback
from app.core.audit import AuditEntry
from app.infra.crypto.box import Box, Place
from app.infra.db.transaction import Transaction


async def put(
    tx: Transaction,
    context_id: UUID,
    useful: bool,  # noqa: FBT001 - a column that is one
    items: Sequence[ItemMark],
    correction: str | None,
    at: datetime,
    audit: AuditEntry,
) -> Feedback:
    """Write what was said of a context, in the place of what was said before: its version rises."""
    said = {
        "useful": useful,
        "items": [{"kind": item.kind, "id": item.id, "version": item.version, "useful": item.useful} for item in items],
        "correction_sealed": None if correction is None else tx.box.seal(correction.encode(), _place(context_id)),
        "agent": tx.scope.agent or "",
        "changed_at": at,
    }
    written = upsert(context_feedback).values(**tx.owner, context_id=context_id, version=1, created_at=at, **said)
    raised = {"version": context_feedback.c.version + 1, **said}
    put_over = written.on_conflict_do_update(index_elements=["usr", "context_id"], set_=raised)
    row = (await tx.change(put_over.returning(context_feedback), audit)).one()
    return _read(row, tx.box)


async def find_each(tx: Transaction, context_ids: Collection[UUID]) -> Mapping[UUID, Feedback]:
    """Return what was said of those of the contexts that something was said of."""
    asked = select(context_feedback).filter_by(usr=tx.scope.usr)
    rows = await tx.rows(asked.where(context_feedback.c.context_id.in_(context_ids)))
    return {row.context_id: _read(row, tx.box) for row in rows}


def _read(row: Row[Any], box: Box) -> Feedback:
    sealed = row.correction_sealed
    return Feedback(
        context_id=row.context_id,
        version=row.version,
        useful=row.useful,
        items=tuple(ItemMark(item["kind"], item["id"], item["version"], item["useful"]) for item in row.items),
        correction=None if sealed is None else box.open(sealed, _place(row.context_id)).decode(),
        changed_at=row.changed_at,
    )


def _place(context_id: UUID) -> Place:
    return Place("context_feedback", "correction_sealed", context_id)
