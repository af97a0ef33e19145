"""Profiles in Postgres. Each function is one statement; personal fields are sealed one by one on their way in.

What a profile says is read from its newest version. The profile's own row is what a write is conditional on.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Update, and_, bindparam, insert, literal, select, update
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.core.evidence import Evidence, EvidenceKind
from app.core.portability import Made
from app.core.scope import Actor
from app.infra.crypto.box import Place, row_key
from app.infra.db.adopting import authored
from app.infra.db.transaction import Transaction
from app.profile.model import Facts, Origin, Profile, Why
from app.profile.tables import BESIDE_COLUMNS, HEAD_COLUMNS, profile_versions, profiles

_VERSION = tuple(profile_versions.c[name] for name in (*HEAD_COLUMNS, *BESIDE_COLUMNS))
_SEALED = ("name", "role", "department", "attributes")


async def find(tx: Transaction) -> Profile | None:
    """Return the profile as it is now, None before its first version."""
    newest = select(*_VERSION).filter_by(usr=tx.scope.usr).order_by(profile_versions.c.version.desc()).limit(1)
    row = await tx.row(newest)
    return _read(row, tx) if row else None


async def versions_from(tx: Transaction, message_ids: Sequence[UUID]) -> Sequence[Row[Any]]:
    """Return version and message of each version that came of one of the messages."""
    columns = ("version", "evidence_id")
    asked = select(*(profile_versions.c[name] for name in columns)).filter_by(
        usr=tx.scope.usr, evidence_kind=EvidenceKind.MESSAGE
    )
    return await tx.rows(
        asked.where(profile_versions.c.evidence_id.in_(message_ids)).order_by(profile_versions.c.version)
    )


async def find_at(tx: Transaction, number: int) -> Profile | None:
    """Return the profile as it was after the user's change of that number, None before its first version."""
    last = (
        select(*_VERSION)
        .filter_by(usr=tx.scope.usr)
        .where(profile_versions.c.change_number <= number)
        .order_by(profile_versions.c.version.desc())
        .limit(1)
    )
    row = await tx.row(last)
    return _read(row, tx) if row else None


async def find_version(tx: Transaction, version: int) -> Profile | None:
    """Return one version of the profile, None where there is none of that number."""
    row = await tx.row(select(*_VERSION).filter_by(usr=tx.scope.usr, version=version))
    return _read(row, tx) if row else None


async def page_versions(tx: Transaction, before: int | None, limit: int) -> Sequence[Profile]:
    """Return versions of the profile, newest first, older than `before` where given."""
    asked = select(*_VERSION).filter_by(usr=tx.scope.usr)
    if before is not None:
        asked = asked.where(profile_versions.c.version < before)
    rows = await tx.rows(asked.order_by(profile_versions.c.version.desc()).limit(limit))
    return [_read(row, tx) for row in rows]


async def next_versions(tx: Transaction, after: int, limit: int) -> Sequence[Profile]:
    """Return versions of the profile, oldest first, newer than `after`."""
    asked = select(*_VERSION).filter_by(usr=tx.scope.usr).where(profile_versions.c.version > after)
    rows = await tx.rows(asked.order_by(profile_versions.c.version).limit(limit))
    return [_read(row, tx) for row in rows]


async def superseded(tx: Transaction, number: int | None, limit: int) -> Sequence[tuple[Profile, int]]:
    """Return versions that held what the next one took out of force, and the change that did, the newest first.

    Up to the user's change of that number, where one is given.
    """
    ended = profile_versions.alias("ended")
    asked = (
        select(*_VERSION, ended.c.change_number.label("ended_by"))
        .join_from(
            ended,
            profile_versions,
            and_(profile_versions.c.usr == ended.c.usr, profile_versions.c.version == ended.c.version - 1),
        )
        .where(ended.c.usr == tx.scope.usr, ended.c.supersedes.is_not(False))
        .order_by(ended.c.change_number.desc())
        .limit(limit)
    )
    rows = await tx.rows(asked if number is None else asked.where(ended.c.change_number <= number))
    return [(_read(row, tx), row.ended_by) for row in rows]


async def create(
    tx: Transaction, facts: Facts, why: Why, change_number: int, entry: AuditEntry, made: Made | None = None
) -> Profile | None:
    """Write the first version; None where another writer was first. `made` where it comes from elsewhere."""
    head = (
        upsert(profiles)
        .values(**tx.owner, **_head(tx, 1, facts, change_number, made))
        .on_conflict_do_nothing(index_elements=["usr"])
    )
    return await _record(tx, head, _beside(tx, 1, facts, why) | {"supersedes": False}, entry)


async def replace(
    tx: Transaction,
    base: int,
    facts: Facts,
    why: Why,
    change_number: int,
    entry: AuditEntry,
    *,
    supersedes: bool,
    made: Made | None = None,
) -> Profile | None:
    """Write the version after `base`; None where `base` isn't the current version any more."""
    head = (
        update(profiles)
        .filter_by(usr=tx.scope.usr, version=base)
        .values(**_head(tx, base + 1, facts, change_number, made))
    )
    return await _record(tx, head, _beside(tx, base + 1, facts, why) | {"supersedes": supersedes}, entry)


