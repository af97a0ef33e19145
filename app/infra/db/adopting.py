"""What comes from another installation: under which ids it is kept here, what it names as evidence, who wrote it when.

An id of elsewhere always becomes the same id of this user's, so that what is imported twice is there once; it becomes
another of anybody else's, so that nobody's ids lead to somebody who has imported their archive.
"""

import hmac
from typing import Any
from uuid import UUID

from app.core.evidence import Evidence, EvidenceCheck
from app.core.portability import Made
from app.infra.crypto.box import Box
from app.infra.db.snapshots import made_at
from app.infra.db.transaction import Transaction

_TIME_BYTES = 6
_REST_BYTES = 10


def imported_id(box: Box, prefix: str, source: UUID) -> UUID:
    """Return the id of a thing that had the id `source` elsewhere: a UUID of version 7 with that one's time."""
    rest = hmac.digest(box.derive("import"), prefix.encode() + b"\0" + source.bytes, "sha256")[:_REST_BYTES]
    value = int.from_bytes(source.bytes[:_TIME_BYTES] + rest)
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


async def imported_evidence(
    tx: Transaction, check: EvidenceCheck[Transaction], claimed: Evidence | None
) -> Evidence | None:
    """Return what stands here for evidence of elsewhere; None where it wasn't imported, or is deleted."""
    if claimed is None:
        return None
    here = Evidence(claimed.kind, imported_id(tx.box, claimed.kind.value, claimed.id))
    found = await check.present(tx, [here, claimed])
    return next((evidence for evidence in (here, claimed) if evidence in found), None)


def authored(tx: Transaction, change_number: int, made: Made | None, at: str = "written_at") -> dict[str, Any]:
    """Return the columns of who wrote a version, and when. What was made elsewhere keeps its own.

    Otherwise the time is the change's, which is in the order of the changes: `as_of` this time is this version.
    """  # Any: each column has a type of its own
    if made is not None:
        return {"written_by": made.by, "written_through": made.through or "", at: made.at}
    scope = tx.scope
    return {"written_by": scope.actor, "written_through": scope.agent or "", at: made_at(scope, change_number)}
