"""What users state in messages about how they want to be answered, and what can be concluded from them."""

from datetime import datetime
from typing import Final

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.ids import uuid7
from app.core.writing import OTHER, PROFILE_KEYS, Fate, Finding, Kind, Right, Trust, Waits, is_newer
from app.infra.db.transaction import Transaction
from app.preferences import refusal_store, store
from app.preferences.catalogue.store import rules as catalogue_rules
from app.preferences.judgement import APPLIED, Proposal
from app.preferences.model import DELETION, Preference, Statement, canonical
from app.preferences.model import Trust as Known
from app.preferences.proposals import weigh
from app.preferences.retraction import retract
from app.preferences.writing import Change, apply, require_room

# Each statement adds to what was said before.
_ADDING: Final = frozenset({"forbidden_words"})


class PreferenceKeeper:
    """Keeps preferences that were found in messages. A Keeper of app.core.writing.

    What the user plainly said is written as a statement of theirs, for every agent; what is concluded takes the way of
    any proposal. A withdrawal ends the preference and keeps its versions: who was misread can roll it back.
    """

    right = Right.PREFERENCES
    waits: Waits | None = None  # among the candidates of preferences

    def takes(self, finding: Finding) -> bool:
        """Say whether it is a preference with a key, or takes one back."""
        if finding.kind is Kind.WITHDRAW:
            return finding.key not in PROFILE_KEYS and finding.key != OTHER
        return finding.kind is Kind.PREFERENCE and finding.key != OTHER

    async def keep(self, tx: Transaction, finding: Finding, evidence: Evidence, at: datetime) -> Fate | None:
        """Write, propose or end a preference. Raises what the catalogue, a quota or a refusal of the user's says."""
        key = str(finding.key)
        current = await store.find(tx, key, None)
        version = current.version if current is not None else None
        if version is not None and is_newer(version.content.evidence, version.written_at, evidence, at):
            return None  # what was said since holds
        if finding.kind is Kind.WITHDRAW:
            return await _end(tx, current)
        proposal = Proposal(key, _value(finding, current), finding.confidence, evidence=evidence)
        if finding.trust is Trust.EXPLICIT and not (await catalogue_rules(tx, [key])).is_commitment(key):
            return await _state(tx, proposal, current)
        outcome = await weigh(tx, proposal)
        return Fate.APPLIED if outcome.because in APPLIED else Fate.CANDIDATE


async def _state(tx: Transaction, proposal: Proposal, current: Preference | None) -> Fate:
    rules = await catalogue_rules(tx, [proposal.key])
    rules.require_said(proposal.key, proposal.value)
    if (await refusal_store.remembered(tx, proposal)).evidence:
        raise AppError("already_rejected")
    if current is not None and _says(current, proposal):
        return Fate.APPLIED
    await require_room(tx, int(current is None))
    statement = Statement(proposal.key, proposal.value, proposal.evidence)
    base = current.version.number if current else None
    plain_key = rules.plain_key(proposal.key)
    change = Change(current.id if current else uuid7(), proposal.key, base, statement.content(), plain_key)
    entry = AuditEntry("extract", "preference", change.id)
    if await apply(tx, change, None, await tx.next_change(entry), entry) is None:
        raise RuntimeError("a preference changed while its user's changes were held")
    return Fate.APPLIED


async def _end(tx: Transaction, current: Preference | None) -> Fate:
    if current is None or current.is_deleted:
        return Fate.APPLIED
    entry = AuditEntry("withdraw", "preference", current.id)
    change = Change(current.id, current.key, current.version.number, DELETION)
    stub = await apply(tx, change, None, await tx.next_change(entry), entry)
    if stub is None:
        raise RuntimeError("a preference changed while its user's changes were held")
    await tx.forget_answers(stub.id, entry)
    await retract(tx, stub, entry)
    return Fate.APPLIED


def _says(current: Preference, proposal: Proposal) -> bool:
    content = current.version.content
    is_stated = not current.is_deleted and content.trust is not Known.INFERRED
    return is_stated and canonical(content.value) == canonical(proposal.value)


def _value(finding: Finding, current: Preference | None) -> object:
    if finding.key not in _ADDING or current is None or current.is_deleted:
        return finding.value
    known, said = current.version.content.value, finding.value
    if not (isinstance(known, list) and isinstance(said, list)):
        return said
    return [*known, *(each for each in said if each not in known)]
