"""What the user has rejected and retracted, in Postgres: keyed tags of what spoke for it, and nothing that was said.

A rejection is of one value: the tag of the value stays with those of its evidence. A retraction is of a key: the tags
of its evidence stay without those of values, for what was deleted is to leave nothing behind.
"""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, select
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.core.evidence import Evidence
from app.infra.db.transaction import Transaction
from app.preferences.judgement import Proposal, Remembered
from app.preferences.tables import preference_evidence
from app.preferences.tags import ANY_VALUE, NO_EVIDENCE, evidence_tag, key_tag, value_tag

_KEY = ("usr", "key_tag", "agent", "value_tag", "evidence_tag")


async def remembered(tx: Transaction, proposal: Proposal) -> Remembered:
    """Return what the user has refused of a proposal: for every agent, or for the caller's own."""
    tag = evidence_tag(tx.box, proposal.evidence)
    asked = select(preference_evidence.c.evidence_tag).where(
        preference_evidence.c.usr == tx.scope.usr,
        preference_evidence.c.key_tag == key_tag(tx.box, proposal.key),
        preference_evidence.c.agent.in_(["", tx.scope.agent or ""]),
        preference_evidence.c.value_tag.in_([ANY_VALUE, value_tag(tx.box, proposal.value)]),
        preference_evidence.c.evidence_tag.in_([NO_EVIDENCE, tag]),
        preference_evidence.c.refused,
    )
    found = {row.evidence_tag for row in await tx.rows(asked)}
    return Remembered(evidence=tag != NO_EVIDENCE and tag in found, statement=NO_EVIDENCE in found)


async def note(tx: Transaction, proposal: Proposal, entry: AuditEntry) -> None:
    """Remember the evidence of a proposal, in case that what it says is refused later."""
    if proposal.evidence is None:
        return
    value = value_tag(tx.box, proposal.value)
    row = _row(tx, proposal.key, proposal.agent, value) | {"evidence_tag": evidence_tag(tx.box, proposal.evidence)}
    await tx.change(_insert().values(**row, refused=False).on_conflict_do_nothing(), entry)


async def reject(tx: Transaction, key: str, agent: str | None, value: object, entry: AuditEntry) -> None:
    """Remember that the user said no to a value, on everything that spoke for it."""
    row = _row(tx, key, agent, value_tag(tx.box, value))
    spoken = await tx.rows(select(preference_evidence.c.evidence_tag).where(_of(row)))
    tags = {NO_EVIDENCE, *(each.evidence_tag for each in spoken)}
    await _refuse(tx, row, tags, entry)


async def retract(
    tx: Transaction,
    key: str,
    agent: str | None,
    rested_on: Sequence[Evidence],
    entry: AuditEntry,
) -> None:
    """Remember that the user took back what was known of a key, on everything that spoke for any value of it."""
    row = _row(tx, key, agent, ANY_VALUE)
    of_key = and_(
        preference_evidence.c.usr == tx.scope.usr,
        preference_evidence.c.key_tag == row["key_tag"],
        preference_evidence.c.agent == row["agent"],
        ~preference_evidence.c.refused,
    )
    forgotten = await tx.change(delete(preference_evidence).where(of_key).returning(preference_evidence), entry)
    tags = {each.evidence_tag for each in forgotten} | {evidence_tag(tx.box, each) for each in rested_on}
    if tags:
        await _refuse(tx, row, tags, entry)


async def _refuse(tx: Transaction, row: dict[str, Any], tags: Collection[bytes], entry: AuditEntry) -> None:
    marked = _insert().on_conflict_do_update(index_elements=_KEY, set_={"refused": True})
    await tx.change(marked, entry, [{**row, "evidence_tag": tag, "refused": True} for tag in sorted(tags)])


def _insert() -> Insert:
    return upsert(preference_evidence)


def _row(tx: Transaction, key: str, agent: str | None, value: bytes) -> dict[str, Any]:  # Any: types of columns
    return {**tx.owner, "key_tag": key_tag(tx.box, key), "agent": agent or "", "value_tag": value}


def _of(row: dict[str, Any]) -> ColumnElement[bool]:
    return and_(*(preference_evidence.c[name] == row[name] for name in ("usr", "key_tag", "agent", "value_tag")))
