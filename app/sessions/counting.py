"""How much a user has said."""

from sqlalchemy import Table, func, select

from app.infra.db.transaction import Transaction
from app.sessions.tables import messages, sessions


async def count_sessions(tx: Transaction) -> int:
    """Return how many sessions the user has, those that have expired included."""
    return await _count(tx, sessions)


async def count_messages(tx: Transaction) -> int:
    """Return how many messages there are in them."""
    return await _count(tx, messages)


async def _count(tx: Transaction, table: Table) -> int:
    number: int = await tx.scalar(select(func.count()).select_from(table).filter_by(usr=tx.scope.usr))
    return number
