"""What is done with a profile. Each method is one transaction; every write is conditional on a version."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.core.audit import AuditEntry
from app.core.errors import AppError, invalid
from app.core.evidence import Evidence, EvidenceCheck
from app.core.idempotency import Attempt
from app.core.moments import NOW, Moment, Snapshot
from app.core.scope import Scope
from app.core.shown import Rendering, Shown
from app.core.superseding import superseded_by
from app.core.versions import Precondition, expected
from app.infra.db.snapshots import look, settle, show_snapshot
from app.infra.db.transaction import Database, Transaction
from app.infra.redis.answers import HotAnswers
from app.profile import store
from app.profile.model import (
    EMPTY,
    Facts,
    History,
    Origin,
    Path,
    Profile,
    Seen,
    Why,
    patched,
    stands,
    supersedes,
    without,
)

# How many versions are opened at a time where all of them are gone through.
REWRITE_PAGE = 200


class Profiles:
    """The profiles of users. Every user has one, empty at version 0 before the first change."""

    def __init__(self, db: Database, evidence: EvidenceCheck[Transaction], answers: HotAnswers) -> None:
        """Take the doors to the database, what knows which evidence there is, and what gives answers again."""
        self._db = db
        self._evidence = evidence
        self._answers = answers

    async def show(self, scope: Scope, moment: Moment, rendering: Rendering[Seen]) -> Shown:
        """Return the answer that shows `read`. Raises as that. What holds now may come from Redis alone."""

        async def make() -> Shown:
            seen = await self.read(scope, moment)
            # The client may have read an earlier version before something in it was erased: it must hear of that.
            is_altered = bool(seen.snapshot.changes_since and seen.profile.facts.erased)
            known = None if is_altered else seen.profile.version
            return Shown(rendering.render(seen), _read_of(scope), seen.snapshot.number, known)

        return await (make() if moment != NOW else self._answers.give(scope, ["profile", rendering.shape], make))

    async def read(self, scope: Scope, moment: Moment = NOW) -> Seen:
        """Return the profile as it is now, or as it was. Raises `invalid` for a snapshot that was never given."""
        await settle(self._db, scope, moment)
        async with self._db.read(scope) as tx:
            snapshot = await look(tx, moment)
            found = await (store.find_at(tx, snapshot.number) if snapshot.changes_since else store.find(tx))
            tx.saw(_read_of(scope))
            return Seen(found or EMPTY, snapshot)

    async def history(self, scope: Scope, before: int | None, limit: int) -> History:
        """Return the versions, newest first, older than version `before` where given."""
        async with self._db.read(scope) as tx:
            versions = await store.page_versions(tx, before, limit + 1)
            tx.saw(AuditEntry("read_history", "profile", scope.usr))
            return History(versions[:limit], await look(tx, NOW), more=len(versions) > limit)

    async def patch(
        self,
        scope: Scope,
        patch: Mapping[str, Any],  # Any: each field has a type of its own
        precondition: Precondition,
        attempt: Attempt | None,
        reason: str | None = None,
        evidence: Evidence | None = None,
    ) -> Seen:
        """Merge a patch (RFC 7396) into the profile. Raises `stale_version`, and `invalid` for too large a result."""
        async with self._db.remember(scope, attempt) as tx:
            await self._evidence.require(tx, {"evidence": evidence})
            current = await store.find(tx) or EMPTY
            expected(precondition, current.version)
            facts = patched(current.facts, patch)
            why = Why(Origin.STATEMENT, reason, evidence)
            entry = AuditEntry("patch", "profile", scope.usr)
            seen = await perform(tx, current, facts, why, precondition, entry)
            await tx.answer(seen, scope.usr)
        return seen

    async def roll_back(
        self,
        scope: Scope,
        to_version: int,
        precondition: Precondition,
        attempt: Attempt | None,
        reason: str | None = None,
    ) -> Seen:
        """Write a new version that says what an earlier one said, 0 for the empty one. What is erased stays erased.

        Raises `stale_version`, and `invalid` where there is no such version.
        """
        async with self._db.remember(scope, attempt) as tx:
            current = await store.find(tx) or EMPTY
            expected(precondition, current.version)
            earlier = await store.find_version(tx, to_version) if to_version else EMPTY
            if earlier is None or to_version > current.version:
                raise invalid("to_version", "there is no such version")
            entry = AuditEntry("roll_back", "profile", scope.usr)
            seen = await perform(tx, current, earlier.facts, Why(Origin.ROLLBACK, reason), precondition, entry)
            await tx.answer(seen, scope.usr)
        return seen

    async def erase_field(
        self,
        scope: Scope,
        path: Path,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Seen:
        """Take a value out of every version, and the reasons of the versions that had it, which may quote it.

        Raises `stale_version`, and `not_found` where no version has anything there.
        """
        entry = AuditEntry("erase_field", "profile", scope.usr)
        async with self._db.retract(scope, attempt) as tx:
            # First: from here on nobody else writes a version with the value.
            number = await tx.next_change(entry)
            current = await store.find(tx) or EMPTY
            base = expected(precondition, current.version) or 0
            if not await _take_out(tx, path, entry):
                raise AppError("not_found")
            facts = without(current.facts, path)
            profile = await store.replace(tx, base, facts, Why(Origin.ERASURE), number, entry, supersedes=False)
            if profile is None:
                raise AppError("conflict", "it was changed at the same time")
            await tx.forget_answers(scope.usr, entry)
            seen = _seen_last(tx, profile)
            await tx.answer(seen)
        return seen


def _read_of(scope: Scope) -> AuditEntry:
    return AuditEntry("read", "profile", scope.usr)


async def perform(
    tx: Transaction,
    before: Profile,
    facts: Facts,
    why: Why,
    precondition: Precondition,
    entry: AuditEntry,
) -> Seen:
    """Write one version. What was read before may be old by now: the statement's own condition decides."""
    number = await tx.next_change(entry)
    if before.version:
        newer = supersedes(facts, before.facts)
        profile = await store.replace(tx, before.version, facts, why, number, entry, supersedes=newer)
        if newer:
            tx.enqueue(superseded_by(number))
    else:
        profile = await store.create(tx, facts, why, number, entry)
    if profile is None:
        expected(precondition, (await store.find(tx) or EMPTY).version)
        raise AppError("conflict", "it was changed at the same time")
    return _seen_last(tx, profile)


def _seen_last(tx: Transaction, profile: Profile) -> Seen:
    """Return a version with the snapshot of the change that has just made it: nobody else made one since."""
    return Seen(profile, Snapshot(profile.change_number, show_snapshot(tx.box, profile.change_number)))


async def _take_out(tx: Transaction, path: Path, entry: AuditEntry) -> bool:
    """Take the value at a place out of all versions; say whether one had it."""
    found, had_it, last = False, False, 0
    while page := await store.next_versions(tx, last, REWRITE_PAGE):
        changed: list[Profile] = []
        for version in page:
            has_it = stands(version.facts, path)
            # The version that took it out may say why, with the value in the words.
            if has_it or had_it:
                facts = without(version.facts, path) if has_it else version.facts
                changed.append(replace(version, facts=facts, why=replace(version.why, reason=None)))
            found, had_it, last = found or has_it, has_it, version.version
        if changed:
            await store.rewrite(tx, changed, entry)
    return found
