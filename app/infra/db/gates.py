"""The user's row as the doors ask for it: the state that lets writes in or not, and what the user lets be done."""

from typing import Any

from sqlalchemy import Executable, Row, Select, select

from app.core.errors import AppError
from app.core.processing import Processing, stopped
from app.core.scope import Scope
from app.infra.db.tables import users


def seen(scope: Scope) -> Executable:
    """Return the query of the gate that holds nothing."""
    return _gate(scope)


def held_open(scope: Scope) -> Executable:
    """Return the query of the gate that keeps an erasure, and a change of the user's choices, waiting until the
    transaction ends.

    KEY SHARE and not SHARE: writers that also update the row would deadlock (measured: 67 of 80).
    """
    return _gate(scope).with_for_update(read=True, key_share=True)


def held_shut(scope: Scope) -> Executable:
    """Return the query of the gate that waits for the writers that are in, and keeps others out meanwhile."""
    return _gate(scope).with_for_update()


def required(row: Row[Any] | None) -> Processing:  # Any: state and choices
    """Return the choices of a user who is there. Raises `erasing`, `erased`."""
    if row is None or row.state != "active":
        raise AppError("erasing" if row is not None and row.state == "erasing" else "erased")
    return Processing(row.remember, row.infer, row.external_models)


def require_remembering(processing: Processing) -> None:
    """Raise `processing_stopped` where nothing new of the user may be kept."""
    if not processing.remember:
        raise stopped("remember")


def _gate(scope: Scope) -> Select[Any]:
    return select(users.c.state, users.c.remember, users.c.infer, users.c.external_models).filter_by(usr=scope.usr)
