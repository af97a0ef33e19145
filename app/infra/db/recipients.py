"""The recipients outside, in Postgres: noted by each process as it starts, so that those of before are known too."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Executable, Row, func, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.recipients import Receiving, Recipient
from app.infra.db.tables import recipients

_KEY = (recipients.c.purpose, recipients.c.host, recipients.c.model)


async def note(connection: AsyncConnection, now_sent: Sequence[Recipient]) -> None:
    """Note who is sent texts from now on; whoever isn't among them any more was until now."""
    keys = [(each.purpose, each.host, each.model) for each in now_sent]
    ended = update(recipients).where(recipients.c.until.is_(None), tuple_(*_KEY).not_in(keys))
    await connection.execute(ended.values(until=func.now()))
    if keys:
        named = [{"purpose": purpose, "host": host, "model": model} for purpose, host, model in keys]
        again = insert(recipients).values(named)
        await connection.execute(again.on_conflict_do_update(index_elements=_KEY, set_={"until": None}))


def since(moment: datetime) -> Executable:
    """Return the query of who was sent texts at some time since a moment."""
    sent = or_(recipients.c.until.is_(None), recipients.c.until > moment)
    return select(recipients).where(sent).order_by(*_KEY)


def receiving(row: Row[Any]) -> Receiving:
    """Return what a row of that query says."""
    return Receiving(Recipient(row.purpose, row.host, row.model), row.since, row.until)
