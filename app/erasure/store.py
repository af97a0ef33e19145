"""The erasures in Postgres."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import insert, or_, select, update

from app.core.audit import AuditEntry
from app.core.recipients import Receiving
from app.erasure.model import Erasure
from app.erasure.tables import erasures
from app.infra.db import recipients
from app.infra.db.tables import users
from app.infra.db.transaction import Transaction


async def find(tx: Transaction) -> Erasure | None:
    """Return the bound user's erasure, None where there is none: a reference is erased once."""
    row = await tx.row(select(erasures).filter_by(usr=tx.scope.usr))
    if row is None:
        return None
    return Erasure(
        id=row.id,
        requested_by=row.requested_by,
        agent=row.agent,
        requested_at=row.requested_at,
        stop=row.stop,
        before=row.before,
        certificate=row.certificate,
        finished_at=row.finished_at,
    )


async def received_by(tx: Transaction) -> Sequence[Receiving]:
    """Return who outside was sent texts at some time since the user's first day."""
    begun = await tx.scalar(select(users.c.created_at).filter_by(usr=tx.scope.usr))
    return [recipients.receiving(row) for row in await tx.rows(recipients.since(begun))]


async def begin(tx: Transaction, erasure_id: UUID, *, stop: bool, entry: AuditEntry) -> None:
    """Mark the user and write the erasure, in the transaction that holds the gate."""
    await tx.change(update(users).filter_by(usr=tx.scope.usr).values(state="erasing"), entry)
    await tx.change(
        insert(erasures).values(
            **tx.owner,
            id=erasure_id,
            requested_by=tx.scope.actor.value,
            agent=tx.scope.agent,
            stop=stop,
        ),
        entry,
    )


async def mark_stop(tx: Transaction, entry: AuditEntry) -> None:
    """Note that the user wants no new beginning."""
    await tx.change(update(erasures).filter_by(usr=tx.scope.usr).values(stop=True), entry)


async def take_lease(tx: Transaction, lease_s: float, entry: AuditEntry) -> bool:
    """Take the right to run the steps; False where somebody else has it or the erasure is done."""
    now = datetime.now(UTC)
    taken = await tx.change(
        update(erasures)
        .filter_by(usr=tx.scope.usr, certificate=None)
        .where(or_(erasures.c.lease_until.is_(None), erasures.c.lease_until < now))
        .values(lease_until=now + timedelta(seconds=lease_s)),
        entry,
    )
    return taken.rowcount == 1


async def drop_lease(tx: Transaction, entry: AuditEntry) -> None:
    """Give the right to run the steps back."""
    await tx.change(update(erasures).filter_by(usr=tx.scope.usr).values(lease_until=None), entry)


async def keep_before(tx: Transaction, before: Mapping[str, int], entry: AuditEntry) -> None:
    """Keep what was there before anything was removed; the first count stands."""
    await tx.change(
        update(erasures).filter_by(usr=tx.scope.usr).where(erasures.c.before.is_(None)).values(before=dict(before)),
        entry,
    )


async def finish(tx: Transaction, certificate: Mapping[str, Any], finished_at: datetime, entry: AuditEntry) -> None:
    """Write the certificate and turn the user's row into a tombstone."""
    await tx.change(
        update(erasures)
        # Of two runs (a lease can run out under a slow one) the first one's certificate stands.
        .filter_by(usr=tx.scope.usr, certificate=None)
        .values(certificate=dict(certificate), finished_at=finished_at, lease_until=None),
        entry,
    )
    await tx.change(update(users).filter_by(usr=tx.scope.usr).values(state="erased", erased_at=finished_at), entry)


async def certify_again(tx: Transaction, certificate: Mapping[str, Any], entry: AuditEntry) -> None:
    """Put a certificate in the place of the one that said what was pending."""
    await tx.change(update(erasures).filter_by(usr=tx.scope.usr).values(certificate=dict(certificate)), entry)
