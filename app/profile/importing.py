"""The profile from an archive: each version under its own number, time and reason. An Imported of
app.core.portability.
"""

from collections.abc import Sequence
from typing import Final

from app.core.audit import AuditEntry
from app.core.evidence import EvidenceCheck
from app.core.portability import TAKEN, UNCHANGED, Made, Outcome, Taking
from app.core.scope import Actor, Scope
from app.core.superseding import superseded_by
from app.infra.db.adopting import imported_evidence
from app.infra.db.transaction import Transaction
from app.profile import store
from app.profile.exporting import FILE, ProfileRecord
from app.profile.model import EMPTY, Facts, Origin, Profile, Why, path_of, supersedes
from app.web.evidence import evidence_of

_ORIGINS: Final = frozenset(Origin)


class ProfileImport:
    """Takes the versions of a profile: those that follow on what is here."""

    file: str = FILE
    record: type = ProfileRecord
    permission: str = "profile:write"

    def __init__(self, evidence: EvidenceCheck[Transaction]) -> None:
        """Take what knows which evidence there is."""
        self._evidence = evidence

    def item(self, _: ProfileRecord) -> str:
        """Say that there is one profile."""
        return "profile"

    async def take(self, tx: Transaction, taking: Taking, records: Sequence[ProfileRecord]) -> Sequence[Outcome]:
        """Write what isn't here. Where a version here says something else, nothing after it is taken."""
        await tx.hold_changes()
        current = await store.find(tx) or EMPTY
        outcomes: list[Outcome] = []
        number: int | None = None
        for record in records:
            if outcomes and outcomes[-1] not in {TAKEN, UNCHANGED}:
                outcomes.append(outcomes[-1])
            elif record.version <= current.version:
                there = await store.find_version(tx, record.version)
                is_same = there is not None and there.facts == _facts(record)
                outcomes.append(UNCHANGED if is_same else Outcome.conflict("differs"))
            elif record.version != current.version + 1:
                outcomes.append(Outcome.refused("out_of_order"))
            else:
                number = number or await tx.next_change(_entry(tx))
                current = await self._write(tx, taking, current, record, number)
                outcomes.append(TAKEN)
        return outcomes

    async def committed(self, scope: Scope) -> None:
        """Do nothing: readers of copies go by the number of the change."""

    async def _write(
        self, tx: Transaction, taking: Taking, current: Profile, record: ProfileRecord, number: int
    ) -> Profile:
        facts, keeps = _facts(record), taking.keeps_trust
        origin = Origin(record.source) if keeps and record.source in _ORIGINS else Origin.IMPORT
        why = Why(origin, record.reason, await imported_evidence(tx, self._evidence, evidence_of(record.evidence)))
        made = Made(Actor.USER, record.written_through if keeps else taking.agent, record.written_at, record.written_at)
        if current.version:
            newer = supersedes(facts, current.facts)
            written = await store.replace(
                tx, current.version, facts, why, number, _entry(tx), supersedes=newer, made=made
            )
            if newer:
                tx.enqueue(superseded_by(number))
        else:
            written = await store.create(tx, facts, why, number, _entry(tx), made)
        if written is None:
            raise RuntimeError("a profile changed while its user's changes were held")
        return written


def _entry(tx: Transaction) -> AuditEntry:
    return AuditEntry("import", "profile", tx.scope.usr)


def _facts(record: ProfileRecord) -> Facts:
    return Facts(
        name=record.name,
        role=record.role,
        department=record.department,
        active=record.active,
        last_login_at=record.last_login_at,
        attributes=record.attributes,
        erased=frozenset(map(path_of, record.erased)),
    )
