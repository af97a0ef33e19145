"""What is done with preferences. Each method is one transaction; every write is conditional on a version."""

from collections.abc import Sequence
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError, FieldError, invalid
from app.core.evidence import EvidenceCheck
from app.core.idempotency import Attempt
from app.core.ids import uuid7
from app.core.moments import NOW, Moment
from app.core.scope import Scope
from app.core.shown import Rendering, Shown
from app.core.versions import Absent, Exactly, Precondition
from app.infra.db.snapshots import look, settle
from app.infra.db.transaction import Database, Transaction
from app.infra.redis.answers import HotAnswers
from app.preferences import store
from app.preferences.catalogue.model import Rules
from app.preferences.catalogue.store import rules as catalogue_rules
from app.preferences.model import (
    DELETION,
    Found,
    History,
    InForce,
    Preference,
    State,
    Statement,
    Written,
    base_of,
    merged_base,
    not_there,
    restored,
)
from app.preferences.retraction import retract
from app.preferences.writing import Change, apply, perform, require_own, require_room

_LISTED = AuditEntry("list", "preference")


class Preferences:
    """The preferences of users."""

    def __init__(self, db: Database, evidence: EvidenceCheck[Transaction], answers: HotAnswers) -> None:
        """Take the doors to the database, what knows which evidence there is, and what gives answers again."""
        self._db = db
        self._evidence = evidence
        self._answers = answers

    async def show_in_force(
        self,
        scope: Scope,
        agent: str | None,
        moment: Moment,
        after: tuple[UUID, int] | None,
        limit: int,
        rendering: Rendering[InForce],
    ) -> Shown:
        """Return the answer that shows `in_force`. Raises as that. The first page of now may come from Redis alone."""

        async def make() -> Shown:
            found = await self.in_force(scope, agent, moment, after, limit)
            return Shown(rendering.render(found), _LISTED, found.snapshot.number)

        require_own(scope, agent)
        if moment != NOW or after is not None:
            return await make()
        return await self._answers.give(scope, ["preferences", rendering.shape, scope.agent or "", str(limit)], make)

    async def in_force(
        self,
        scope: Scope,
        agent: str | None,
        moment: Moment,
        after: tuple[UUID, int] | None,
        limit: int,
    ) -> InForce:
        """Return what is in force for the caller's agent: its own value of a key goes before the general one.

        `after` is the last item of the page before, and the number of the snapshot which that was read at: so all pages
        are of one. Raises `not_found` for another agent, `invalid` for a snapshot that the user was never given.
        """
        require_own(scope, agent)
        await settle(self._db, scope, moment)
        async with self._db.read(scope) as tx:
            last, number = after or (None, None)
            snapshot = await look(tx, moment, number)
            if snapshot.changes_since:
                items = await store.in_force_at(tx, snapshot.number, scope.agent, last, limit + 1)
            else:
                items = await store.in_force(tx, scope.agent, last, limit + 1)
            tx.saw(_LISTED)
            return InForce(items[:limit], snapshot, more=len(items) > limit)

    async def show(
        self, scope: Scope, key: str, agent: str | None, moment: Moment, rendering: Rendering[Found]
    ) -> Shown:
        """Return the answer that shows `read`. Raises as that. What holds now may come from Redis alone."""

        async def make() -> Shown:
            found = await self.read(scope, key, agent, moment)
            version = found.preference.version
            # The client may have read this version before it was erased: it must hear of that.
            known = version.number if version.content.state is State.KEPT else None
            return Shown(rendering.render(found), _read_of(found.preference), found.snapshot.number, known)

        require_own(scope, agent)
        if moment != NOW:
            return await make()
        return await self._answers.give(scope, ["preference", rendering.shape, key, agent or ""], make)

    async def read(self, scope: Scope, key: str, agent: str | None, moment: Moment) -> Found:
        """Return the value of a key: the general one, or the one for the named agent. Raises `not_found`.

        At a moment that is past it may be one that was erased since.
        """
        require_own(scope, agent)
        await settle(self._db, scope, moment)
        async with self._db.read(scope) as tx:
            snapshot = await look(tx, moment)
            if snapshot.changes_since:
                preference = await store.find_at(tx, snapshot.number, key, agent)
            else:
                preference = await store.find(tx, key, agent)
            if preference is None or preference.is_deleted:
                raise not_there(None if snapshot.changes_since else preference)
            tx.saw(_read_of(preference))
            return Found(preference, snapshot)

    async def history(self, scope: Scope, key: str, agent: str | None, before: int | None, limit: int) -> History:
        """Return the versions of a key, newest first, older than version `before` where given. Raises `not_found`."""
        require_own(scope, agent)
        async with self._db.read(scope) as tx:
            preference = await store.find(tx, key, agent)
            if preference is None:
                raise AppError("not_found")
            versions = await store.page_versions(tx, preference.id, before, limit + 1)
            tx.saw(AuditEntry("read_history", "preference", preference.id))
            snapshot = await look(tx, NOW)
            return History(versions[:limit], snapshot, more=len(versions) > limit)

    async def write(
        self,
        scope: Scope,
        statement: Statement,
        agent: str | None,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Written:
        """Write what the user says about a key.

        Raises `stale_version` or `exists` where the precondition fails (unless the catalogue has it that the last write
        holds), `invalid` for evidence that isn't there or a value that the catalogue doesn't allow, and
        `sensitive_category`.
        """
        require_own(scope, agent)
        async with self._db.remember(scope, attempt) as tx:
            await self._evidence.require(tx, {"evidence": statement.evidence})
            rules = await catalogue_rules(tx, [statement.key])
            rules.require_said(statement.key, statement.value)
            merges = rules.merges(statement.key)
            if merges:
                await tx.hold_changes()
            current = await store.find(tx, statement.key, agent)
            base, passed_over = _base(precondition, current, merges=merges)
            change = _change(statement, current, base, rules)
            preference = await perform(tx, change, agent, precondition, "write")
            written = Written(preference, current is None or current.is_deleted, passed_over)
            await tx.answer(written, change.id)
        return written

    async def write_all(
        self,
        scope: Scope,
        statements: Sequence[tuple[Statement, int | None]],
        agent: str | None,
        attempt: Attempt | None,
    ) -> Sequence[Written]:
        """Write what the user says about many keys, each after its version (None: it must not be there), or nothing.

        Raises `stale_version`, naming every item whose version isn't the current one, and otherwise as `write`.
        """
        require_own(scope, agent)
        async with self._db.remember(scope, attempt) as tx:
            claimed = {f"items[{place}].evidence": said.evidence for place, (said, _) in enumerate(statements)}
            await self._evidence.require(tx, claimed)
            rules = await catalogue_rules(tx, [statement.key for statement, _ in statements])
            for place, (statement, _) in enumerate(statements):
                rules.require_said(statement.key, statement.value, f"items[{place}].value")
            if any(rules.merges(statement.key) for statement, _ in statements):
                await tx.hold_changes()
            found = await store.find_each(tx, [statement.key for statement, _ in statements], agent)
            changes = _changes(statements, found, rules)
            entries = [AuditEntry("write", "preference", change.id) for change, _ in changes]
            number = await tx.next_change(entries[0])
            await require_room(tx, sum(change.base is None for change, _ in changes))
            written: list[Written] = []
            for place, ((change, passed_over), entry) in enumerate(zip(changes, entries, strict=True)):
                preference = await apply(tx, change, agent, number, entry)
                if preference is None:  # another writer was first, after the versions were read above
                    raise _stale_items([(place, await store.find(tx, change.key, agent))])
                written.append(Written(preference, change.base is None, passed_over))
            await tx.answer(written, *(change.id for change, _ in changes))
        return written

    async def delete(
        self,
        scope: Scope,
        key: str,
        agent: str | None,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Preference:
        """Take the value out of every version; return the stub that is left. Raises `not_found`, `stale_version`."""
        require_own(scope, agent)
        async with self._db.retract(scope, attempt) as tx:
            current = await store.find(tx, key, agent)
            if current is None or current.is_deleted:
                raise not_there(current)
            change = Change(current.id, key, base_of(precondition, current), DELETION)
            stub = await perform(tx, change, agent, precondition, "delete")
            entry = AuditEntry("delete", "preference", stub.id)
            await store.erase_values(tx, stub.id, stub.version.number, entry)
            await tx.forget_answers(stub.id, entry)
            await retract(tx, stub, entry)
            await tx.answer(stub)
        return stub

    async def roll_back(
        self,
        scope: Scope,
        key: str,
        agent: str | None,
        to_version: int,
        precondition: Precondition,
        attempt: Attempt | None,
    ) -> Preference:
        """Write a new version that says what an earlier one said.

        Raises `not_found`, `stale_version`, `invalid` where there is no such version, `conflict` where it is erased.
        """
        require_own(scope, agent)
        async with self._db.remember(scope, attempt) as tx:
            current = await store.find(tx, key, agent)
            if current is None:
                raise AppError("not_found")
            base = base_of(precondition, current)
            earlier = await store.find_version(tx, current.id, to_version)
            if earlier is None:
                raise invalid("to_version", "there is no such version")
            content = restored(earlier.content)
            rules = await catalogue_rules(tx, [key])
            rules.require_said(key, content.value, "to_version")
            change = Change(current.id, key, base, content, rules.plain_key(key))
            preference = await perform(tx, change, agent, precondition, "roll_back")
            await tx.answer(preference, change.id)
        return preference


def _read_of(preference: Preference) -> AuditEntry:
    return AuditEntry("read", "preference", preference.id)


def _base(
    precondition: Precondition,
    current: Preference | None,
    *,
    merges: bool,
) -> tuple[int | None, int | None]:
    """Return the version that a write builds on, and the one that it passes over, where the key has it so."""
    return merged_base(precondition, current) if merges else (base_of(precondition, current), None)


def _change(statement: Statement, current: Preference | None, base: int | None, rules: Rules) -> Change:
    item = current.id if current else uuid7()
    return Change(item, statement.key, base, statement.content(), rules.plain_key(statement.key))


def _changes(
    statements: Sequence[tuple[Statement, int | None]],
    found: dict[str, Preference],
    rules: Rules,
) -> Sequence[tuple[Change, int | None]]:
    """Return what is due for each statement, and the version that it passes over."""
    refused: list[tuple[int, Preference | None]] = []
    changes: list[tuple[Change, int | None]] = []
    for place, (statement, version) in enumerate(statements):
        current = found.get(statement.key)
        try:
            precondition = Absent() if version is None else Exactly(frozenset({version}))
            base, passed_over = _base(precondition, current, merges=rules.merges(statement.key))
        except AppError:
            refused.append((place, current))
            continue
        changes.append((_change(statement, current, base, rules), passed_over))
    if refused:
        raise _stale_items(refused)
    return changes


def _stale_items(refused: Sequence[tuple[int, Preference | None]]) -> AppError:
    errors = tuple(
        FieldError(f"items[{place}].version", f"the current version is {current.version.number if current else 0}")
        for place, current in refused
    )
    return AppError("stale_version", "nothing was written", errors=errors)
