"""The audit of a whole tenant, for those who seal and verify it: rows and batches, and no user's content.

Nothing here owes an audit entry: a batch that owed one would owe another batch.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Executable, Row, Text, cast, func, literal, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.scope import NOBODY
from app.infra.audit.chain import END_OF_XIDS, AuditRow, Batch, Line
from app.infra.audit.tables import Xid8, audit_batches, audit_log
from app.infra.db.engine import store_errors

TENANTS_PAGE: Final = 500

_BIND = text("SELECT set_config('app.user_id', :usr, true), set_config('app.tenant', :tenant, true)")
_TENANTS = text("SELECT tenant FROM audited_tenants(:past, :most, :due)")
_XIDS = frozenset({"xid", "from_xid", "to_xid"})


@dataclass(frozen=True, slots=True)
class Unsealed:
    """What is due to be sealed: the last batch, where the rows begin, and which they are; `to_xid` is past them."""

    last: Batch | None
    line: Line
    rows: Sequence[AuditRow]
    to_xid: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """What isn't sealed yet: how many rows, and since when the oldest of them waits."""

    rows: int
    since: datetime | None


class Ledger:
    """Reads and seals the audit, tenant by tenant."""

    def __init__(self, engine: AsyncEngine) -> None:
        """Take the engine of the plain role: row-level security lets it see the tenant that it is bound to."""
        self._engine = engine
        # One snapshot: a batch is read with its rows, and what has ended with what was written.
        self._reading = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    async def tenants(self, *, due: bool) -> AsyncIterator[str]:
        """Return every tenant that has an audit; with `due` those of whose rows some can be sealed."""
        past = ""
        while True:
            with store_errors():
                async with self._reading.begin() as connection:
                    asked = {"past": past, "most": TENANTS_PAGE, "due": due}
                    page = (await connection.execute(_TENANTS, asked)).scalars().all()
            for tenant in page:
                yield tenant
            if len(page) < TENANTS_PAGE:
                return
            past = page[-1]

    async def unsealed(self, tenant: str, most: int) -> Unsealed:
        """Return the rows that the next batch has, about `most` of them: rows of one transaction aren't parted.

        Those alone whose transactions have all ended: below the oldest that runs nothing can appear any more. An id
        proves nothing of that kind, for a slow transaction has taken its ids long before its rows can be seen.
        """
        async with self._bound(tenant) as connection:
            last = await _last(connection, tenant)
            ended, newest = await _horizon(connection)
            line, to_xid = last.line() if last else Line(), ended
            if last is not None and newest < last.to_xid:
                # This server counts anew: what an older one has left open is closed with everything it wrote.
                left = await _rows(connection, tenant, line, END_OF_XIDS, None)
                if left:
                    return Unsealed(last, line, left, END_OF_XIDS)
                line = Line(last.last_id, 0, last.last_id)
            rows = await _rows(connection, tenant, line, to_xid, most)
        if len(rows) >= most:
            to_xid = rows[-1].xid + 1
        return Unsealed(last, line, rows, to_xid)

    async def add(self, batch: Batch) -> bool:
        """Keep a batch; False where somebody else has sealed under that number."""
        async with self._bound(batch.tenant, writes=True) as connection:
            kept = await connection.execute(upsert(audit_batches).values(_values(batch)).on_conflict_do_nothing())
        return bool(kept.rowcount)

    async def last(self, tenant: str) -> Batch | None:
        """Return the last batch of a tenant's chain."""
        async with self._bound(tenant) as connection:
            return await _last(connection, tenant)

    async def batches(self, tenant: str, first: int, most: int) -> Sequence[tuple[Batch, Sequence[AuditRow]]]:
        """Return batches from number `first` on with the rows that they should seal, as they are now."""
        columns = [_column(field.name) for field in fields(Batch)]
        asked = select(*columns).where(audit_batches.c.tenant == tenant, audit_batches.c.number >= first)
        async with self._bound(tenant) as connection:
            found = [_batch(row) for row in await _all(connection, asked.order_by(audit_batches.c.number).limit(most))]
            return [(batch, await _sealed(connection, batch)) for batch in found]

    async def batch(self, tenant: str, number: int) -> Batch | None:
        """Return the batch of that number."""
        columns = [_column(field.name) for field in fields(Batch)]
        asked = select(*columns).where(audit_batches.c.tenant == tenant, audit_batches.c.number == number)
        async with self._bound(tenant) as connection:
            found = await _all(connection, asked)
        return _batch(found[0]) if found else None

    async def waiting(self, tenant: str, line: Line) -> Waiting:
        """Return what isn't sealed yet after `line`."""
        counted = select(func.count().label("rows"), func.min(audit_log.c.at).label("since"))
        async with self._bound(tenant) as connection:
            [row] = await _all(connection, counted.where(*_after(tenant, line)))
        return Waiting(row.rows, row.since)

    async def outside(self, tenant: str, line: Line, next_past_id: int) -> int:
        """Return how many rows stand between two lines of a chain, where no batch seals them."""
        between = audit_log.c.id <= next_past_id
        counted = select(func.count().label("rows")).where(*_after(tenant, line), between)
        async with self._bound(tenant) as connection:
            [row] = await _all(connection, counted)
        return int(row.rows)

    @asynccontextmanager
    async def _bound(self, tenant: str, *, writes: bool = False) -> AsyncIterator[AsyncConnection]:
        with store_errors():
            async with (self._engine if writes else self._reading).begin() as connection:
                await connection.execute(_BIND, {"usr": str(NOBODY), "tenant": tenant})
                yield connection


