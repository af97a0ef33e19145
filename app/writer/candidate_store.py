"""Candidates in Postgres. Each function is one statement; what was inferred is sealed on its way in."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, Update, func, insert, select, update

from app.core.audit import AuditEntry
from app.core.evidence import Evidence, EvidenceKind
from app.core.portability import Made
from app.core.writing import Inferred, Waits
from app.infra.crypto.box import Box, Place
from app.infra.db.transaction import Transaction
from app.writer.candidate_model import MAX_EVIDENCE, Candidate, State
from app.writer.candidate_tags import DECIDED, key_tag, statement_tag
from app.writer.tables import candidates


async def find(tx: Transaction, candidate_id: UUID, waits: Waits) -> Candidate | None:
    """Return a candidate, a decided one too; None where there is none of that kind."""
    row = await tx.row(_all(tx).filter_by(id=candidate_id, waits=waits))
    return _read(row, tx.box) if row else None


async def find_waiting(tx: Transaction, waits: Waits, inferred: Inferred) -> Candidate | None:
    """Return the candidate that says the same, None where none waits."""
    tag = statement_tag(tx.box, waits, inferred.key, inferred.value)
    row = await tx.row(_all(tx).filter_by(state=State.WAITING, statement_tag=tag))
    return _read(row, tx.box) if row else None


async def page(tx: Transaction, waits: Waits, before: UUID | None, limit: int) -> Sequence[Candidate]:
    """Return those that wait, newest first, older than `before` where given."""
    asked = _all(tx).filter_by(state=State.WAITING, waits=waits)
    if before is not None:
        asked = asked.where(candidates.c.id < before)
    rows = await tx.rows(asked.order_by(candidates.c.id.desc()).limit(limit))
    return [_read(row, tx.box) for row in rows]


async def waiting(tx: Transaction) -> Sequence[Candidate]:
    """Return all that wait, oldest first: there are not more than a bounded number."""
    rows = await tx.rows(_all(tx).filter_by(state=State.WAITING).order_by(candidates.c.id))
    return [_read(row, tx.box) for row in rows]


async def next_candidates(tx: Transaction, after: UUID | None, limit: int) -> Sequence[Candidate]:
    """Return candidates, decided ones too, oldest first, newer than `after` where given."""
    asked = _all(tx).order_by(candidates.c.id).limit(limit)
    rows = await tx.rows(asked if after is None else asked.where(candidates.c.id > after))
    return [_read(row, tx.box) for row in rows]


async def count_waiting(tx: Transaction, waits: Waits) -> int:
    """Return how many of a kind wait."""
    asked = select(func.count()).select_from(candidates).filter_by(usr=tx.scope.usr, state=State.WAITING, waits=waits)
    number: int = await tx.scalar(asked)
    return number


async def create(
    tx: Transaction,
    candidate_id: UUID,
    waits: Waits,
    inferred: Inferred,
    entry: AuditEntry,
    evidence: Sequence[Evidence] = (),
    made: Made | None = None,
) -> None:
    """Let what was inferred wait: with what spoke for it before, and as it was made elsewhere, where it was."""
    key = inferred.key
    row = {
        "id": candidate_id,
        "waits": waits,
        "key_tag": key_tag(tx.box, waits, key),
        "key_sealed": None if key is None else tx.box.seal(key.encode(), _place(candidate_id, "key_sealed")),
        "statement_tag": statement_tag(tx.box, waits, key, inferred.value),
        "value_sealed": tx.box.seal_json(inferred.value, _place(candidate_id, "value_sealed")),
        "state": State.WAITING,
        "version": 1,
        "confidence": inferred.confidence,
        "evidence": _shown([*evidence, *([inferred.evidence] if inferred.evidence else [])][-MAX_EVIDENCE:]),
        "proposed_through": (made.through if made else tx.scope.agent) or "",
        "created_at": made.created_at if made else func.statement_timestamp(),
        "updated_at": made.at if made else func.statement_timestamp(),
    }
    await tx.change(insert(candidates).values(**tx.owner, **row), entry)


async def argue(
    tx: Transaction, candidate: Candidate, evidence: Sequence[Evidence], confidence: float, entry: AuditEntry
) -> None:
    """Write what speaks for a candidate, and how sure it is."""
    changed = update(candidates).filter_by(usr=tx.scope.usr, id=candidate.id)
    columns = {
        "evidence": _shown(evidence[-MAX_EVIDENCE:]),
        "confidence": confidence,
        "version": candidate.revision + 1,
        "updated_at": func.statement_timestamp(),
    }
    await tx.change(changed.values(**columns), entry)


async def decide(tx: Transaction, candidate_id: UUID, state: State, entry: AuditEntry) -> None:
    """Turn a candidate into the stub of a decision: what was inferred is taken out."""
    await tx.change(_decided(state).filter_by(usr=tx.scope.usr, id=candidate_id), entry)


async def fulfil(tx: Transaction, waits: Waits, key: str | None, value: object, entry: AuditEntry) -> Sequence[UUID]:
    """Turn the candidate that says what the user has said by now into a stub; return which it was."""
    said = statement_tag(tx.box, waits, key, value)
    fulfilled = _decided(State.APPLIED).filter_by(usr=tx.scope.usr, state=State.WAITING, statement_tag=said)
    return [row.id for row in await tx.change(fulfilled.returning(candidates.c.id), entry)]


async def withdraw(tx: Transaction, waits: Waits, key: str, entry: AuditEntry) -> Sequence[UUID]:
    """Turn every candidate that waits for a key into a stub; return which they were."""
    waiting_for = _decided(State.WITHDRAWN).filter_by(
        usr=tx.scope.usr, state=State.WAITING, key_tag=key_tag(tx.box, waits, key)
    )
    return [row.id for row in await tx.change(waiting_for.returning(candidates.c.id), entry)]


def _all(tx: Transaction) -> Select[Any]:  # Any: rows of candidates
    return select(candidates).filter_by(usr=tx.scope.usr)


def _decided(state: State) -> Update:
    # The tag goes too: it would tell whoever holds the user's keys whether a guess is right.
    return update(candidates).values(
        state=state,
        version=candidates.c.version + 1,
        statement_tag=DECIDED,
        value_sealed=None,
        evidence=[],
        updated_at=func.statement_timestamp(),
    )


def _shown(evidence: Sequence[Evidence]) -> list[dict[str, str]]:
    return [{"kind": each.kind, "id": each.id.hex} for each in evidence]


def _place(candidate_id: UUID, column: str) -> Place:
    return Place("candidates", column, candidate_id)


def _read(row: Row[Any], box: Box) -> Candidate:  # Any: rows of `_all`
    return Candidate(
        id=row.id,
        waits=Waits(row.waits),
        key=box.open(row.key_sealed, _place(row.id, "key_sealed")).decode() if row.key_sealed else None,
        value=box.open_json(row.value_sealed, _place(row.id, "value_sealed")) if row.value_sealed else None,
        state=State(row.state),
        confidence=row.confidence,
        evidence=[Evidence(EvidenceKind(each["kind"]), UUID(each["id"])) for each in row.evidence],
        proposed_through=row.proposed_through or None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.version,
    )
