"""Usage in an export. An Exported of app.core.portability."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Final

from app.core.portability import BITE, ArchiveFile
from app.infra.db.transaction import Transaction
from app.usage import store
from app.usage.model import DayCounts, Span
from app.usage.tables import usage
from app.web.records import Record, json_lines

FILE: Final = "usage.jsonl"


class UsageRecord(Record):
    """What a kind of memory did on a day (UTC) for an agent, null for none. `took_us` are microseconds, all calls
    together.
    """

    day: date
    agent: str | None
    kind: str
    calls: int
    hits: int
    tokens: int
    took_us: int
    missed: int
    useful: int
    useless: int


class UsageExport:
    """Gives the counts of each kind, day by day."""

    tables: tuple[str, ...] = (usage.name,)
    records: Mapping[str, type] = {FILE: UsageRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give the one file."""
        yield ArchiveFile(FILE, json_lines(_pages(tx)))


async def _pages(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: store.Position | None = None
    while page := await store.page(tx, Span(), last, BITE):
        last = (page[-1].day, page[-1].agent or "", page[-1].kind)
        yield [_record(each) for each in page]


def _record(each: DayCounts) -> UsageRecord:
    return UsageRecord.kept(day=each.day, agent=each.agent, kind=each.kind, **asdict(each.counts))
