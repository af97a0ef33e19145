"""The content-free note of an access: what the audit keeps of a read, a write or a refusal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from app.core.scope import Scope


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One access: a verb, the kind of thing, its id. Who, for whom, when and from where come from the Scope."""

    action: str
    kind: str
    item: UUID | None = None
    outcome: str = "done"


class AccessLog(Protocol):
    """Takes the entries that have no transaction of their own: reads and refusals."""

    def put(self, scope: Scope, entry: AuditEntry) -> None:
        """Take one entry; it is durable within a second."""
        ...

    async def saw(self, scope: Scope, entries: Sequence[AuditEntry], reason_sealed: bytes | None = None) -> None:
        """Take what was read, and wait until it is durable where it must be before the answer.

        Raises `store_unavailable` where that takes too long.
        """
        ...

    async def flushed(self) -> None:
        """Wait until what was put so far is durable. Raises `store_unavailable` where that takes too long."""
        ...
