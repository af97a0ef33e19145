"""Patterns in Postgres. Each function is one statement; row-level security shows the bound tenant's alone."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction
from app.verifications.patterns.model import Check, Entry, Registration
from app.verifications.patterns.tables import secret_patterns


async def find(tx: Transaction, name: str) -> Entry | None:
    """Return a pattern, a stub too; None where it never was registered."""
    row = await tx.row(select(secret_patterns).filter_by(tenant=tx.scope.tenant, name=name))
    return _read(row) if row else None


async def registered(tx: Transaction) -> Sequence[Entry]:
    """Return all patterns of the tenant that are registered, in their order."""
    asked = select(secret_patterns).filter_by(tenant=tx.scope.tenant, deleted=False)
    return [_read(row) for row in await tx.rows(asked.order_by(secret_patterns.c.name))]


async def count(tx: Transaction) -> int:
    """Return how many patterns there are, stubs included."""
    number: int = await tx.scalar(select(func.count()).select_from(secret_patterns).filter_by(tenant=tx.scope.tenant))
    return number


async def create(tx: Transaction, entry_id: UUID, name: str, said: Registration, entry: AuditEntry) -> Entry | None:
    """Register a pattern; None where another operator was first."""
    row = {"tenant": tx.scope.tenant, "id": entry_id, "name": name, "version": 1, **_columns(said)}
    made = upsert(secret_patterns).values(**row).on_conflict_do_nothing().returning(secret_patterns)
    found = (await tx.change(made, entry)).one_or_none()
    return _read(found) if found else None


async def replace(tx: Transaction, name: str, base: int, said: Registration | None, entry: AuditEntry) -> Entry | None:
    """Write the version after `base`, a stub where nothing is said; None where `base` isn't current any more."""
    changed = update(secret_patterns).filter_by(tenant=tx.scope.tenant, name=name, version=base)
    values = changed.values(version=base + 1, **_columns(said)).returning(secret_patterns)
    found = (await tx.change(values, entry)).one_or_none()
    return _read(found) if found else None


def _columns(said: Registration | None) -> dict[str, Any]:  # Any: each column has a type of its own
    return {
        "expression": said.expression if said else None,
        "check_digit": said.check.value if said else None,
        "description": said.description if said else None,
        "deleted": said is None,
        "updated_at": func.clock_timestamp(),
    }


def _read(row: Row[Any]) -> Entry:
    said = None if row.deleted else Registration(row.expression, Check(row.check_digit), row.description)
    return Entry(row.id, row.name, row.version, row.updated_at, said)
