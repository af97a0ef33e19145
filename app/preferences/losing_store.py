"""What inferences of preferences rest on, in Postgres, those of all agents. Each function is one statement."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, func, or_, select, tuple_, update

from app.core.audit import AuditEntry
from app.core.evidence import Evidence, EvidenceKind
from app.infra.db.transaction import Transaction
from app.preferences.judgement import Fate
from app.preferences.model import Preference, State, Trust
from app.preferences.store import CURRENT, read
from app.preferences.tables import preference_candidates, preference_evidence, preference_versions, preferences
from app.preferences.tags import evidence_tag, key_tag, value_tag


async def waiting(tx: Transaction) -> Sequence[Row[Any]]:
    """Return id, version and evidence of all candidates that wait: there are not more than a bounded number."""
    columns = (preference_candidates.c[name] for name in ("id", "version", "evidence"))
    return await tx.rows(select(*columns).filter_by(usr=tx.scope.usr, state=Fate.WAITING))


async def argue(tx: Transaction, row: Row[Any], evidence: Sequence[dict[str, str]], entry: AuditEntry) -> None:
    """Leave a candidate less that speaks for it. `row` is one of `waiting`."""
    left = update(preference_candidates).filter_by(usr=tx.scope.usr, id=row.id)
    columns = {"evidence": evidence, "version": row.version + 1, "updated_at": func.statement_timestamp()}
    await tx.change(left.values(**columns), entry)


async def forget(tx: Transaction, evidence: Collection[Evidence], entry: AuditEntry) -> Sequence[Row[Any]]:
    """Forget that these spoke for statements; return which: tag of the key, agent. What was refused stays so."""
    tags = [evidence_tag(tx.box, each) for each in evidence]
    gone = delete(preference_evidence).filter_by(usr=tx.scope.usr, refused=False)
    spoken = gone.where(preference_evidence.c.evidence_tag.in_(tags))
    columns = (preference_evidence.c.key_tag, preference_evidence.c.agent)
    return (await tx.change(spoken.returning(*columns), entry)).all()


async def inferred(
    tx: Transaction, messages: Collection[UUID], spoken_for: Collection[tuple[bytes, str]]
) -> Sequence[Preference]:
    """Return the inferred values in force that one of the messages shows, or that were spoken for."""
    shown = preferences.c.evidence_id.in_(messages)
    asked = select(*CURRENT).filter_by(usr=tx.scope.usr, state=State.KEPT, trust=Trust.INFERRED)
    asked = asked.where(preferences.c.evidence_kind == EvidenceKind.MESSAGE)
    named = tuple_(preferences.c.key_tag, preferences.c.agent).in_(list(spoken_for)) if spoken_for else shown
    rows = await tx.rows(asked.where(or_(shown, named)).order_by(preferences.c.id))
    return [read(row, tx.box) for row in rows]


async def is_spoken_for(tx: Transaction, preference: Preference) -> bool:
    """Say whether anything is left that speaks for a value in force."""
    asked = select(preference_evidence.c.refused).filter_by(
        usr=tx.scope.usr,
        key_tag=key_tag(tx.box, preference.key),
        agent=preference.agent or "",
        value_tag=value_tag(tx.box, preference.version.content.value),
        refused=False,
    )
    return await tx.row(asked.limit(1)) is not None


async def erase_inferred(tx: Transaction, preference_id: UUID, messages: Collection[UUID], entry: AuditEntry) -> None:
    """Take the value out of the versions that were inferred from these messages, and the reason, which may quote it."""
    of_it = update(preference_versions).filter_by(
        usr=tx.scope.usr, preference_id=preference_id, trust=Trust.INFERRED, state=State.KEPT
    )
    shown = of_it.where(preference_versions.c.evidence_id.in_(messages))
    await tx.change(
        shown.values(state=State.ERASED, value_sealed=None, value_plain=None, reason_sealed=None),
        entry,
    )
