"""The data of no feature: what the doors, the index, the queue and the audit keep of a user."""

from app.core.memory import UserData
from app.erasure import tables as erasure_tables
from app.erasure.retained import PROOF, TOMBSTONE
from app.infra.audit import tables as audit_tables
from app.infra.db import tables as db_tables
from app.infra.db.rows import OwnedRows
from app.infra.db.transaction import Database
from app.infra.queue.userdata import JobsData
from app.infra.segments.cache import IndexCache
from app.infra.segments.userdata import IndexData


def shared_data(db: Database, cache: IndexCache) -> list[UserData]:
    """Return each kind of it: how it is counted and erased, or why it stays."""
    return [
        JobsData(db),
        OwnedRows(db, "idempotency", (db_tables.idempotency,)),
        IndexData(db, cache),
        OwnedRows(db, "changes", (db_tables.user_changes,)),
        OwnedRows(db, "users", (db_tables.users,), retained=TOMBSTONE),
        OwnedRows(db, "audit", (audit_tables.audit_log,), retained=PROOF),
        OwnedRows(db, "erasures", (erasure_tables.erasures,), retained=PROOF),
    ]
