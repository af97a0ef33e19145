"""An erasure, its counts and its certificate."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.core.memory import UserData
from app.core.recipients import Receiving
from app.core.scope import Scope

CERTIFICATE_VERSION = 1

METHODS = {
    "postgres": "rows deleted by owner; their contents were sealed under the key that was destroyed",
    "redis": "keys deleted by owner; their contents were sealed under the key that was destroyed",
    "chroma": "collections of the user deleted; they held rotated vectors and ids, no text",
    "keys": "data keys, index secret and the link from the person to the reference destroyed",
}
BACKUPS = (
    "Copies of the data that exist elsewhere (backups, write-ahead logs, append-only files) hold only values sealed "
    "under the destroyed key and can't be read any more."
)
RECIPIENTS = (
    "Services of models that texts of users were sent to at some time since this user's first; what they keep, and for "
    "how long, is in the contract with them, and their erasure is to be asked of them."
)
# By who asked. The worker begins an erasure where a backup had brought the user back.
RIGHTS = {
    "user": "erasure at the user's own request (GDPR Article 17; PIPL Article 47)",
    "operator": "erasure by the organisation that is responsible (GDPR Articles 5(1)(e) and 17(1); PIPL Article 47)",
    "worker": "an erasure of before, again, after a backup was restored (GDPR Article 17; PIPL Article 47)",
}
PENDING_FILES = (
    "chroma: the files of the collections that were deleted are removed by the worker; they hold rotated vectors and "
    "ids, no text. The certificate that is read after that says nothing more is pending"
)
FILES_ELSEWHERE = (
    "chroma: the files of the collections that were deleted lie on a server that can't be reached from here; they hold "
    "rotated vectors and ids, no text. Its operator removes them by `cairn index sweep`"
)


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erasure as it stands. `before` is counted once, before anything is removed."""

    id: UUID
    requested_by: str
    agent: str | None
    requested_at: datetime
    stop: bool
    before: Mapping[str, int] | None
    certificate: Mapping[str, Any] | None
    finished_at: datetime | None

    @property
    def state(self) -> str:
        """Return `done` when the certificate is there, else `running`."""
        return "done" if self.certificate else "running"


@dataclass(frozen=True, slots=True)
class Verification:
    """What a later look into every store found: zero everywhere, or where not.

    `unswept` counts the folders on Chroma's disk whose collection was deleted, anybody's; None where it can't be looked
    at from here.
    """

    checked_at: datetime
    remaining: Mapping[str, int]
    unswept: int | None

    @property
    def clean(self) -> bool:
        """Say whether nothing was left."""
        return not any(self.remaining.values())


def make_certificate(
    scope: Scope,
    erasure: Erasure,
    kinds: Sequence[UserData],
    remaining: Mapping[str, int],
    keys_destroyed: int,
    finished_at: datetime,
    recipients: Sequence[Receiving],
    *,
    is_swept_here: bool,
) -> dict[str, Any]:
    """Return the certificate's document: who asked, what was where, how it was removed, what is left and until when,
    and who outside may have received something. No personal data.
    """
    before = erasure.before or {}
    return {
        "version": CERTIFICATE_VERSION,
        "title": "Certificate of erasure",
        "erasure_id": f"ers_{erasure.id.hex}",
        "tenant": scope.tenant,
        "reference": f"usr_{scope.usr.hex}",
        "reference_note": "random; it stood for the user in all stores, and nothing leads from it to a person now",
        "requested_by": erasure.requested_by,
        "requested_through": erasure.agent or "no agent",
        "right": RIGHTS[erasure.requested_by],
        "requested_at": _instant(erasure.requested_at),
        "finished_at": _instant(finished_at),
        "stores": [
            {
                "store": kind.store,
                "kind": kind.name,
                "before": before.get(kind.name, 0),
                "erased": before.get(kind.name, 0) - remaining.get(kind.name, 0),
                "remaining": remaining.get(kind.name, 0),
                "method": METHODS[kind.store],
            }
            for kind in kinds
            if kind.retained is None
        ]
        + [
            {
                "store": "keys",
                "kind": "keys",
                "before": before.get("keys", keys_destroyed),
                "erased": before.get("keys", keys_destroyed),
                "remaining": 0,
                "method": METHODS["keys"],
            },
        ],
        "retained": [{"kind": kind.name, **asdict(kind.retained)} for kind in kinds if kind.retained is not None],
        "recipients": [_recipient(each) for each in recipients],
        "recipients_note": RECIPIENTS if recipients else "no text was sent to a service outside of this installation",
        "pending": [PENDING_FILES if is_swept_here else FILES_ELSEWHERE],
        "processing": "stopped: no new memory is begun for this person" if erasure.stop else "a new memory may begin",
        "backups": BACKUPS,
    }


def swept(document: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return the certificate's document when what was pending is done."""
    return {**document, "pending": [], "swept_at": _instant(at)}


def _recipient(each: Receiving) -> dict[str, Any]:
    return {
        "purpose": each.recipient.purpose,
        "host": each.recipient.host,
        "model": each.recipient.model,
        "since": _instant(each.since),
        "until": None if each.until is None else _instant(each.until),
    }


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
