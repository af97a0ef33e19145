"""Preferences in Postgres. Each function is one statement; what a caller wrote is sealed on its way in."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, Update, and_, func, insert, literal, select, true, tuple_, update
from sqlalchemy.dialects.postgresql import Insert, distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.core.evidence import Evidence, EvidenceKind
from app.core.portability import Made
from app.core.scope import Actor
from app.infra.crypto.box import Box, Place, row_key
from app.infra.db.adopting import authored
from app.infra.db.snapshots import made_at
from app.infra.db.transaction import Transaction
from app.preferences.model import Content, Former, Origin, Preference, State, Trust, Version, points
from app.preferences.tables import VERSION_COLUMNS, preference_versions, preferences
from app.preferences.tags import key_tag

_HEAD = (
    preferences.c.id,
    preferences.c.key_sealed,
    preferences.c.agent,
    preferences.c.created_at,
)
_CURRENT = tuple(preferences.c[name] for name in VERSION_COLUMNS)
# What `read` makes a preference of.
CURRENT = (*_HEAD, *_CURRENT)
_VERSION = tuple(preference_versions.c[name] for name in VERSION_COLUMNS)
_IS_OF_IT = and_(
    preference_versions.c.usr == preferences.c.usr, preference_versions.c.preference_id == preferences.c.id
)


async def find(tx: Transaction, key: str, agent: str | None) -> Preference | None:
    """Return one preference as it is now, a stub too; None where there never was one."""
    found = await find_each(tx, [key], agent)
    return found.get(key)


async def find_any(tx: Transaction, ids: Sequence[UUID]) -> Preference | None:
    """Return the preference that has one of the ids, a stub too; None where none has."""
    rows = await tx.rows(select(*_HEAD, *_CURRENT).filter_by(usr=tx.scope.usr).where(preferences.c.id.in_(ids)))
    return read(rows[0], tx.box) if rows else None


async def find_each(tx: Transaction, keys: Sequence[str], agent: str | None) -> dict[str, Preference]:
    """Return those of the keys' preferences that there are, stubs too."""
    tags = [key_tag(tx.box, key) for key in keys]
    asked = select(*CURRENT).filter_by(usr=tx.scope.usr, agent=agent or "").where(preferences.c.key_tag.in_(tags))
    found = [read(row, tx.box) for row in await tx.rows(asked)]
    return {preference.key: preference for preference in found}


async def find_met(tx: Transaction, key: str, agent: str | None) -> Sequence[Preference]:
    """Return the preferences of a key that hold for an agent, stubs too: the general one and its own."""
    asked = select(*CURRENT).filter_by(usr=tx.scope.usr, key_tag=key_tag(tx.box, key))
    rows = await tx.rows(asked.where(preferences.c.agent.in_(["", agent or ""])))
    return [read(row, tx.box) for row in rows]


async def in_force(tx: Transaction, agent: str | None, after: UUID | None, limit: int) -> Sequence[Preference]:
    """Return the preferences in force now: what was stated goes before what was inferred, then an agent's own value
    before the general one.
    """
    chosen = (
        select(*CURRENT)
        .ext(distinct_on(preferences.c.key_tag))
        .where(preferences.c.usr == tx.scope.usr, preferences.c.agent.in_(["", agent or ""]))
        .where(preferences.c.state == State.KEPT)
        .order_by(preferences.c.key_tag, preferences.c.trust == Trust.INFERRED, preferences.c.agent.desc())
    )
    return [read(row, tx.box) for row in await tx.rows(_paged(chosen, after, limit))]


async def in_force_at(
    tx: Transaction,
    number: int,
    agent: str | None,
    after: UUID | None,
    limit: int,
) -> Sequence[Preference]:
    """Return the preferences that were in force after the user's change of that number; erased ones show as such."""
    then = (
        select(*_VERSION)
        .where(_IS_OF_IT, preference_versions.c.change_number <= number)
        .order_by(preference_versions.c.version.desc())
        .limit(1)
        .lateral("then")
    )
    chosen = (
        select(*_HEAD, *(then.c[name] for name in VERSION_COLUMNS))
        .join_from(preferences, then, true())
        .ext(distinct_on(preferences.c.key_tag))
        .where(preferences.c.usr == tx.scope.usr, preferences.c.agent.in_(["", agent or ""]))
        .where(then.c.state != State.DELETED)
        .order_by(preferences.c.key_tag, then.c.trust == Trust.INFERRED, preferences.c.agent.desc())
    )
    return [read(row, tx.box) for row in await tx.rows(_paged(chosen, after, limit))]


