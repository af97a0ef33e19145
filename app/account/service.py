"""Counts what there is of a user, in one snapshot."""

from collections.abc import Callable, Sequence

from app.account.model import Account
from app.core.account import Counted
from app.core.audit import AuditEntry
from app.core.scope import Scope
from app.infra.db.transaction import Database, Transaction


class Accounts:
    """Tells users what there is of them."""

    def __init__(self, db: Database, counted: Sequence[Counted[Transaction]]) -> None:
        """Take the doors, and every kind that counts itself."""
        self._db = db
        self._counted = counted

    async def read(self, scope: Scope, may: Callable[[str], bool]) -> Account:
        """Count every kind that the caller may read."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("read", "account"))
            amounts = {each.kind: await each.amounts(tx) for each in self._counted if may(each.permission)}
            return Account(amounts, tx.processing)
