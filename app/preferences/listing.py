"""Preferences in the one list of everything remembered."""

import json
from collections.abc import Sequence
from urllib.parse import quote
from uuid import UUID

from app.core.ids import show
from app.core.remembered import Remembered, RememberedKind
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.preferences import store
from app.preferences.model import Preference


class PreferenceListing:
    """Lists the general values and those for the caller's agent. A Listing of app.core.remembered."""

    kind = RememberedKind.PREFERENCE
    permission = "preferences:read"

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def page(self, scope: Scope, before: UUID | None, limit: int) -> Sequence[Remembered]:
        """Return them, the newest key first: also a general value that the agent's own goes before."""
        async with self._db.read(scope) as tx:
            return [_item(preference) for preference in await store.page_kept(tx, scope.agent, before, limit)]


def _item(preference: Preference) -> Remembered:
    content = preference.version.content
    value = json.dumps(content.value, ensure_ascii=False)
    of_agent = f"?agent_id={quote(preference.agent, safe='')}" if preference.agent else ""
    return Remembered(
        kind=RememberedKind.PREFERENCE,
        place=preference.id,
        id=show("prf", preference.id),
        text=f"{preference.key}: {value}",
        source=content.source,
        trust=content.trust,
        created_at=preference.created_at,
        href=f"/v1/preferences/{preference.key}{of_agent}",
        evidence=content.evidence,
    )