async def rewrite(tx: Transaction, versions: Sequence[Profile], entry: AuditEntry) -> None:
    """Write anew what versions say and why: all of it, sealed for the rows that they stand in."""
    beside = [name for name in BESIDE_COLUMNS if name != "supersedes"]
    names = [*(f"{name}_sealed" for name in _SEALED), *beside]
    statement = (
        update(profile_versions)
        .where(profile_versions.c.usr == tx.scope.usr, profile_versions.c.version == bindparam("of_version"))
        .values(active=True, last_login_at=None, **{name: bindparam(f"new_{name}") for name in names})
    )
    values = [
        _facts(tx, each.version, each.facts) | _beside(tx, each.version, each.facts, each.why) for each in versions
    ]
    rows = [
        {"of_version": each.version, **{f"new_{name}": value[name] for name in names}}
        for each, value in zip(versions, values, strict=True)
    ]
    await tx.change(statement, entry, rows)


async def _record(tx: Transaction, head: Insert | Update, beside: dict[str, Any], entry: AuditEntry) -> Profile | None:
    """Write the profile's row and, in the same statement, copy it to the versions: they can't differ."""
    copied = ("tenant", "usr", *HEAD_COLUMNS)
    made = head.returning(*(profiles.c[name] for name in copied)).cte("made")
    more = [literal(value, profile_versions.c[name].type) for name, value in beside.items()]
    version = insert(profile_versions).from_select(
        [*copied, *beside],
        select(*(made.c[name] for name in copied), *more),
    )
    kept = version.returning(*_VERSION).cte("kept")
    row = (await tx.change(select(kept), entry)).one_or_none()
    return _read(row, tx) if row else None


def _head(
    tx: Transaction,
    version: int,
    facts: Facts,
    change_number: int,
    made: Made | None,
) -> dict[str, Any]:  # Any: each column has a type of its own
    return {
        **_facts(tx, version, facts),
        "version": version,
        "change_number": change_number,
        "active": True,
        "last_login_at": None,
        **authored(tx, change_number, made, "updated_at"),
    }


def _facts(tx: Transaction, version: int, facts: Facts) -> dict[str, Any]:  # Any: as above
    return {f"{name}_sealed": _sealed(tx, f"{name}_sealed", version, getattr(facts, name)) for name in _SEALED}


def _beside(tx: Transaction, version: int, facts: Facts, why: Why) -> dict[str, Any]:  # Any: as above
    login = facts.last_login_at.isoformat() if facts.last_login_at else None
    erased = sorted(map(list, facts.erased)) or None
    return {
        "active_sealed": _sealed(tx, "active_sealed", version, facts.active),
        "last_login_at_sealed": _sealed(tx, "last_login_at_sealed", version, login),
        "erased_sealed": _sealed(tx, "erased_sealed", version, erased),
        "source": why.source,
        "reason_sealed": _sealed(tx, "reason_sealed", version, why.reason),
        "evidence_kind": why.evidence.kind if why.evidence else None,
        "evidence_id": why.evidence.id if why.evidence else None,
    }


def _place(tx: Transaction, column: str, version: int) -> Place:
    # A row of versions is a copy of the profile's row: what is sealed for the one opens for the other.
    return Place("profiles", column, row_key(tx.scope.usr, version))


def _sealed(tx: Transaction, column: str, version: int, value: object) -> bytes | None:
    if value is None:
        return None
    place = _place(tx, column, version)
    return tx.box.seal(value.encode(), place) if isinstance(value, str) else tx.box.seal_json(value, place)


def _text(tx: Transaction, row: Row[Any], column: str) -> str | None:
    sealed = getattr(row, column)
    return None if sealed is None else tx.box.open(sealed, _place(tx, column, row.version)).decode()


def _json(tx: Transaction, row: Row[Any], column: str) -> Any:  # noqa: ANN401 - what was sealed, as the caller knows it
    sealed = getattr(row, column)
    return None if sealed is None else tx.box.open_json(sealed, _place(tx, column, row.version))


def _read(row: Row[Any], tx: Transaction) -> Profile:
    if row.source is None:
        active, last_login_at = row.active, row.last_login_at
    else:
        login = _text(tx, row, "last_login_at_sealed")
        active, last_login_at = _json(tx, row, "active_sealed"), datetime.fromisoformat(login) if login else None
    return Profile(
        version=row.version,
        facts=Facts(
            name=_text(tx, row, "name_sealed"),
            role=_text(tx, row, "role_sealed"),
            department=_text(tx, row, "department_sealed"),
            active=active,
            last_login_at=last_login_at,
            attributes=_json(tx, row, "attributes_sealed"),
            erased=frozenset(map(tuple, _json(tx, row, "erased_sealed") or ())),
        ),
        why=Why(
            source=Origin(row.source or Origin.STATEMENT),
            reason=_text(tx, row, "reason_sealed"),
            evidence=Evidence(EvidenceKind(row.evidence_kind), row.evidence_id) if row.evidence_kind else None,
        ),
        change_number=row.change_number,
        written_by=Actor(row.written_by),
        written_through=row.written_through or None,
        updated_at=row.updated_at,
    )
