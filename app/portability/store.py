"""Imports in Postgres: each function is one statement; what was received is sealed on its way in."""

from collections.abc import Collection
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row, delete, func, insert, select, update

from app.core.audit import AuditEntry
from app.core.portability import Verdict
from app.infra.crypto.box import Box, Place, row_key
from app.infra.db.transaction import Transaction
from app.portability import model
from app.portability.model import Failure, Import, Problem, Report, Source, State
from app.portability.tables import import_parts, imports

_WAITING: Final = (State.RECEIVING, State.QUEUED, State.RUNNING)


async def create(tx: Transaction, import_id: UUID, agent: str | None, entry: AuditEntry) -> None:
    """Write an import that is still being received."""
    values = {
        "id": import_id,
        "state": State.RECEIVING,
        "agent": agent or "",
        "rights": [],
        "keeps_trust": False,
        "size_bytes": 0,
        "file": "",
        "line": 0,
        "counts": {},
        "omitted": 0,
        "created_at": datetime.now(UTC),
    }
    await tx.change(insert(imports).values(**tx.owner, **values), entry)


async def count_waiting(tx: Transaction) -> int:
    """Return how many imports of the user have something received that wasn't taken yet."""
    asked = (
        select(func.count()).select_from(imports).where(imports.c.usr == tx.scope.usr, imports.c.state.in_(_WAITING))
    )
    number: int = await tx.scalar(asked)
    return number


async def add_part(tx: Transaction, import_id: UUID, ordinal: int, body: bytes, entry: AuditEntry) -> None:
    """Write a part of what is received."""
    sealed = tx.box.seal(body, _part_place(import_id, ordinal))
    values = {"import_id": import_id, "ordinal": ordinal, "body_sealed": sealed}
    await tx.change(insert(import_parts).values(**tx.owner, **values), entry)


async def part(tx: Transaction, import_id: UUID, ordinal: int) -> bytes | None:
    """Return a part of what was received, None after the last."""
    asked = select(import_parts.c.body_sealed).filter_by(usr=tx.scope.usr, import_id=import_id, ordinal=ordinal)
    sealed = await tx.scalar(asked)
    return None if sealed is None else tx.box.open(sealed, _part_place(import_id, ordinal))


async def queue(
    tx: Transaction,
    import_id: UUID,
    source: Source | None,
    size_bytes: int,
    rights: Collection[str],
    entry: AuditEntry,
    *,
    keeps_trust: bool,
) -> bool:
    """Complete an import that was being received; return whether it still was."""
    queued = update(imports).filter_by(usr=tx.scope.usr, id=import_id, state=State.RECEIVING)
    values = {
        "state": State.QUEUED,
        "source": source,
        "size_bytes": size_bytes,
        "rights": sorted(rights),
        "keeps_trust": keeps_trust,
    }
    return (await tx.change(queued.values(values), entry)).rowcount == 1


async def find(tx: Transaction, import_id: UUID) -> Import | None:
    """Return an import, None where there is none: one being received isn't there yet."""
    asked = select(imports).filter_by(usr=tx.scope.usr, id=import_id).where(imports.c.state != State.RECEIVING)
    row = await tx.row(asked)
    return _read(row, tx.box) if row else None


async def hold(tx: Transaction, import_id: UUID) -> Import | None:
    """Return an import that nobody else takes any further until the transaction ends."""
    row = await tx.row(select(imports).filter_by(usr=tx.scope.usr, id=import_id).with_for_update())
    return _read(row, tx.box) if row else None


async def advance(tx: Transaction, import_id: UUID, place: model.Place, report: Report, entry: AuditEntry) -> None:
    """Write how far an import has come, and what became of the records so far."""
    values: dict[str, Any] = {"state": State.RUNNING, "file": place.file, "line": place.line}
    await tx.change(_of(tx, import_id).values(values | _reported(tx.box, import_id, report)), entry)


async def recognise(tx: Transaction, import_id: UUID, source: Source, entry: AuditEntry) -> None:
    """Write what an archive was found to come from."""
    await tx.change(_of(tx, import_id).values(source=source), entry)


async def finish(tx: Transaction, import_id: UUID, report: Report, failure: Failure | None, entry: AuditEntry) -> None:
    """Write that nothing more becomes of an import."""
    state = State.DONE if failure is None else State.FAILED
    values = {"state": state, "failure": failure, "finished_at": func.now(), **_reported(tx.box, import_id, report)}
    await tx.change(_of(tx, import_id).values(values), entry)


async def drop_parts(tx: Transaction, import_id: UUID, entry: AuditEntry) -> None:
    """Delete what was received."""
    await tx.change(delete(import_parts).filter_by(usr=tx.scope.usr, import_id=import_id), entry)


async def drop_received(tx: Transaction, import_id: UUID, entry: AuditEntry) -> None:
    """Delete an import that was never completely received, with what was."""
    received = delete(imports).filter_by(usr=tx.scope.usr, id=import_id, state=State.RECEIVING)
    await tx.change(received, entry)


def _of(tx: Transaction, import_id: UUID) -> Any:  # noqa: ANN401 - an update, to be given values
    return update(imports).filter_by(usr=tx.scope.usr, id=import_id)


def _reported(box: Box, import_id: UUID, report: Report) -> dict[str, Any]:  # Any: each column has a type of its own
    problems = [asdict(problem) for problem in report.problems]
    return {
        "counts": {name: dict(inner) for name, inner in report.counts.items()},
        "problems_sealed": box.seal_json(problems, _problems_place(import_id)) if problems else None,
        "omitted": report.omitted,
    }


def _read(row: Row[Any], box: Box) -> Import:
    problems = [] if row.problems_sealed is None else box.open_json(row.problems_sealed, _problems_place(row.id))
    told = [Problem(**each | {"verdict": Verdict(each["verdict"])}) for each in problems]
    return Import(
        id=row.id,
        state=State(row.state),
        source=None if row.source is None else Source(row.source),
        agent=row.agent or None,
        rights=frozenset(row.rights),
        keeps_trust=row.keeps_trust,
        size_bytes=row.size_bytes,
        place=model.Place(row.file, row.line),
        report=Report(row.counts, told, row.omitted),
        failure=None if row.failure is None else Failure(row.failure),
        created_at=row.created_at,
        finished_at=row.finished_at,
    )


def _part_place(import_id: UUID, ordinal: int) -> Place:
    return Place("import_parts", "body_sealed", row_key(import_id, ordinal))


def _problems_place(import_id: UUID) -> Place:
    return Place("imports", "problems_sealed", import_id)
