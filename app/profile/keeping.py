"""What users state in messages about who they are."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.text.sensitive import category
from app.core.versions import Exactly
from app.core.writing import OTHER, PROFILE_KEYS, Fate, Finding, Kind, Right, Trust, is_newer
from app.infra.db.transaction import Transaction
from app.profile import store
from app.profile.model import ATTRIBUTES, EMPTY, FIELDS, Facts, Origin, Why, patched
from app.profile.service import perform

# Says whether the tenant's catalogue has a key as sensitive: then what the user says of it is kept.
AllowsSensitive = Callable[[Transaction, str], Awaitable[bool]]
# Of these there may be several.
_LISTS: Final = frozenset({"allergy"})


class ProfileKeeper:
    """Keeps what users say of who they are. A Keeper of app.core.writing.

    Nothing is inferred into a profile: what isn't plainly said is told and not written.
    """

    right = Right.PROFILE

    def __init__(self, allows_sensitive: AllowsSensitive) -> None:
        """Take what knows the tenant's sensitive keys."""
        self._allows_sensitive = allows_sensitive

    def takes(self, finding: Finding) -> bool:
        """Say whether it is a field or an attribute of the profile, or takes one back."""
        return finding.kind in {Kind.PROFILE, Kind.WITHDRAW} and finding.key != OTHER and finding.key in PROFILE_KEYS

    async def keep(self, tx: Transaction, finding: Finding, evidence: Evidence, at: datetime) -> Fate | None:
        """Write a version of the profile. Raises `sensitive_category`, and `invalid` for too large a profile."""
        key = str(finding.key)
        if category(finding.value, named=key) is not None and not await self._allows_sensitive(tx, key):
            if finding.trust is Trust.INFERRED:
                return None
            raise AppError("sensitive_category")
        if finding.trust is Trust.INFERRED:
            return Fate.CANDIDATE
        current = await store.find(tx) or EMPTY
        facts = patched(current.facts, _patch(current.facts, finding))
        if facts == current.facts:
            return Fate.APPLIED
        if is_newer(current.why.evidence, current.updated_at, evidence, at):
            return None  # what was said since holds
        entry = AuditEntry("extract", "profile", tx.scope.usr)
        why = Why(Origin.STATEMENT, evidence=evidence)
        await perform(tx, current, facts, why, Exactly(frozenset({current.version})), entry)
        return Fate.APPLIED


def _patch(facts: Facts, finding: Finding) -> Mapping[str, Any]:  # Any: each field has a type of its own
    key = str(finding.key)
    if key in FIELDS:
        return {key: None if finding.kind is Kind.WITHDRAW else finding.value}
    value = finding.value
    if key in _LISTS:
        value = _listed(facts.attributes.get(key), finding)
    elif finding.kind is Kind.WITHDRAW:
        value = None
    return {ATTRIBUTES: {key: value}}


def _listed(known: object, finding: Finding) -> list[object] | None:
    before = known if isinstance(known, list) else [known] if known else []
    if finding.kind is Kind.WITHDRAW:
        return [each for each in before if finding.value is not None and each != finding.value] or None
    return before if finding.value in before else [*before, finding.value]
