"""Sessions in the one list of everything remembered."""

from collections.abc import Sequence
from uuid import UUID

from app.core.ids import show
from app.core.remembered import Remembered, RememberedKind
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.sessions import store
from app.sessions.model import Session


class SessionListing:
    """Lists the sessions with what is kept of them beside their messages. A Listing of app.core.remembered."""

    kind = RememberedKind.SESSION
    permission = "sessions:read"

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def page(self, scope: Scope, before: UUID | None, limit: int) -> Sequence[Remembered]:
        """Return the sessions, the newest first."""
        async with self._db.read(scope) as tx:
            return [_item(session) for session in await store.page_sessions(tx, before, limit)]


def _item(session: Session) -> Remembered:
    shown, summary = show("ses", session.id), session.summary
    parts = (session.title or "", *summary.constraints, summary.gist)
    return Remembered(
        kind=RememberedKind.SESSION,
        place=session.id,
        id=shown,
        text="\n".join(part for part in parts if part),
        source="conversation",
        # A record of what was said, by whomever.
        trust=None,
        created_at=session.created_at,
        href=f"/v1/sessions/{shown}",
        expires_at=session.expires_at,
    )