async def _all(connection: AsyncConnection, statement: Executable) -> Sequence[Row[Any]]:
    return (await connection.execute(statement)).all()


async def _horizon(connection: AsyncConnection) -> tuple[int, int]:
    """Return the transaction below which all have ended, and the one that comes next."""
    snapshot = func.pg_current_snapshot()
    asked = select(
        _number(func.pg_snapshot_xmin(snapshot), "ended"), _number(func.pg_snapshot_xmax(snapshot), "newest")
    )
    [row] = await _all(connection, asked)
    return row.ended, row.newest


async def _last(connection: AsyncConnection, tenant: str) -> Batch | None:
    asked = select(*(_column(field.name) for field in fields(Batch))).where(audit_batches.c.tenant == tenant)
    found = await _all(connection, asked.order_by(audit_batches.c.number.desc()).limit(1))
    return _batch(found[0]) if found else None


async def _rows(
    connection: AsyncConnection, tenant: str, line: Line, to_xid: int, most: int | None
) -> Sequence[AuditRow]:
    """Return the rows of a line below `to_xid`: about `most`, and all of the last transaction's."""
    columns = [
        _number(audit_log.c.xid, "xid") if field.name == "xid" else audit_log.c[field.name]
        for field in fields(AuditRow)
    ]
    asked = select(*columns).where(*_after(tenant, line), audit_log.c.xid < _xid(to_xid)).order_by(audit_log.c.xid)
    if most is not None:
        asked = asked.fetch(most, with_ties=True)
    return [AuditRow(**row._asdict()) for row in await _all(connection, asked)]


async def _sealed(connection: AsyncConnection, batch: Batch) -> Sequence[AuditRow]:
    """Return the rows that a batch should seal. Those of a line that began later stand above it."""
    line = Line(batch.past_id, batch.from_xid)
    later = select(func.min(audit_batches.c.past_id).label("past_id")).where(
        audit_batches.c.tenant == batch.tenant, audit_batches.c.past_id > batch.past_id
    )
    [next_line] = await _all(connection, later)
    rows = await _rows(connection, batch.tenant, line, batch.to_xid, None)
    return [row for row in rows if next_line.past_id is None or row.id <= next_line.past_id]


def _after(tenant: str, line: Line) -> tuple[ColumnElement[bool], ...]:
    columns = audit_log.c
    return columns.tenant == tenant, columns.id > line.past_id, columns.xid >= _xid(line.from_xid)


def _column(name: str) -> ColumnElement[Any]:
    column = audit_batches.c[name]
    return _number(column, name) if name in _XIDS else column


def _batch(row: Row[Any]) -> Batch:
    return Batch(**row._asdict())


def _number(xid: ColumnElement[Any], name: str) -> ColumnElement[int]:
    """Return a transaction's id as a number of that name: the type has no cast of its own."""
    return cast(cast(xid, Text), BigInteger).label(name)


def _xid(number: int) -> ColumnElement[int]:
    return cast(cast(literal(str(number)), Text), Xid8)


def _values(batch: Batch) -> dict[str, Any]:
    return {
        field.name: _xid(getattr(batch, field.name)) if field.name in _XIDS else getattr(batch, field.name)
        for field in fields(Batch)
    }
