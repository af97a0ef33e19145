"""The user's choices in Postgres: columns of the row that every write asks."""

from typing import Any

from sqlalchemy import Row, select, update

from app.core.audit import AuditEntry
from app.core.processing import Processing
from app.infra.db.tables import users
from app.infra.db.transaction import Transaction
from app.rights.model import Choices

_CHOSEN = (users.c.remember, users.c.infer, users.c.external_models, users.c.processing_version)


async def choices(tx: Transaction) -> Choices:
    """Return the user's choices."""
    return _choices(await tx.row(select(*_CHOSEN).filter_by(usr=tx.scope.usr)))


async def choose(tx: Transaction, processing: Processing, entry: AuditEntry) -> Choices:
    """Replace the user's choices. The door holds the row, and the version was looked at under it."""
    chosen = (
        update(users)
        .filter_by(usr=tx.scope.usr)
        .values(
            remember=processing.remember,
            infer=processing.infer,
            external_models=processing.external_models,
            processing_version=users.c.processing_version + 1,
        )
        .returning(*_CHOSEN)
    )
    return _choices((await tx.change(chosen, entry)).one())


def _choices(row: Row[Any] | None) -> Choices:  # Any: three choices and a version
    if row is None:
        raise TypeError("a door has looked at the user's row")
    return Choices(Processing(row.remember, row.infer, row.external_models), row.processing_version)
