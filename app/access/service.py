"""Looking users up and revoking their tokens."""

from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from app.core.audit import AccessLog, AuditEntry
from app.core.errors import AppError
from app.core.scope import NOBODY, Operator, Scope, Subject
from app.infra.audit.reasons import sealed_reason
from app.infra.db.transaction import Database


class Register(Protocol):
    """What this needs of the vault."""

    async def reference(self, subject: Subject) -> UUID | None:
        """Return the reference that stands for a subject now; nothing is made."""
        ...

    async def revoke_token(self, tenant: str, token_id: str, token_life: timedelta) -> None:
        """Revoke the tenant's token of that `jti`."""
        ...

    async def revoke_issued_before(self, usr: UUID, moment: datetime) -> None:
        """Revoke the user's tokens issued up to a moment."""
        ...


class Access:
    """What operators may do about users' tokens."""

    def __init__(self, db: Database, register: Register, access_log: AccessLog, token_life: timedelta) -> None:
        """Take the doors, the vault, the audit, and the longest life of a token."""
        self._db = db
        self._register = register
        self._access_log = access_log
        self._token_life = token_life

    async def look_up(self, operator: Operator, sub: str) -> UUID:
        """Return the reference of a user of the operator's tenant. Raises `not_found`."""
        usr = await self._register.reference(Subject(operator.issuer, operator.tenant, sub))
        if usr is None:
            raise AppError("not_found")
        await self._note(operator.upon(usr), AuditEntry("look_up", "user", usr))
        return usr

    async def revoke_token(self, operator: Operator, token_id: str) -> None:
        """Revoke one token of the tenant, whoever it is for; it is felt within seconds."""
        await self._register.revoke_token(operator.tenant, token_id, self._token_life)
        await self._note(operator.upon(NOBODY), AuditEntry("revoke", "token"))

    async def revoke_issued_before(self, operator: Operator, usr: UUID, moment: datetime) -> None:
        """Revoke a user's tokens that were issued up to a moment. Raises `not_found` for a user of another tenant."""
        try:
            async with self._db.read(operator.upon(usr)) as tx:
                tx.saw(AuditEntry("revoke", "user", usr))
        except AppError as error:
            raise AppError("not_found") if error.code in {"erased", "erasing"} else error from None
        await self._register.revoke_issued_before(usr, moment)

    async def _note(self, scope: Scope, entry: AuditEntry) -> None:
        """Write what an operator did into the audit, before they are answered."""
        box = None if scope.usr == NOBODY else await self._db.box(scope)
        await self._access_log.saw(scope, [entry], sealed_reason(scope, box))
