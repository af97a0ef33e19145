"""The memory log in Postgres."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, insert, select

from app.context.model import LogEntry
from app.context.tables import memory_log
from app.core.assembly import Decision, Newer, Packed, Reason
from app.core.audit import AuditEntry
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
)


def prompt_tag(box: Box, packed: Packed) -> bytes:
    """Return the keyed hash of a prompt that the log keeps in its place."""
    return box.tag("prompt", packed.prompt)


async def insert_entry(tx: Transaction, entry: LogEntry, audit: AuditEntry) -> None:
    """Write one line of the log."""
    place = Place("memory_log", "query_sealed", entry.id)
    await tx.change(
        insert(memory_log).values(
            **tx.owner,
            id=entry.id,
            session_id=entry.session_id,
            created_at=entry.created_at,
            query_sealed=tx.box.seal(entry.query.encode(), place),
            prompt_tag=entry.prompt_tag,
            snapshot=entry.snapshot,
            budget_tokens=entry.budget_tokens,
            tokens=entry.tokens,
            missing=list(entry.missing),
            decisions=[_written(decision) for decision in entry.decisions],
        ),
        audit,
    )


async def forget_session(tx: Transaction, session_id: UUID, before: datetime | None, audit: AuditEntry) -> None:
    """Remove the lines of contexts that were asked for in a session, those before a time where one is given.

    Their questions are what was said there, more often than not.
    """
    gone = delete(memory_log).filter_by(usr=tx.scope.usr, session_id=session_id)
    await tx.change(gone if before is None else gone.where(memory_log.c.created_at < before), audit)


async def find_entry(tx: Transaction, context_id: UUID) -> LogEntry | None:
    """Return one line of the log, None where there is no such context of this user's."""
    row = await tx.row(select(*_VISIBLE).filter_by(usr=tx.scope.usr, id=context_id))
    return _read(row, tx.box) if row else None


async def page_entries(tx: Transaction, session_id: UUID | None, before: UUID | None, limit: int) -> Sequence[LogEntry]:
    """Return lines of the log, newest first: of one session where given, older than `before` where given."""
    query = select(*_VISIBLE).filter_by(usr=tx.scope.usr).order_by(memory_log.c.id.desc()).limit(limit)
    if session_id is not None:
        query = query.filter_by(session_id=session_id)
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
    )


def _read(row: Row[Any], box: Box) -> LogEntry:
    return LogEntry(
        id=row.id,
        session_id=row.session_id,
        created_at=row.created_at,
        query=box.open(row.query_sealed, Place("memory_log", "query_sealed", row.id)).decode(),
        prompt_tag=row.prompt_tag,
        snapshot=row.snapshot,
        budget_tokens=row.budget_tokens,
        tokens=row.tokens,
        missing=tuple(row.missing),
        decisions=tuple(_decision(kept) for kept in row.decisions),
    )
