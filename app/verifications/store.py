"""Registered secrets in Postgres: each function is one statement."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.infra.crypto.box import Place
from app.infra.db.transaction import Transaction
from app.verifications.model import Hash, Registration
from app.verifications.tables import registered_secrets


async def put(tx: Transaction, kind: str, kept: Hash | None, reason: str, entry: AuditEntry) -> None:
    """Keep the hash in place of whatever was kept of that type; None withdraws it."""
    values = {
        "salt": kept.salt if kept else None,
        "hash": kept.digest if kept else None,
        "reason_sealed": tx.box.seal(reason.encode(), _place(kind)),
        "changed_at": func.now(),
    }
    made = upsert(registered_secrets).values(**tx.owner, type=kind, **values)
    await tx.change(made.on_conflict_do_update(index_elements=["usr", "type"], set_=values), entry)


async def find(tx: Transaction, kind: str) -> Hash | None:
    """Return the hash of that type, None where none is registered."""
    row = await tx.row(
        select(registered_secrets.c.salt, registered_secrets.c.hash).filter_by(usr=tx.scope.usr, type=kind)
    )
    return None if row is None or row.hash is None else Hash(row.salt, row.hash)


async def registrations(tx: Transaction) -> Sequence[Registration]:
    """Return what is registered, or was, by type."""
    asked = select(registered_secrets).filter_by(usr=tx.scope.usr).order_by(registered_secrets.c.type)
    return [
        Registration(
            type=row.type,
            is_registered=row.hash is not None,
            reason=tx.box.open(row.reason_sealed, _place(row.type)).decode(),
            changed_at=row.changed_at,
        )
        for row in await tx.rows(asked)
    ]


def _place(kind: str) -> Place:
    return Place("registered_secrets", "reason_sealed", kind.encode())
