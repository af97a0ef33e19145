"""The catalogue in Postgres. Each function is one statement; row-level security shows the bound tenant's alone."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.audit import AuditEntry
from app.infra.db.transaction import Transaction
from app.preferences.catalogue.model import Closing, Entry, Merge, Registration, Rules
from app.preferences.catalogue.tables import catalogue_keys, catalogue_settings

_SAID = ("schema", "enumeration", "merge", "commitment", "sensitive", "description", "names")


async def rules(tx: Transaction, keys: Sequence[str]) -> Rules:
    """Return what the catalogue says of some keys: one statement, for every write asks."""
    closed = select(catalogue_settings.c.closed).filter_by(tenant=tx.scope.tenant).scalar_subquery()
    asked = (
        select(func.coalesce(closed, False).label("closed"), catalogue_keys)
        .select_from(select(1).subquery("one"))
        .outerjoin(
            catalogue_keys,
            (catalogue_keys.c.tenant == tx.scope.tenant) & catalogue_keys.c.key.in_(keys) & ~catalogue_keys.c.deleted,
        )
    )
    rows = await tx.rows(asked)
    found = {row.key: _registration(row) for row in rows if row.key is not None}
    return Rules(rows[0].closed, {key: said for key, said in found.items() if said is not None})


async def find(tx: Transaction, key: str) -> Entry | None:
    """Return a key, a stub too; None where it never was registered."""
    row = await tx.row(select(catalogue_keys).filter_by(tenant=tx.scope.tenant, key=key))
    return _read(row) if row else None


async def page(tx: Transaction, after: str | None, limit: int) -> Sequence[Entry]:
    """Return the registered keys in their order, after one where given."""
    asked = select(catalogue_keys).filter_by(tenant=tx.scope.tenant, deleted=False)
    if after is not None:
        asked = asked.where(catalogue_keys.c.key > after)
    return [_read(row) for row in await tx.rows(asked.order_by(catalogue_keys.c.key).limit(limit))]


async def count(tx: Transaction) -> int:
    """Return how many keys there are, stubs included."""
    number: int = await tx.scalar(select(func.count()).select_from(catalogue_keys).filter_by(tenant=tx.scope.tenant))
    return number


async def create(tx: Transaction, entry_id: UUID, key: str, said: Registration, entry: AuditEntry) -> Entry | None:
    """Register a key; None where another operator was first."""
    row = {"tenant": tx.scope.tenant, "id": entry_id, "key": key, "version": 1, **_columns(said)}
    made = upsert(catalogue_keys).values(**row).on_conflict_do_nothing().returning(catalogue_keys)
    found = (await tx.change(made, entry)).one_or_none()
    return _read(found) if found else None


async def replace(tx: Transaction, key: str, base: int, said: Registration | None, entry: AuditEntry) -> Entry | None:
    """Write the version after `base`, a stub where nothing is said; None where `base` isn't current any more."""
    changed = update(catalogue_keys).filter_by(tenant=tx.scope.tenant, key=key, version=base)
    values = changed.values(version=base + 1, **_columns(said)).returning(catalogue_keys)
    found = (await tx.change(values, entry)).one_or_none()
    return _read(found) if found else None


async def find_closing(tx: Transaction) -> Closing:
    """Return whether the catalogue is closed."""
    row = await tx.row(select(catalogue_settings).filter_by(tenant=tx.scope.tenant))
    return Closing(row.closed, row.version) if row else Closing(closed=False, version=0)


async def replace_closing(tx: Transaction, base: int, entry: AuditEntry, *, closed: bool) -> Closing | None:
    """Write the version after `base`; None where `base` isn't current any more."""
    row = {"tenant": tx.scope.tenant, "version": base + 1, "closed": closed}
    written = upsert(catalogue_settings).values(**row)
    if base:
        written = written.on_conflict_do_update(
            index_elements=["tenant"], set_=row, where=catalogue_settings.c.version == base
        )
    else:
        written = written.on_conflict_do_nothing()
    found = (await tx.change(written.returning(catalogue_settings), entry)).one_or_none()
    return Closing(found.closed, found.version) if found else None


def _columns(said: Registration | None) -> dict[str, Any]:  # Any: each column has a type of its own
    columns: dict[str, Any] = dict.fromkeys(_SAID)
    if said is not None:
        columns = {name: getattr(said, name) for name in _SAID}
        columns |= {"schema": dict(said.schema), "names": dict(said.names)}
        columns["enumeration"] = None if said.enumeration is None else list(said.enumeration)
    return columns | {"deleted": said is None, "updated_at": func.clock_timestamp()}


def _read(row: Row[Any]) -> Entry:
    return Entry(row.id, row.key, row.version, row.updated_at, _registration(row))


def _registration(row: Row[Any]) -> Registration | None:
    if row.deleted:
        return None
    return Registration(
        schema=row.schema,
        enumeration=row.enumeration,
        merge=Merge(row.merge),
        commitment=row.commitment,
        sensitive=row.sensitive,
        description=row.description,
        names=row.names,
    )


async def allows_sensitive(tx: Transaction, key: str) -> bool:
    """Say whether the tenant has registered a key as sensitive: then what users say of it is kept."""
    registration = (await rules(tx, [key])).registered.get(key)
    return registration is not None and registration.sensitive
