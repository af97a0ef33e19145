"""The memory log in an export: what contexts were made of, what was said of them, and what changes have marked. An
Exported of app.core.portability.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from app.context import feedback_store, store
from app.context.changes import store as change_store
from app.context.changes.model import Mark
from app.context.changes.tables import memory_marks
from app.context.model import Feedback, LogEntry, LogFilter
from app.context.tables import context_feedback, memory_log
from app.core.ids import show
from app.core.portability import BITE, ArchiveFile
from app.infra.db.snapshots import show_snapshot
from app.infra.db.transaction import Transaction
from app.web.context import DecisionAnswer, decision_answer
from app.web.records import Record, json_lines
from app.web.wire import Moment

CONTEXTS: Final = "contexts.jsonl"
MARKS: Final = "marks.jsonl"


class FeedbackRecord(Record):
    """What was said of a context last."""

    version: int
    useful: bool
    items: list[dict[str, str | int | bool]]
    correction: str | None
    changed_at: Moment


class ContextRecord(Record):
    """A line of the memory log: what a context was made of, the newest first. `is_cut`: texts were taken out of it."""

    id: str
    session_id: str | None
    created_at: Moment
    query: str | None
    agent: str | None
    include: list[str]
    tokenizer: str | None
    snapshot: str
    budget_tokens: int
    tokens: int
    missing: list[str]
    decisions: list[DecisionAnswer]
    revisions: dict[str, str]
    prompt_sha256: str | None
    summary: str | None
    is_cut: bool
    feedback: FeedbackRecord | None


class MarkRecord(Record):
    """That a change of user memory took something out of force which an item still holds, and what is newer."""

    change_number: int
    item: str
    newer_kind: str
    newer_id: str
    newer_version: int
    noted_at: Moment | None


class ContextExport:
    """Gives the memory log, and what changes have marked."""

    tables: tuple[str, ...] = (memory_log.name, context_feedback.name, memory_marks.name)
    records: Mapping[str, type] = {CONTEXTS: ContextRecord, MARKS: MarkRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give both files."""
        yield ArchiveFile(CONTEXTS, json_lines(_contexts(tx)))
        yield ArchiveFile(MARKS, json_lines(_marks(tx)))


async def _contexts(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: UUID | None = None
    while page := await store.page_entries(tx, LogFilter(), last, BITE):
        last = page[-1].id
        said = await feedback_store.find_each(tx, [entry.id for entry in page])
        yield [_context(tx, entry, said.get(entry.id)) for entry in page]


async def _marks(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: tuple[int, str, str, str] | None = None
    while page := await change_store.page(tx, last, BITE):
        newer = page[-1].newer
        last = (page[-1].change_number, page[-1].item, newer.kind, newer.id)
        yield [_mark(mark) for mark in page]


def _context(tx: Transaction, entry: LogEntry, said: Feedback | None) -> ContextRecord:
    call, shown = entry.call, entry.shown
    return ContextRecord.kept(
        id=show("ctx", entry.id),
        session_id=show("ses", entry.session_id) if entry.session_id else None,
        created_at=entry.created_at,
        query=entry.query,
        agent=call.agent if call else None,
        include=list(call.include) if call else [],
        tokenizer=call.tokenizer if call else None,
        snapshot=show_snapshot(tx.box, entry.snapshot),
        budget_tokens=entry.budget_tokens,
        tokens=entry.tokens,
        missing=list(entry.missing),
        decisions=[decision_answer(decision) for decision in entry.decisions],
        revisions=dict(entry.revisions),
        prompt_sha256=shown.prompt_sha256 if shown else None,
        summary=shown.summary if shown else None,
        is_cut=entry.is_cut,
        feedback=_feedback(said) if said else None,
    )


def _feedback(said: Feedback) -> FeedbackRecord:
    items: list[dict[str, Any]] = [  # Any: texts, numbers and marks
        {"kind": item.kind, "id": item.id, "version": item.version, "useful": item.useful} for item in said.items
    ]
    return FeedbackRecord.kept(
        version=said.version,
        useful=said.useful,
        items=items,
        correction=said.correction,
        changed_at=said.changed_at,
    )


def _mark(mark: Mark) -> MarkRecord:
    return MarkRecord.kept(
        change_number=mark.change_number,
        item=mark.item,
        newer_kind=mark.newer.kind,
        newer_id=mark.newer.id,
        newer_version=mark.newer.version,
        noted_at=mark.noted_at,
    )
