"""Profiles in Postgres. Each function is one statement; personal fields are sealed one by one on their way in."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, Update, func, insert, literal, select, true, update
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.core.scope import Actor
from app.infra.crypto.box import Place, row_key
from app.infra.db.transaction import Transaction
from app.profile.model import Facts, Profile
from app.profile.tables import VERSION_COLUMNS, profile_versions, profiles

_CURRENT = tuple(profiles.c[name] for name in VERSION_COLUMNS)
_VERSION = tuple(profile_versions.c[name] for name in VERSION_COLUMNS)


async def find(tx: Transaction) -> Profile | None:
    """Return the profile as it is now, None before its first version."""
    row = await tx.row(select(*_CURRENT).filter_by(usr=tx.scope.usr))
    return _read(row, tx) if row else None


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


async def page_versions(tx: Transaction, before: int | None, limit: int) -> Sequence[Profile]:
    """Return versions of the profile, newest first, older than `before` where given."""
    asked = select(*_VERSION).filter_by(usr=tx.scope.usr)
    if before is not None:
        asked = asked.where(profile_versions.c.version < before)
    rows = await tx.rows(asked.order_by(profile_versions.c.version.desc()).limit(limit))
    return [_read(row, tx) for row in rows]


async def create(tx: Transaction, facts: Facts, change_number: int, entry: AuditEntry) -> Profile | None:
    """Write the first version; None where another writer was first."""
    head = (
        upsert(profiles)
        .values(**tx.owner, **_written(tx, 1, facts, change_number))
        .on_conflict_do_nothing(index_elements=["usr"])
    )
    return await _record(tx, head, entry)


async def replace(tx: Transaction, base: int, facts: Facts, change_number: int, entry: AuditEntry) -> Profile | None:
    """Write the version after `base`; None where `base` isn't the current version any more."""
    head = (
        update(profiles)
        .filter_by(usr=tx.scope.usr, version=base)
        .values(**_written(tx, base + 1, facts, change_number))
    )
    return await _record(tx, head, entry)


async def _record(tx: Transaction, head: Insert | Update, entry: AuditEntry) -> Profile | None:
    """Write the profile's row and, in the same statement, copy it to the versions: they can't differ."""
    made = head.returning(profiles.c.tenant, profiles.c.usr, *_CURRENT).cte("made")
    columns = ["tenant", "usr", *VERSION_COLUMNS]
    copied = insert(profile_versions).from_select(columns, select(*(made.c[name] for name in columns)))
    kept = copied.returning(literal(1)).cte("kept")
    row = (await tx.change(select(made).join_from(made, kept, true()), entry)).one_or_none()
    return _read(row, tx) if row else None


def _written(
    tx: Transaction,
    version: int,
    facts: Facts,
    change_number: int,
) -> dict[str, Any]:  # Any: each column has a type of its own
    return {
        "version": version,
        "change_number": change_number,
        "name_sealed": _sealed(tx, "name_sealed", version, facts.name),
        "role_sealed": _sealed(tx, "role_sealed", version, facts.role),
        "department_sealed": _sealed(tx, "department_sealed", version, facts.department),
        "attributes_sealed": tx.box.seal_json(facts.attributes, _place(tx, "attributes_sealed", version)),
        "active": facts.active,
        "last_login_at": facts.last_login_at,
        "written_by": tx.scope.actor,
        "written_through": tx.scope.agent or "",
        # Of the statement and not of the transaction, which began before it waited for its turn.
        "updated_at": func.statement_timestamp(),
    }


def _place(tx: Transaction, column: str, version: int) -> Place:
    # A row of versions is a copy of the profile's row: what is sealed for the one opens for the other.
    return Place("profiles", column, row_key(tx.scope.usr, version))


def _sealed(tx: Transaction, column: str, version: int, text: str | None) -> bytes | None:
    return None if text is None else tx.box.seal(text.encode(), _place(tx, column, version))


def _opened(tx: Transaction, row: Row[Any], column: str) -> str | None:
    sealed = getattr(row, column)
    return None if sealed is None else tx.box.open(sealed, _place(tx, column, row.version)).decode()


def _read(row: Row[Any], tx: Transaction) -> Profile:
    return Profile(
        version=row.version,
        facts=Facts(
            name=_opened(tx, row, "name_sealed"),
            role=_opened(tx, row, "role_sealed"),
            department=_opened(tx, row, "department_sealed"),
            active=row.active,
            last_login_at=row.last_login_at,
            attributes=tx.box.open_json(row.attributes_sealed, _place(tx, "attributes_sealed", row.version)),
        ),
        change_number=row.change_number,
        written_by=Actor(row.written_by),
        written_through=row.written_through or None,
        updated_at=row.updated_at,
    )
