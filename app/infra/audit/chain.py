"""How the audit is sealed: rows to digests, digests to batches, each signed and chained to the one before. Pure.

The forms are documented in docs/audit.md. What is signed or hashed is canonical JSON (app/infra/crypto/signing.py);
numbers of 64 bits are texts in it, for not every reader of JSON holds them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from app.core.ids import show
from app.infra.crypto.signing import Signer, canonical_json, verify

ROW_FORM: Final = "cairn-audit-row/1"
BATCH_FORM: Final = "cairn-audit-batch/1"
DIGEST_BYTES: Final = 32
# What the first batch of a chain names as the one before.
NO_DIGEST: Final = bytes(DIGEST_BYTES)
FIRST_NUMBER: Final = 1
# Below every id of a row.
NO_ID: Final = -(2**63)
# Above every id of a transaction that PostgreSQL gives.
END_OF_XIDS: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of the audit, as it is sealed. `xid` is the transaction that wrote it."""

    id: int
    xid: int
    at: datetime
    tenant: str
    usr: UUID
    actor: str
    agent: str | None
    operator: UUID | None
    action: str
    kind: str
    item: UUID | None
    outcome: str
    request_id: str
    address: str
    reason_sealed: bytes | None


@dataclass(frozen=True, slots=True)
class Line:
    """Where rows are on a chain: above the id `past_id` and written by transactions from `from_xid` on.

    It is always one line but where a server was restored from a dump: transactions are then counted anew from a low
    number, while ids go on. `last_id` is the highest id that is sealed.
    """

    past_id: int = NO_ID
    from_xid: int = 0
    last_id: int = NO_ID


@dataclass(frozen=True, slots=True)
class Batch:
    """The seal on the rows of a tenant above the id `past_id` whose transactions are in [from_xid, to_xid)."""

    tenant: str
    number: int
    previous: bytes
    past_id: int
    from_xid: int
    to_xid: int
    last_id: int
    row_count: int
    rows_digest: bytes
    sealed_at: datetime
    key_id: str = ""
    signature: str = ""

    def document(self) -> Mapping[str, Any]:
        """Return what is signed."""
        return {
            "form": BATCH_FORM,
            "tenant": self.tenant,
            "number": str(self.number),
            "previous": self.previous.hex(),
            "past_id": str(self.past_id),
            "from_xid": str(self.from_xid),
            "to_xid": str(self.to_xid),
            "last_id": str(self.last_id),
            "row_count": self.row_count,
            "rows_digest": self.rows_digest.hex(),
            "sealed_at": _moment(self.sealed_at),
            "key_id": self.key_id,
        }

    def digest(self) -> bytes:
        """Return what the next batch names as the one before."""
        return hashlib.sha256(canonical_json(self.document())).digest()

    def signed(self, signer: Signer) -> "Batch":
        """Return it with its signature."""
        named = replace(self, key_id=signer.key_id)
        return replace(named, signature=signer.sign(named.document()))

    def is_signed_by(self, keys: Mapping[str, Mapping[str, str]]) -> bool:
        """Say whether one of the keys, by id, has signed it as it is."""
        key = keys.get(self.key_id)
        return key is not None and verify(self.document(), self.signature, key)

    def line(self) -> Line:
        """Return where the rows that follow begin."""
        return Line(self.past_id, self.to_xid, self.last_id)


def row_document(row: AuditRow) -> Mapping[str, Any]:
    """Return what is hashed of a row: all of it. Of a reason the hash of what is kept, which nobody need open."""
    return {
        "form": ROW_FORM,
        "id": str(row.id),
        "xid": str(row.xid),
        "at": _moment(row.at),
        "tenant": row.tenant,
        "user": show("usr", row.usr),
        "actor": row.actor,
        "agent": row.agent,
        "operator": row.operator and row.operator.hex,
        "action": row.action,
        "kind": row.kind,
        "item": row.item and row.item.hex,
        "outcome": row.outcome,
        "request_id": row.request_id,
        "address": row.address,
        "reason": row.reason_sealed and hashlib.sha256(row.reason_sealed).hexdigest(),
    }


def digest_of(rows: Sequence[AuditRow]) -> bytes:
    """Return the digest of rows in the order of a batch: by transaction, then by id."""
    whole = hashlib.sha256()
    for row in sorted(rows, key=lambda row: (row.xid, row.id)):
        whole.update(hashlib.sha256(canonical_json(row_document(row))).digest())
    return whole.digest()


def next_batch(tenant: str, last: Batch | None, line: Line, rows: Sequence[AuditRow], to_xid: int) -> Batch:
    """Return the batch of these rows, not yet signed: all that the line has below `to_xid`."""
    return Batch(
        tenant=tenant,
        number=last.number + 1 if last else FIRST_NUMBER,
        previous=last.digest() if last else NO_DIGEST,
        past_id=line.past_id,
        from_xid=line.from_xid,
        to_xid=to_xid,
        last_id=max(line.last_id, *(row.id for row in rows)),
        row_count=len(rows),
        rows_digest=digest_of(rows),
        sealed_at=datetime.now(UTC),
    )


def follows(batch: Batch, number: int, previous: bytes, line: Line) -> bool:
    """Say whether a batch is the one that comes next: its number, the digest before it, and where its rows begin."""
    goes_on = (batch.past_id, batch.from_xid) == (line.past_id, line.from_xid)
    # A line that begins after a dump was restored: above every id that is sealed.
    begins = batch.past_id >= line.last_id and batch.from_xid == 0
    return batch.number == number and batch.previous == previous and (goes_on or begins)


def _moment(at: datetime) -> str:
    if at.tzinfo is None:  # what the driver makes of an infinite time: nobody but a forger has written it
        return at.isoformat()
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
