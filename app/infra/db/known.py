"""Whether somebody's reference is one of this tenant's users: asked before an operator acts on them."""

from app.core.errors import AppError
from app.core.scope import Scope
from app.infra.db.transaction import Database

_GONE = frozenset({"erasing", "erased"})


async def require_known(db: Database, scope: Scope) -> None:
    """Raise `not_found` for who isn't there: of another tenant, erased, or never was. Row-level security says so."""
    try:
        async with db.read(scope):
            pass
    except AppError as error:
        raise AppError("not_found") if error.code in _GONE else error from None
