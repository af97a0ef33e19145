"""What changes have marked, in Postgres: ids and versions. Each function is one statement."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, select, tuple_
from sqlalchemy.dialects.postgresql import insert as upsert

from app.context.changes.model import Mark
from app.context.changes.tables import memory_marks
from app.core.assembly import Newer
from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction


async def note(tx: Transaction, marks: Sequence[Mark], entry: AuditEntry) -> None:
    """Write marks; those that are there already stay."""
    values = [
        {
            **tx.owner,
            "change_number": mark.change_number,
            "item": mark.item,
            "newer_kind": mark.newer.kind,
            "newer_id": mark.newer.id,
            "newer_version": mark.newer.version,
        }
        for mark in marks
    ]
    await tx.change(upsert(memory_marks).on_conflict_do_nothing(), entry, values)


async def page(tx: Transaction, after: tuple[int, str, str, str] | None, limit: int) -> Sequence[Mark]:
    """Return marks, those of the last change first, after the one with this number, item and newer item where given."""
    place = [memory_marks.c[name] for name in ("change_number", "item", "newer_kind", "newer_id")]
    asked = select(memory_marks).filter_by(usr=tx.scope.usr).order_by(*(column.desc() for column in place))
    if after is not None:
        asked = asked.where(tuple_(*place) < tuple_(*after))
    return [_read(row) for row in await tx.rows(asked.limit(limit))]


def _read(row: Row[Any]) -> Mark:
    newer = Newer(row.newer_kind, row.newer_id, row.newer_version)
    return Mark(row.change_number, row.item, newer, row.noted_at)
