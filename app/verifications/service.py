"""Registering secrets, comparing with them, and checking the tokens that come of it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Operator, Scope
from app.infra.db.transaction import Database
from app.verifications import store
from app.verifications.model import Allowance, Registration, Verification, hashed, is_same
from app.verifications.tokens import Tokens, limit_headers

_KIND = "registered_secret"
_GONE = frozenset({"erased", "erasing"})


class Verifications:
    """The registered secrets of users. No value is stored, logged or answered."""

    def __init__(self, db: Database, tokens: Tokens) -> None:
        """Take the doors, and what is known of comparisons and tokens."""
        self._db = db
        self._tokens = tokens

    async def register(self, operator: Operator, usr: UUID, kind: str, value: str | None) -> None:
        """Keep a hash of the value for a user of the operator's tenant; None withdraws what was kept.

        Raises `not_found` for a user of another tenant, `invalid`.
        """
        entry = AuditEntry("register" if value is not None else "withdraw", _KIND, usr)
        try:
            async with self._db.write(operator.upon(usr)) as tx:
                kept = None if value is None else hashed(tx.box, kind, value)
                await store.put(tx, kind, kept, operator.reason, entry)
        except AppError as error:
            raise AppError("not_found") if error.code in _GONE else error from None

    async def registrations(self, scope: Scope) -> Sequence[Registration]:
        """Return what the user can be verified by, and the operators' reasons."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("list", _KIND))
            return await store.registrations(tx)

    async def verify(self, scope: Scope, kind: str, value: str) -> tuple[Verification, Allowance]:
        """Compare a value with what is registered, and return a token. Raises `not_verified`, `rate_limited`.

        The refusal is the same for a wrong value and for a type that isn't registered.
        """
        allowance = await self._tokens.count(scope)
        async with self._db.read(scope) as tx:
            box = tx.box
            kept = await store.find(tx, kind)
            is_right = is_same(box, kind, kept, value)
            tx.saw(AuditEntry("verify", _KIND, outcome="done" if is_right else "refused"))
        if kept is None or not is_right:
            raise AppError("not_verified", headers=limit_headers(allowance))
        return await self._tokens.issue(scope, box, kind, kept, datetime.now(UTC)), allowance

    async def check(self, scope: Scope, token: str) -> Verification:
        """Return what a token of the user's stands for. Raises `not_found` where it isn't one, has expired, or the
        value that was right has been replaced or withdrawn since.
        """
        found = await self._tokens.find(scope, await self._db.box(scope), token, datetime.now(UTC))
        # After Redis: what is registered in this transaction is what holds now.
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("check", "verification"))
            kept = await store.find(tx, found.verification.type) if found else None
        if found is None or not found.is_of(kept):
            raise AppError("not_found")
        return found.verification
