"""The memory log in Postgres."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, delete, insert, select, update

from app.context.model import Call, LogEntry, LogFilter, Shown
from app.context.tables import memory_log
from app.core.assembly import Decision, Newer, Packed, Reason
from app.core.audit import AuditEntry
from app.core.text.occurrences import folded
from app.infra.crypto.box import Box, Place
from app.infra.db.transaction import Transaction

_VISIBLE = (
    memory_log.c.id,
    memory_log.c.session_id,
    memory_log.c.created_at,
    memory_log.c.query_sealed,
    memory_log.c.prompt_tag,
    memory_log.c.snapshot,
    memory_log.c.budget_tokens,
    memory_log.c.tokens,
    memory_log.c.missing,
    memory_log.c.decisions,
    memory_log.c.call,
    memory_log.c.revisions,
    memory_log.c.shown_sealed,
    memory_log.c.is_cut,
)
# What stands in the place of a question that was taken out.
NOTHING = b""


def prompt_tag(box: Box, packed: Packed) -> bytes:
    """Return the keyed hash of a prompt that the log keeps in its place."""
    return box.tag("prompt", packed.prompt)


def prompt_sha256(packed: Packed) -> str:
    """Return the plain hash of a prompt, which is kept sealed: of a guessable text it would say what that is."""
    return hashlib.sha256(packed.prompt.encode()).hexdigest()


async def insert_entry(tx: Transaction, entry: LogEntry, audit: AuditEntry) -> None:
    """Write one line of the log."""
    query, shown = entry.query or "", entry.shown
    await tx.change(
        insert(memory_log).values(
            **tx.owner,
            id=entry.id,
            session_id=entry.session_id,
            created_at=entry.created_at,
            query_sealed=tx.box.seal(query.encode(), _place("query_sealed", entry.id)),
            query_tag=_query_tag(tx.box, query),
            prompt_tag=entry.prompt_tag,
            snapshot=entry.snapshot,
            budget_tokens=entry.budget_tokens,
            tokens=entry.tokens,
            missing=list(entry.missing),
            decisions=[_written(decision) for decision in entry.decisions],
            call=asdict(entry.call) if entry.call else None,
            revisions=dict(entry.revisions) or None,
            shown_sealed=None if shown is None else tx.box.seal_json(asdict(shown), _place("shown_sealed", entry.id)),
            is_cut=entry.is_cut,
        ),
        audit,
    )


async def forget_session(tx: Transaction, session_id: UUID, before: datetime | None, audit: AuditEntry) -> None:
    """Remove the lines of contexts that were asked for in a session: their questions are what was said there, more
    often than not.

    With a time, those before it; what the others show of the summary may be older, and is taken out.
    """
    lines = delete(memory_log).filter_by(usr=tx.scope.usr, session_id=session_id)
    if before is None:
        await tx.change(lines, audit)
        return
    await tx.change(lines.where(memory_log.c.created_at < before), audit)
    await _cut_summaries(tx, session_id, before, audit)


async def forget_words(tx: Transaction, session_id: UUID, text: str, stored_at: datetime, audit: AuditEntry) -> None:
    """Take out what may hold a message that is deleted: the summaries of its session that were shown since it was
    stored, and questions of the same words, wherever they were asked.
    """
    await _cut_summaries(tx, session_id, stored_at, audit)
    if not text.strip():
        return
    same = select(memory_log.c.id).filter_by(usr=tx.scope.usr, query_tag=_query_tag(tx.box, text))
    ids = [row.id for row in await tx.rows(same)]
    if not ids:
        return
    cut = update(memory_log).where(memory_log.c.usr == tx.scope.usr, memory_log.c.id == bindparam("line"))
    emptied = cut.values(query_sealed=bindparam("emptied"), query_tag=None, shown_sealed=None, is_cut=True)
    values = [{"line": each, "emptied": tx.box.seal(NOTHING, _place("query_sealed", each))} for each in ids]
    await tx.change(emptied, audit, values)


async def _cut_summaries(tx: Transaction, session_id: UUID, since: datetime, audit: AuditEntry) -> None:
    shown = update(memory_log).filter_by(usr=tx.scope.usr, session_id=session_id)
    shown = shown.where(memory_log.c.created_at >= since, memory_log.c.shown_sealed.is_not(None))
    await tx.change(shown.values(shown_sealed=None, is_cut=True), audit)


async def find_entry(tx: Transaction, context_id: UUID) -> LogEntry | None:
    """Return one line of the log, None where there is no such context of this user's."""
    row = await tx.row(select(*_VISIBLE).filter_by(usr=tx.scope.usr, id=context_id))
    return _read(row, tx.box) if row else None