async def kept_at(tx: Transaction, number: int, limit: int) -> Sequence[Row[Any]]:
    """Return id, agent and version of every preference that was kept after the user's change of that number, of all
    agents; nothing is opened.
    """
    then = (
        select(preference_versions.c.version, preference_versions.c.state)
        .where(_IS_OF_IT, preference_versions.c.change_number <= number)
        .order_by(preference_versions.c.version.desc())
        .limit(1)
        .lateral("then")
    )
    asked = select(preferences.c.id, preferences.c.agent, then.c.version).join_from(preferences, then, true())
    asked = asked.where(preferences.c.usr == tx.scope.usr, then.c.state == State.KEPT)
    return await tx.rows(asked.order_by(preferences.c.id).limit(limit))


async def page_kept(tx: Transaction, agent: str | None, before: UUID | None, limit: int) -> Sequence[Preference]:
    """Return the general values and those for the agent, the newest key first, older than `before` where given."""
    asked = (
        select(*CURRENT)
        .where(preferences.c.usr == tx.scope.usr, preferences.c.agent.in_(["", agent or ""]))
        .where(preferences.c.state == State.KEPT)
        .order_by(preferences.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        asked = asked.where(preferences.c.id < before)
    return [read(row, tx.box) for row in await tx.rows(asked)]


async def find_at(tx: Transaction, number: int, key: str, agent: str | None) -> Preference | None:
    """Return one preference as it was after the user's change of that number, None where there was none yet."""
    asked = (
        select(*_HEAD, *_VERSION)
        .join_from(preferences, preference_versions, _IS_OF_IT)
        .where(preferences.c.usr == tx.scope.usr, preferences.c.key_tag == key_tag(tx.box, key))
        .where(preferences.c.agent == (agent or ""), preference_versions.c.change_number <= number)
        .order_by(preference_versions.c.version.desc())
        .limit(1)
    )
    row = await tx.row(asked)
    return read(row, tx.box) if row else None


async def superseded(tx: Transaction, number: int | None, agent: str | None, limit: int) -> Sequence[Former]:
    """Return what was in force once and points at something, the newest first: general values, and the agent's own.

    As of the user's change of that number, where one is given.
    """
    then = preference_versions.alias("then")
    known = and_(then.c.usr == preferences.c.usr, then.c.preference_id == preferences.c.id)
    last: ColumnElement[int] = preferences.c.version
    if number is not None:
        known = and_(known, then.c.change_number <= number)
        last = select(func.max(then.c.version)).where(known).scalar_subquery()
    asked = (
        select(*_HEAD, *_VERSION, last.label("last"))
        .join_from(preferences, preference_versions, _IS_OF_IT)
        .where(preference_versions.c.usr == tx.scope.usr, preferences.c.agent.in_(["", agent or ""]))
        .where(preference_versions.c.identifies.is_not(False), preference_versions.c.state == State.KEPT)
        .where(preference_versions.c.version < last)
        .order_by(preference_versions.c.change_number.desc())
        .limit(limit)
    )
    return [Former(read(row, tx.box), row.last) for row in await tx.rows(asked)]


async def versions_from(tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Row[Any]]:
    """Return preference, version, trust and message of each version that came of one of the messages."""
    columns = ("preference_id", "version", "trust", "evidence_id")
    asked = select(*(preference_versions.c[name] for name in columns)).filter_by(
        usr=tx.scope.usr, evidence_kind=EvidenceKind.MESSAGE
    )
    asked = asked.where(preference_versions.c.evidence_id.in_(message_ids))
    return await tx.rows(asked.order_by(preference_versions.c.change_number, preference_versions.c.preference_id))


async def identified(tx: Transaction, preference_id: UUID, version: int) -> bool:
    """Say whether a version holds something that points at something, which texts may hold too."""
    of_it = select(preference_versions.c.identifies).filter_by(usr=tx.scope.usr, preference_id=preference_id)
    held = of_it.filter_by(version=version, state=State.KEPT).where(preference_versions.c.identifies.is_not(False))
    return await tx.row(held) is not None


async def count(tx: Transaction) -> int:
    """Return how many preferences the user has, stubs and those of all agents included."""
    number: int = await tx.scalar(select(func.count()).select_from(preferences).filter_by(usr=tx.scope.usr))
    return number


async def page_versions(tx: Transaction, preference_id: UUID, before: int | None, limit: int) -> Sequence[Version]:
    """Return versions of a preference, newest first, older than `before` where given."""
    asked = select(*_VERSION).filter_by(usr=tx.scope.usr, preference_id=preference_id)
    if before is not None:
        asked = asked.where(preference_versions.c.version < before)
    rows = await tx.rows(asked.order_by(preference_versions.c.version.desc()).limit(limit))
    return [_read_version(row, tx.box, preference_id) for row in rows]


async def next_versions(tx: Transaction, after: tuple[UUID, int] | None, limit: int) -> Sequence[Preference]:
    """Return versions of all preferences of all agents, those of one together, after one where given."""
    place = (preference_versions.c.preference_id, preference_versions.c.version)
    asked = select(*_HEAD, *_VERSION).join_from(preferences, preference_versions, _IS_OF_IT)
    asked = asked.where(preference_versions.c.usr == tx.scope.usr).order_by(*place).limit(limit)
    if after is not None:
        asked = asked.where(tuple_(*place) > after)
    return [read(row, tx.box) for row in await tx.rows(asked)]


async def evidence_of(tx: Transaction, preference_id: UUID) -> Sequence[Evidence]:
    """Return everything that the versions of a preference came from."""
    kind, item = preference_versions.c.evidence_kind, preference_versions.c.evidence_id
    asked = select(kind, item).distinct().filter_by(usr=tx.scope.usr, preference_id=preference_id)
    rows = await tx.rows(asked.where(item.is_not(None)))
    return [Evidence(EvidenceKind(row.evidence_kind), row.evidence_id) for row in rows]


async def find_version(tx: Transaction, preference_id: UUID, number: int) -> Version | None:
    """Return one version of a preference, None where there is none of that number."""
    row = await tx.row(select(*_VERSION).filter_by(usr=tx.scope.usr, preference_id=preference_id, version=number))
    return _read_version(row, tx.box, preference_id) if row else None


async def create(  # noqa: PLR0913 - what a row is made of
    tx: Transaction,
    preference_id: UUID,
    key: str,
    agent: str | None,
    content: Content,
    change_number: int,
    entry: AuditEntry,
    *,
    plain_key: str | None,
    made: Made | None = None,
) -> Preference | None:
    """Write a preference's first version; None where another writer was first. `made` where it comes from elsewhere."""
    head = (
        upsert(preferences)
        .values(
            **tx.owner,
            id=preference_id,
            key_tag=key_tag(tx.box, key),
            key_sealed=tx.box.seal(key.encode(), Place("preferences", "key_sealed", preference_id)),
            agent=agent or "",
            key_plain=plain_key,
            created_at=made.created_at if made else made_at(tx.scope, change_number),
            **_written(tx, preference_id, 1, content, change_number, made, is_plain=plain_key is not None),
        )
        .on_conflict_do_nothing(index_elements=["usr", "key_tag", "agent"])
    )
    return await _record(tx, head, entry)


async def replace(
    tx: Transaction,
    preference_id: UUID,
    base: int,
    content: Content,
    change_number: int,
    entry: AuditEntry,
    *,
    plain_key: str | None,
    made: Made | None = None,
) -> Preference | None:
    """Write the version after `base`; None where `base` isn't the current version any more."""
    head = (
        update(preferences)
        .filter_by(usr=tx.scope.usr, id=preference_id, version=base)
        .values(
            key_plain=plain_key,
            **_written(tx, preference_id, base + 1, content, change_number, made, is_plain=plain_key is not None),
        )
    )
    return await _record(tx, head, entry)


async def erase_values(tx: Transaction, preference_id: UUID, before: int, entry: AuditEntry) -> None:
    """Take the value out of every version older than `before`, and the reason, which may quote it."""
    await tx.change(
        update(preference_versions)
        .filter_by(usr=tx.scope.usr, preference_id=preference_id, state=State.KEPT)
        .where(preference_versions.c.version < before)
        .values(state=State.ERASED, value_sealed=None, value_plain=None, reason_sealed=None),
        entry,
    )


async def _record(tx: Transaction, head: Insert | Update, entry: AuditEntry) -> Preference | None:
    """Write a preference's row and, in the same statement, copy it to the versions: they can't differ."""
    returned = [preferences.c.tenant, preferences.c.usr, *_HEAD, *_CURRENT]
    made = head.returning(*returned).cte("made")
    copied = insert(preference_versions).from_select(
        ["tenant", "usr", "preference_id", *VERSION_COLUMNS],
        select(made.c.tenant, made.c.usr, made.c.id, *(made.c[name] for name in VERSION_COLUMNS)),
    )
    kept = copied.returning(literal(1)).cte("kept")
    row = (await tx.change(select(made).join_from(made, kept, true()), entry)).one_or_none()
    return read(row, tx.box) if row else None


def _paged(chosen: Select[Any], after: UUID | None, limit: int) -> Select[Any]:  # Any: rows of both tables' columns
    asked = chosen.subquery("chosen")
    ordered = select(asked).order_by(asked.c.id).limit(limit)
    return ordered if after is None else ordered.where(asked.c.id > after)


def _written(
    tx: Transaction,
    preference_id: UUID,
    version: int,
    content: Content,
    change_number: int,
    made: Made | None,
    *,
    is_plain: bool,
) -> dict[str, Any]:  # Any: each column has a type of its own
    row = row_key(preference_id, version)
    kept = content.state is State.KEPT
    sealed, plain = kept and not is_plain, kept and is_plain
    return {
        "version": version,
        "change_number": change_number,
        "state": content.state,
        "value_sealed": tx.box.seal_json(content.value, Place("preferences", "value_sealed", row)) if sealed else None,
        "value_plain": content.value if plain else None,
        "trust": content.trust,
        "source": content.source,
        "confidence": content.confidence,
        "evidence_kind": content.evidence.kind if content.evidence else None,
        "evidence_id": content.evidence.id if content.evidence else None,
        "reason_sealed": (
            tx.box.seal(content.reason.encode(), Place("preferences", "reason_sealed", row)) if content.reason else None
        ),
        **authored(tx, change_number, made),
        "identifies": points(content.value),
    }


def read(row: Row[Any], box: Box) -> Preference:
    """Return the preference that a row of the columns CURRENT holds."""
    return Preference(
        id=row.id,
        key=box.open(row.key_sealed, Place("preferences", "key_sealed", row.id)).decode(),
        agent=row.agent or None,
        created_at=row.created_at,
        version=_read_version(row, box, row.id),
    )


def _read_version(row: Row[Any], box: Box, preference_id: UUID) -> Version:
    # A row of versions is a copy of its preference's row: what is sealed there opens here.
    place = row_key(preference_id, row.version)
    value = row.value_plain
    if row.value_sealed:
        value = box.open_json(row.value_sealed, Place("preferences", "value_sealed", place))
    reason = box.open(row.reason_sealed, Place("preferences", "reason_sealed", place)) if row.reason_sealed else None
    return Version(
        number=row.version,
        content=Content(
            state=State(row.state),
            value=value,
            trust=Trust(row.trust),
            source=Origin(row.source),
            confidence=row.confidence,
            evidence=Evidence(EvidenceKind(row.evidence_kind), row.evidence_id) if row.evidence_kind else None,
            reason=reason.decode() if reason is not None else None,
        ),
        change_number=row.change_number,
        written_by=Actor(row.written_by),
        written_through=row.written_through or None,
        written_at=row.written_at,
    )
