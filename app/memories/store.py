"""Facts in Postgres. Each function is one statement; what a caller wrote is sealed on its way in."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Insert, Row, Update, and_, func, insert, literal, or_, select, true, tuple_, update
from sqlalchemy.dialects.postgresql import distinct_on

from app.core.audit import AuditEntry
from app.core.evidence import Evidence, EvidenceKind
from app.core.portability import Made
from app.core.scope import Actor
from app.infra.crypto.box import Box, Place, row_key
from app.infra.db.adopting import authored
from app.infra.db.snapshots import made_at
from app.infra.db.transaction import Transaction
from app.memories.model import Content, Memory, Origin, State, Trust, Version
from app.memories.tables import VERSION_COLUMNS, memories, memory_versions

_HEAD = (memories.c.id, memories.c.indexed_as, memories.c.created_at)
_CURRENT = tuple(memories.c[name] for name in VERSION_COLUMNS)
_VERSION = tuple(memory_versions.c[name] for name in VERSION_COLUMNS)
_IS_OF_IT = and_(memory_versions.c.usr == memories.c.usr, memory_versions.c.memory_id == memories.c.id)


async def find(tx: Transaction, memory_id: UUID) -> Memory | None:
    """Return one fact as it is now, a stub too; None where there never was one."""
    row = await tx.row(select(*_HEAD, *_CURRENT).filter_by(usr=tx.scope.usr, id=memory_id))
    return _read(row, tx.box) if row else None


async def find_any(tx: Transaction, ids: Sequence[UUID]) -> Memory | None:
    """Return the fact that has one of the ids, a stub too; None where none has."""
    rows = await tx.rows(select(*_HEAD, *_CURRENT).filter_by(usr=tx.scope.usr).where(memories.c.id.in_(ids)))
    return _read(rows[0], tx.box) if rows else None


async def find_version(tx: Transaction, memory_id: UUID, number: int) -> Version | None:
    """Return one version of a fact, None where there is none of that number."""
    row = await tx.row(select(*_VERSION).filter_by(usr=tx.scope.usr, memory_id=memory_id, version=number))
    return _read_version(row, tx.box, memory_id) if row else None


async def versions_from(tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Row[Any]]:
    """Return fact, version, trust and message of each version that came of one of the messages."""
    columns = ("memory_id", "version", "trust", "evidence_id")
    asked = select(*(memory_versions.c[name] for name in columns)).filter_by(
        usr=tx.scope.usr, evidence_kind=EvidenceKind.MESSAGE
    )
    asked = asked.where(memory_versions.c.evidence_id.in_(message_ids))
    return await tx.rows(asked.order_by(memory_versions.c.change_number, memory_versions.c.memory_id))


async def inferred_from(tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Memory]:
    """Return the facts that were inferred from one of the messages and are there."""
    asked = select(*_HEAD, *_CURRENT).filter_by(
        usr=tx.scope.usr, state=State.KEPT, trust=Trust.INFERRED, evidence_kind=EvidenceKind.MESSAGE
    )
    rows = await tx.rows(asked.where(memories.c.evidence_id.in_(message_ids)).order_by(memories.c.id))
    return [_read(row, tx.box) for row in rows]


async def find_at(tx: Transaction, memory_id: UUID, number: int) -> Memory | None:
    """Return one fact as it was after the user's change of that number, None where there was none yet."""
    asked = (
        select(*_HEAD, *_VERSION)
        .join_from(memories, memory_versions, _IS_OF_IT)
        .where(memories.c.usr == tx.scope.usr, memories.c.id == memory_id, memory_versions.c.change_number <= number)
        .order_by(memory_versions.c.version.desc())
        .limit(1)
    )
    row = await tx.row(asked)
    return _read(row, tx.box) if row else None


async def find_indexed(tx: Transaction, items: Sequence[UUID]) -> Sequence[Memory]:
    """Return the facts that the index knows by these names; one that was changed since isn't among them."""
    asked = select(*_HEAD, *_CURRENT).filter_by(usr=tx.scope.usr).where(memories.c.indexed_as.in_(items))
    return [_read(row, tx.box) for row in await tx.rows(asked)]


async def find_indexed_at(tx: Transaction, items: Sequence[UUID], number: int) -> Sequence[Memory]:
    """Return the same facts as they were after the user's change of that number; those of later aren't among them."""
    then = (
        select(*_HEAD, *_VERSION)
        .ext(distinct_on(memories.c.id))
        .join_from(memories, memory_versions, _IS_OF_IT)
        .where(memories.c.usr == tx.scope.usr, memories.c.indexed_as.in_(items))
        .where(memory_versions.c.change_number <= number)
        .order_by(memories.c.id, memory_versions.c.version.desc())
    )
    return [_read(row, tx.box) for row in await tx.rows(then)]


