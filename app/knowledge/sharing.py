"""Texts of their own again for chunks that share one: before the schema goes back to what code of before reads."""

from typing import Final

from app.core.audit import AuditEntry
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.knowledge import text_store
from app.knowledge.quota_store import take_turn

BATCH_CHUNKS: Final = 500


async def unshare(db: Database, scope: Scope) -> int:
    """Give every chunk of a user's its own text; return how many shared one. May be interrupted and run again."""
    total = 0
    while True:
        async with db.write(scope) as tx:
            await take_turn(tx)
            number = await text_store.give_own(tx, BATCH_CHUNKS, AuditEntry("unshare", "document"))
        total += number
        if number < BATCH_CHUNKS:
            return total
