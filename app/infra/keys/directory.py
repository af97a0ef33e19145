"""The directory: the first thing that happens to a verified subject."""

from uuid import UUID

from cachetools import TTLCache

from app.core.errors import AppError
from app.core.identity import ERASURE_SKEW_S
from app.core.scope import Scope, Subject
from app.infra.db.transaction import Database
from app.infra.keys.store import Entry, Erasure
from app.infra.keys.vault import Vault

CACHE_S = 5
CACHE_SUBJECTS = 10_000


class Directory:
    """Knows which reference stands for a subject, and makes new ones."""

    def __init__(self, vault: Vault, db: Database) -> None:
        """Take the vault that knows, and the database that the first row is written to."""
        self._vault = vault
        self._db = db
        self._known: TTLCache[Subject, tuple[Entry, Erasure | None]] = TTLCache(CACHE_SUBJECTS, CACHE_S)
        self._revoked: TTLCache[tuple[str, str], bool] = TTLCache(CACHE_SUBJECTS, CACHE_S)

    async def enter(self, subject: Subject, issued_at: int, token_id: str | None) -> UUID:
        """Return the subject's reference; see app.core.identity.Directory. A revocation is felt within CACHE_S."""
        if token_id is not None:
            await self._refuse_revoked(subject.tenant, token_id)
        known = self._known.get(subject)
        if known is not None:
            _refuse_old(*known, issued_at)
            return known[0].usr
        entry, erasure = await self._vault.find(subject)
        _refuse_old(entry, erasure, issued_at)
        if entry is None:
            entry = await self._vault.create(subject)
        if not entry.registered:
            # A crash between the two stores leaves the mark unset: the next request writes the row.
            await self._db.register(Scope(subject.tenant, entry.usr, None))
            await self._vault.mark_registered(entry.usr)
        self._known[subject] = (entry, erasure)
        return entry.usr

    async def reference(self, subject: Subject) -> UUID | None:
        """Return the subject's reference, None where nobody is known; see app.core.identity.Directory."""
        known = self._known.get(subject)
        return known[0].usr if known is not None else await self._vault.reference(subject)

    async def last_erased(self, subject: Subject) -> UUID | None:
        """Return the reference that the subject's last erasure ended; see app.core.identity.Directory."""
        _, erasure = await self._vault.find(subject)
        return erasure.usr if erasure else None

    def forget(self, usr: UUID) -> None:
        """Drop what is cached for a reference that turned out to be no more."""
        for subject in [subject for subject, (known, _) in self._known.items() if known.usr == usr]:
            self._known.pop(subject, None)

    async def _refuse_revoked(self, tenant: str, token_id: str) -> None:
        revoked = self._revoked.get((tenant, token_id))
        if revoked is None:
            revoked = self._revoked[tenant, token_id] = await self._vault.is_revoked(tenant, token_id)
        if revoked:
            raise AppError("unauthorized", "the token was revoked")


def _refuse_old(entry: Entry | None, erasure: Erasure | None, issued_at: int) -> None:
    if entry is not None and entry.issued_before is not None and issued_at <= entry.issued_before.timestamp():
        raise AppError("unauthorized", "the token was revoked")
    if erasure is None:
        return
    if erasure.stop:
        raise AppError("processing_stopped")
    if issued_at <= erasure.erased_at.timestamp() + ERASURE_SKEW_S:
        raise AppError("erased")