async def hold_entry(tx: Transaction, context_id: UUID) -> LogEntry | None:
    """Return one line of the log, which stays until the transaction ends."""
    asked = select(*_VISIBLE).filter_by(usr=tx.scope.usr, id=context_id).with_for_update(read=True, key_share=True)
    row = await tx.row(asked)
    return _read(row, tx.box) if row else None


async def find_contexts(tx: Transaction, ids: Collection[UUID]) -> Collection[UUID]:
    """Return those of the ids that are contexts of the user's."""
    asked = select(memory_log.c.id).filter_by(usr=tx.scope.usr).where(memory_log.c.id.in_(ids))
    return {row.id for row in await tx.rows(asked)}


async def page_entries(tx: Transaction, wanted: LogFilter, before: UUID | None, limit: int) -> Sequence[LogEntry]:
    """Return lines of the log that pass, newest first, older than `before` where given. Messages are for the caller."""
    query = select(*_VISIBLE).filter_by(usr=tx.scope.usr).order_by(memory_log.c.id.desc()).limit(limit)
    if wanted.session_id is not None:
        query = query.filter_by(session_id=wanted.session_id)
    if wanted.context_id is not None:
        query = query.filter_by(id=wanted.context_id)
    if wanted.since is not None:
        query = query.where(memory_log.c.created_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(memory_log.c.created_at < wanted.until)
    if before is not None:
        query = query.where(memory_log.c.id < before)
    return [_read(row, tx.box) for row in await tx.rows(query)]


def _written(decision: Decision) -> dict[str, Any]:
    return {
        "kind": decision.kind,
        "id": decision.id,
        "version": decision.version,
        "loaded": decision.loaded,
        "reason": decision.reason.value,
        "tokens": decision.tokens,
        "score": None if decision.score is None else round(decision.score, 4),
        "superseded": [{"kind": each.kind, "id": each.id, "version": each.version} for each in decision.superseded],
        **({"part": decision.part} if decision.part else {}),
    }


def _decision(kept: Mapping[str, Any]) -> Decision:
    return Decision(
        kept["kind"],
        kept["id"],
        kept["version"],
        kept["loaded"],
        Reason(kept["reason"]),
        kept["tokens"],
        kept["score"],
        # Lines of before were held against nothing.
        tuple(Newer(each["kind"], each["id"], each["version"]) for each in kept.get("superseded", ())),
        kept.get("part"),
    )


def _read(row: Row[Any], box: Box) -> LogEntry:
    query = box.open(row.query_sealed, _place("query_sealed", row.id)).decode()
    shown = None if row.shown_sealed is None else box.open_json(row.shown_sealed, _place("shown_sealed", row.id))
    return LogEntry(
        id=row.id,
        session_id=row.session_id,
        created_at=row.created_at,
        query=query or None,
        prompt_tag=row.prompt_tag,
        snapshot=row.snapshot,
        budget_tokens=row.budget_tokens,
        tokens=row.tokens,
        missing=tuple(row.missing),
        decisions=tuple(_decision(kept) for kept in row.decisions),
        call=None if row.call is None else Call(**row.call),
        revisions=row.revisions or {},
        shown=None if shown is None else Shown(**shown),
        is_cut=row.is_cut,
    )


def _query_tag(box: Box, text: str) -> bytes:
    """Return the keyed hash of a question's words: the same for texts that differ in case and spaces alone."""
    return box.tag("memory_log.query", folded(text))


def _place(column: str, context_id: UUID) -> Place:
    return Place("memory_log", column, context_id)
