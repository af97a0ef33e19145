"""Registered secrets in an export: that there are some, and nothing of what they are. An Exported of
app.core.portability.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from app.core.portability import ArchiveFile
from app.infra.db.transaction import Transaction
from app.verifications import store
from app.verifications.tables import registered_secrets
from app.web.records import Record, json_lines
from app.web.wire import Moment

FILE: Final = "registered_secrets.jsonl"


class RegisteredSecretRecord(Record):
    """That a number of a type is compared for the user, or was. Its hash is of no use elsewhere and isn't given."""

    type: str
    is_registered: bool
    reason: str
    changed_at: Moment


class SecretExport:
    """Gives which types are registered."""

    tables: tuple[str, ...] = (registered_secrets.name,)
    records: Mapping[str, type] = {FILE: RegisteredSecretRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give the one file."""
        yield ArchiveFile(FILE, json_lines(_pages(tx)))


async def _pages(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    # One of each type at most: there are few types.
    yield [
        RegisteredSecretRecord.kept(
            type=each.type, is_registered=each.is_registered, reason=each.reason, changed_at=each.changed_at
        )
        for each in await store.registrations(tx)
    ]
