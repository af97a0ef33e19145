"""What users state in messages about who they are."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.ids import show
from app.core.text.sensitive import category
from app.core.versions import Exactly
from app.core.writing import OTHER, PROFILE_KEYS, Became, Fate, Finding, Inferred, Kind, Right, Waits, is_newer
from app.infra.db.transaction import Transaction
from app.profile import store
from app.profile.model import ATTRIBUTES, EMPTY, FIELDS, Facts, Origin, Profile, Why, patched
from app.profile.service import perform

# Says whether the tenant's catalogue has a key as sensitive: then what the user says of it is kept.
AllowsSensitive = Callable[[Transaction, str], Awaitable[bool]]
# Of these there may be several.
_LISTS: Final = frozenset({"allergy"})


class ProfileKeeper:
    """Keeps what users say of who they are. A Keeper and an Accepting of app.core.writing.

    Nothing is inferred into a profile: what isn't plainly said waits for the user.
    """

    right = Right.PROFILE
    waits: Waits | None = Waits.PROFILE

    def __init__(self, allows_sensitive: AllowsSensitive) -> None:
        """Take what knows the tenant's sensitive keys."""
        self._allows_sensitive = allows_sensitive

    def takes(self, finding: Finding) -> bool:
        """Say whether it is a field or an attribute of the profile, or takes one back."""
        return finding.kind in {Kind.PROFILE, Kind.WITHDRAW} and finding.key != OTHER and finding.key in PROFILE_KEYS

    async def keep(self, tx: Transaction, finding: Finding, evidence: Evidence, at: datetime) -> Fate | None:
        """Write a version of the profile. Raises `sensitive_category`, and `invalid` for too large a profile."""
        await self._require_allowed(tx, str(finding.key), finding.value)
        current = await store.find(tx) or EMPTY
        is_gone = finding.kind is Kind.WITHDRAW
        facts = patched(current.facts, _patch(current.facts, str(finding.key), finding.value, is_gone=is_gone))
        if facts == current.facts:
            return Fate.APPLIED
        if is_newer(current.why.evidence, current.updated_at, evidence, at):
            return None  # what was said since holds
        await _write(tx, current, facts, Why(Origin.STATEMENT, evidence=evidence), "extract")
        return Fate.APPLIED

    async def knows(self, tx: Transaction, inferred: Inferred) -> bool:
        """Say whether the profile says it already. Raises `sensitive_category`, whatever the catalogue allows."""
        if category(inferred.value, named=str(inferred.key)) is not None:
            raise AppError("sensitive_category")
        current = await store.find(tx) or EMPTY
        return patched(current.facts, _patch(current.facts, str(inferred.key), inferred.value)) == current.facts

    async def version(self, tx: Transaction) -> int:
        """Return the version of the profile."""
        return (await store.find(tx) or EMPTY).version

    async def accept(self, tx: Transaction, inferred: Inferred) -> Became:
        """Write a version of the profile, unless it says the same. Raises as `keep`."""
        await self._require_allowed(tx, str(inferred.key), inferred.value)
        current = await store.find(tx) or EMPTY
        facts = patched(current.facts, _patch(current.facts, str(inferred.key), inferred.value))
        version = current.version
        if facts != current.facts:
            version = await _write(tx, current, facts, Why(Origin.STATEMENT, evidence=inferred.evidence), "accept")
        return Became("profile", show("usr", tx.scope.usr), version)

    async def _require_allowed(self, tx: Transaction, key: str, value: object) -> None:
        if category(value, named=key) is not None and not await self._allows_sensitive(tx, key):
            raise AppError("sensitive_category")


async def _write(tx: Transaction, current: Profile, facts: Facts, why: Why, verb: str) -> int:
    entry = AuditEntry(verb, "profile", tx.scope.usr)
    seen = await perform(tx, current, facts, why, Exactly(frozenset({current.version})), entry)
    return seen.profile.version


def _patch(
    facts: Facts, key: str, value: object, *, is_gone: bool = False
) -> Mapping[str, Any]:  # Any: each field has a type of its own
    if key in FIELDS:
        return {key: None if is_gone else value}
    if key in _LISTS:
        value = _listed(facts.attributes.get(key), value, is_gone=is_gone)
    elif is_gone:
        value = None
    return {ATTRIBUTES: {key: value}}


def _listed(known: object, value: object, *, is_gone: bool) -> list[object] | None:
    before = known if isinstance(known, list) else [known] if known else []
    if is_gone:
        return [each for each in before if value is not None and each != value] or None
    return before if value in before else [*before, value]
