"""What the user has rejected, in Postgres: keyed tags of what spoke for it, and nothing that was said."""

from collections.abc import Collection

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.core.evidence import Evidence
from app.core.writing import Inferred, Waits
from app.infra.db.transaction import Transaction
from app.writer.candidate_tags import NO_EVIDENCE, evidence_tag, statement_tag
from app.writer.tables import candidate_evidence


async def is_refused(tx: Transaction, waits: Waits, inferred: Inferred) -> bool:
    """Say whether the user has rejected a statement on this evidence; on none, whether they have at all."""
    asked = select(candidate_evidence.c.refused).filter_by(
        usr=tx.scope.usr,
        statement_tag=statement_tag(tx.box, waits, inferred.key, inferred.value),
        evidence_tag=evidence_tag(tx.box, inferred.evidence),
        refused=True,
    )
    return await tx.row(asked) is not None


async def note(tx: Transaction, waits: Waits, inferred: Inferred, entry: AuditEntry) -> None:
    """Remember what spoke for a statement, in case that it is rejected later."""
    row = {
        **tx.owner,
        "statement_tag": statement_tag(tx.box, waits, inferred.key, inferred.value),
        "evidence_tag": evidence_tag(tx.box, inferred.evidence),
        "refused": False,
    }
    await tx.change(upsert(candidate_evidence).values(row).on_conflict_do_nothing(), entry)


async def reject(tx: Transaction, waits: Waits, inferred: Inferred, entry: AuditEntry) -> None:
    """Remember that the user said no to a statement, on everything that spoke for it and on nothing."""
    of_it = {
        "usr": tx.scope.usr,
        "statement_tag": statement_tag(tx.box, waits, inferred.key, inferred.value),
    }
    spoken = await tx.rows(select(candidate_evidence.c.evidence_tag).filter_by(**of_it))
    tags = sorted({NO_EVIDENCE, *(each.evidence_tag for each in spoken)})
    refused = upsert(candidate_evidence).on_conflict_do_update(
        index_elements=["usr", "statement_tag", "evidence_tag"], set_={"refused": True}
    )
    await tx.change(refused, entry, [{**tx.owner, **of_it, "evidence_tag": tag, "refused": True} for tag in tags])


async def forget(tx: Transaction, evidence: Collection[Evidence], entry: AuditEntry) -> None:
    """Forget what spoke for statements and is deleted; what was rejected stays so."""
    tags = [evidence_tag(tx.box, each) for each in evidence]
    gone = delete(candidate_evidence).filter_by(usr=tx.scope.usr, refused=False)
    await tx.change(gone.where(candidate_evidence.c.evidence_tag.in_(tags)), entry)
