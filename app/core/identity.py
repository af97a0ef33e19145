"""How a verified token becomes a user's reference."""

from typing import Protocol
from uuid import UUID

from app.core.scope import Subject

# Clocks of issuers differ: a token issued this long after an erasure counts as issued before it.
ERASURE_SKEW_S = 60


class Directory(Protocol):
    """Knows which reference stands for a subject now."""

    async def enter(self, subject: Subject, issued_at: int, token_id: str | None) -> UUID:
        """Return the subject's reference; at the first sight of a subject, make it, its keys and its row.

        `issued_at` and `token_id` are the token's `iat` and `jti`. Raises `unauthorized` for a revoked token,
        `erased` for a token issued before the subject's last erasure (or less
        than ERASURE_SKEW_S after it), `processing_stopped` where the user wanted no new beginning.
        """
        ...

    async def reference(self, subject: Subject) -> UUID | None:
        """Return the subject's reference, None where nobody is known. It makes nothing, and refuses nobody."""
        ...

    async def last_erased(self, subject: Subject) -> UUID | None:
        """Return the reference that the subject's last erasure ended, as long as the register still knows whose it
        was.
        """
        ...

    def forget(self, usr: UUID) -> None:
        """Drop what is remembered of a reference that turned out to be no more."""
        ...
