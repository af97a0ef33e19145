"""Candidates in Postgres. Each function is one statement; what was inferred is sealed on its way in."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, Update, and_, func, insert, or_, select, update

from app.core.audit import AuditEntry
from app.core.evidence import Evidence, EvidenceKind
from app.core.portability import Made
from app.infra.crypto.box import Box, Place
from app.infra.db.transaction import Transaction
from app.preferences.judgement import MAX_EVIDENCE, Because, Candidate, Fate, Proposal
from app.preferences.tables import preference_candidates, preferences
from app.preferences.tags import ANY_VALUE, key_tag, value_tag


async def find(tx: Transaction, candidate_id: UUID) -> Candidate | None:
    """Return a candidate, a decided one too; None where there is none, or it is for another agent."""
    row = await tx.row(_shown(tx).where(preference_candidates.c.id == candidate_id))
    return _read(row, tx.box) if row else None


async def find_waiting(tx: Transaction, proposal: Proposal) -> Candidate | None:
    """Return the candidate that says what the proposal says, None where none waits."""
    same = _shown(tx).where(
        preference_candidates.c.state == Fate.WAITING,
        preference_candidates.c.key_tag == key_tag(tx.box, proposal.key),
        preference_candidates.c.agent == (proposal.agent or ""),
        preference_candidates.c.value_tag == value_tag(tx.box, proposal.value),
    )
    row = await tx.row(same)
    return _read(row, tx.box) if row else None


async def waiting_from(tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Candidate]:
    """Return the candidates that one of the messages speaks for, and that still wait, oldest first."""
    spoken = [
        preference_candidates.c.evidence.contains([{"kind": EvidenceKind.MESSAGE, "id": each.hex}])
        for each in message_ids
    ]
    asked = _shown(tx).where(preference_candidates.c.state == Fate.WAITING, or_(*spoken))
    return [_read(row, tx.box) for row in await tx.rows(asked.order_by(preference_candidates.c.id))]


async def page(tx: Transaction, before: UUID | None, limit: int) -> Sequence[Candidate]:
    """Return those that wait, newest first, older than `before` where given."""
    asked = _shown(tx).where(preference_candidates.c.state == Fate.WAITING)
    if before is not None:
        asked = asked.where(preference_candidates.c.id < before)
    rows = await tx.rows(asked.order_by(preference_candidates.c.id.desc()).limit(limit))
    return [_read(row, tx.box) for row in rows]


async def next_of_all_agents(tx: Transaction, after: UUID | None, limit: int) -> Sequence[Candidate]:
    """Return candidates of all agents, decided ones too, oldest first, after one where given."""
    asked = _with_replaced(tx).order_by(preference_candidates.c.id).limit(limit)
    if after is not None:
        asked = asked.where(preference_candidates.c.id > after)
    return [_read(row, tx.box) for row in await tx.rows(asked)]


async def count_waiting(tx: Transaction) -> int:
    """Return how many candidates of the user wait, those for other agents included."""
    waiting = select(func.count()).select_from(preference_candidates).filter_by(usr=tx.scope.usr, state=Fate.WAITING)
    number: int = await tx.scalar(waiting)
    return number


async def create(
    tx: Transaction,
    candidate_id: UUID,
    proposal: Proposal,
    because: Because,
    entry: AuditEntry,
    earlier: Sequence[Evidence] = (),
    made: Made | None = None,
) -> None:
    """Let a proposal wait. `made` where it comes from elsewhere, and `earlier` is what spoke for it there before."""
    row = {
        "id": candidate_id,
        "key_tag": key_tag(tx.box, proposal.key),
        "key_sealed": tx.box.seal(proposal.key.encode(), _place(candidate_id, "key_sealed")),
        "agent": proposal.agent or "",
        "value_tag": value_tag(tx.box, proposal.value),
        "value_sealed": tx.box.seal_json(proposal.value, _place(candidate_id, "value_sealed")),
        "state": Fate.WAITING,
        "version": 1,
        "confidence": proposal.confidence,
        "proposed_through": (made.through if made else tx.scope.agent) or "",
        "created_at": made.created_at if made else func.statement_timestamp(),
        **_argued(tx.box, candidate_id, proposal, because, earlier),
    }
    if made is not None:
        row["updated_at"] = made.at
    await tx.change(insert(preference_candidates).values(**tx.owner, **row), entry)


async def strengthen(
    tx: Transaction,
    candidate: Candidate,
    proposal: Proposal,
    because: Because,
    entry: AuditEntry,
) -> None:
    """Add to a candidate what a proposal of the same brings."""
    confidence = max(candidate.confidence, proposal.confidence)
    argued = _argued(tx.box, candidate.id, proposal, because, candidate.evidence)
    changed = update(preference_candidates).filter_by(usr=tx.scope.usr, id=candidate.id)
    await tx.change(changed.values(version=candidate.revision + 1, confidence=confidence, **argued), entry)


async def decide(tx: Transaction, candidate_id: UUID, fate: Fate, entry: AuditEntry) -> None:
    """Turn a candidate into the stub of a decision: what was inferred is taken out."""
    await tx.change(_decided(fate).filter_by(usr=tx.scope.usr, id=candidate_id), entry)


async def fulfil(tx: Transaction, key: str, agent: str | None, value: object, entry: AuditEntry) -> Sequence[UUID]:
    """Turn the candidate into a stub that says what is in force now; return which it was, if there was one."""
    waiting = _decided(Fate.APPLIED).filter_by(usr=tx.scope.usr, agent=agent or "", state=Fate.WAITING)
    fulfilled = waiting.where(
        preference_candidates.c.key_tag == key_tag(tx.box, key),
        preference_candidates.c.value_tag == value_tag(tx.box, value),
    )
    return [row.id for row in await tx.change(fulfilled.returning(preference_candidates.c.id), entry)]


async def withdraw(tx: Transaction, key: str, agent: str | None, entry: AuditEntry) -> Sequence[UUID]:
    """Turn every candidate that waits for a preference into a stub; return which they were."""
    waiting = _decided(Fate.WITHDRAWN).filter_by(usr=tx.scope.usr, agent=agent or "", state=Fate.WAITING)
    withdrawn = waiting.where(preference_candidates.c.key_tag == key_tag(tx.box, key))
    return [row.id for row in await tx.change(withdrawn.returning(preference_candidates.c.id), entry)]


def _shown(tx: Transaction) -> Select[Any]:  # Any: as `_with_replaced`
    return _with_replaced(tx).where(preference_candidates.c.agent.in_(["", tx.scope.agent or ""]))


def _with_replaced(tx: Transaction) -> Select[Any]:
    # Any: rows of candidates, and the version of what each would replace
    replaced = and_(
        preferences.c.usr == preference_candidates.c.usr,
        preferences.c.key_tag == preference_candidates.c.key_tag,
        preferences.c.agent == preference_candidates.c.agent,
    )
    return (
        select(preference_candidates, func.coalesce(preferences.c.version, 0).label("preference_version"))
        .join_from(preference_candidates, preferences, replaced, isouter=True)
        .where(preference_candidates.c.usr == tx.scope.usr)
    )


def _argued(
    box: Box,
    candidate_id: UUID,
    proposal: Proposal,
    because: Because,
    evidence: Sequence[Evidence],
) -> dict[str, Any]:  # Any: each column has a type of its own
    """Return the columns that a proposal brings to a new candidate, or to one that says the same."""
    brought = [proposal.evidence] if proposal.evidence is not None and proposal.evidence not in evidence else []
    columns: dict[str, Any] = {
        "because": because,
        "evidence": [{"kind": each.kind, "id": each.id.hex} for each in [*evidence, *brought][-MAX_EVIDENCE:]],
        "updated_at": func.statement_timestamp(),
    }
    if proposal.reason is not None:
        columns["reason_sealed"] = box.seal(proposal.reason.encode(), _place(candidate_id, "reason_sealed"))
    return columns


def _decided(fate: Fate) -> Update:
    # The tag of the value goes too: it would tell whoever holds the user's keys whether a guess is right.
    return update(preference_candidates).values(
        state=fate,
        version=preference_candidates.c.version + 1,
        value_tag=ANY_VALUE,
        value_sealed=None,
        reason_sealed=None,
        evidence=[],
        updated_at=func.statement_timestamp(),
    )


def _place(candidate_id: UUID, column: str) -> Place:
    return Place("preference_candidates", column, candidate_id)


def _read(row: Row[Any], box: Box) -> Candidate:  # Any: rows of `_shown`
    value = box.open_json(row.value_sealed, _place(row.id, "value_sealed")) if row.value_sealed else None
    reason = box.open(row.reason_sealed, _place(row.id, "reason_sealed")).decode() if row.reason_sealed else None
    return Candidate(
        id=row.id,
        key=box.open(row.key_sealed, _place(row.id, "key_sealed")).decode(),
        agent=row.agent or None,
        state=Fate(row.state),
        value=value,
        reason=reason,
        confidence=row.confidence,
        evidence=[Evidence(EvidenceKind(each["kind"]), UUID(each["id"])) for each in row.evidence],
        because=Because(row.because),
        proposed_through=row.proposed_through or None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.version,
        preference_version=row.preference_version,
    )