async def page(tx: Transaction, before: UUID | None, limit: int, now: datetime) -> Sequence[Memory]:
    """Return the facts that are there, the newest first, those added before the fact `before` where given."""
    asked = (
        select(*_HEAD, *_CURRENT)
        .filter_by(usr=tx.scope.usr, state=State.KEPT)
        .where(or_(memories.c.expires_at.is_(None), memories.c.expires_at > now))
        .order_by(memories.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        asked = asked.where(memories.c.id < before)
    return [_read(row, tx.box) for row in await tx.rows(asked)]


async def count(tx: Transaction) -> int:
    """Return how many facts the user has; stubs don't count."""
    number: int = await tx.scalar(
        select(func.count()).select_from(memories).filter_by(usr=tx.scope.usr, state=State.KEPT),
    )
    return number


async def page_versions(tx: Transaction, memory_id: UUID, before: int | None, limit: int) -> Sequence[Version]:
    """Return versions of a fact, newest first, older than `before` where given."""
    asked = select(*_VERSION).filter_by(usr=tx.scope.usr, memory_id=memory_id)
    if before is not None:
        asked = asked.where(memory_versions.c.version < before)
    rows = await tx.rows(asked.order_by(memory_versions.c.version.desc()).limit(limit))
    return [_read_version(row, tx.box, memory_id) for row in rows]


async def next_versions(tx: Transaction, after: tuple[UUID, int] | None, limit: int) -> Sequence[Memory]:
    """Return versions of all facts, those of one together, after one where given."""
    place = (memory_versions.c.memory_id, memory_versions.c.version)
    asked = select(*_HEAD, *_VERSION).join_from(memories, memory_versions, _IS_OF_IT)
    asked = asked.where(memory_versions.c.usr == tx.scope.usr).order_by(*place).limit(limit)
    if after is not None:
        asked = asked.where(tuple_(*place) > after)
    return [_read(row, tx.box) for row in await tx.rows(asked)]


async def create(
    tx: Transaction,
    memory_id: UUID,
    indexed_as: UUID,
    content: Content,
    change_number: int,
    entry: AuditEntry,
    made: Made | None = None,
) -> Memory | None:
    """Write a fact's first version. `made` where it comes from elsewhere."""
    head = insert(memories).values(
        **tx.owner,
        id=memory_id,
        indexed_as=indexed_as,
        created_at=made.created_at if made else made_at(tx.scope, change_number),
        **_written(tx, memory_id, 1, content, change_number, made),
    )
    return await _record(tx, head, entry)


async def replace(
    tx: Transaction,
    memory: Memory,
    indexed_as: UUID,
    content: Content,
    change_number: int,
    entry: AuditEntry,
    made: Made | None = None,
) -> Memory | None:
    """Write the version after that of `memory`; None where it isn't the current one any more."""
    base = memory.version.number
    head = (
        update(memories)
        .filter_by(usr=tx.scope.usr, id=memory.id, version=base)
        .values(indexed_as=indexed_as, **_written(tx, memory.id, base + 1, content, change_number, made))
    )
    return await _record(tx, head, entry)


async def erase_texts(tx: Transaction, memory_id: UUID, before: int, entry: AuditEntry) -> None:
    """Take text and metadata out of every version older than `before`."""
    await tx.change(
        update(memory_versions)
        .filter_by(usr=tx.scope.usr, memory_id=memory_id, state=State.KEPT)
        .where(memory_versions.c.version < before)
        .values(state=State.ERASED, text_sealed=None, metadata_sealed=None),
        entry,
    )


async def _record(tx: Transaction, head: Insert | Update, entry: AuditEntry) -> Memory | None:
    """Write a fact's row and, in the same statement, copy it to the versions: they can't differ."""
    made = head.returning(memories.c.tenant, memories.c.usr, *_HEAD, *_CURRENT).cte("made")
    copied = insert(memory_versions).from_select(
        ["tenant", "usr", "memory_id", *VERSION_COLUMNS],
        select(made.c.tenant, made.c.usr, made.c.id, *(made.c[name] for name in VERSION_COLUMNS)),
    )
    kept = copied.returning(literal(1)).cte("kept")
    row = (await tx.change(select(made).join_from(made, kept, true()), entry)).one_or_none()
    return _read(row, tx.box) if row else None


def _written(
    tx: Transaction,
    memory_id: UUID,
    version: int,
    content: Content,
    change_number: int,
    made: Made | None,
) -> dict[str, Any]:  # Any: each column has a type of its own
    row = row_key(memory_id, version)
    text, metadata = content.text, content.metadata
    return {
        "version": version,
        "change_number": change_number,
        "state": content.state,
        "text_sealed": None if text is None else tx.box.seal(text.encode(), Place("memories", "text_sealed", row)),
        "metadata_sealed": (
            tx.box.seal_json(dict(metadata), Place("memories", "metadata_sealed", row)) if metadata else None
        ),
        "trust": content.trust,
        "source": content.source,
        "confidence": content.confidence,
        "evidence_kind": content.evidence.kind if content.evidence else None,
        "evidence_id": content.evidence.id if content.evidence else None,
        "expires_at": content.expires_at,
        **authored(tx, change_number, made),
    }


def _read(row: Row[Any], box: Box) -> Memory:
    return Memory(
        id=row.id,
        indexed_as=row.indexed_as,
        created_at=row.created_at,
        version=_read_version(row, box, row.id),
    )


def _read_version(row: Row[Any], box: Box, memory_id: UUID) -> Version:
    # A row of versions is a copy of its fact's row: what is sealed there opens here.
    place = row_key(memory_id, row.version)
    text = box.open(row.text_sealed, Place("memories", "text_sealed", place)).decode() if row.text_sealed else None
    metadata = (
        box.open_json(row.metadata_sealed, Place("memories", "metadata_sealed", place)) if row.metadata_sealed else {}
    )
    return Version(
        number=row.version,
        content=Content(
            state=State(row.state),
            text=text,
            trust=Trust(row.trust),
            source=Origin(row.source),
            confidence=row.confidence,
            evidence=Evidence(EvidenceKind(row.evidence_kind), row.evidence_id) if row.evidence_kind else None,
            metadata=metadata,
            expires_at=row.expires_at,
        ),
        change_number=row.change_number,
        written_by=Actor(row.written_by),
        written_through=row.written_through or None,
        written_at=row.written_at,
    )
