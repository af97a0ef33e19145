"""How a version of a preference is written: under its number of the user's changes, after the version it builds on."""

from dataclasses import dataclass
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.scope import Scope
from app.core.superseding import superseded_by
from app.core.versions import Precondition
from app.infra.db.transaction import Transaction
from app.preferences import candidate_store, store
from app.preferences.model import MAX_PREFERENCES, Content, Preference, base_of


@dataclass(frozen=True, slots=True)
class Change:
    """A version that is due: of which preference, after which version (None: the first), and what it says.

    `plain_key` is the key where its value is one of a registered enumeration and needn't be sealed, None elsewhere.
    """

    id: UUID
    key: str
    base: int | None
    content: Content
    plain_key: str | None = None


async def perform(
    tx: Transaction,
    change: Change,
    agent: str | None,
    precondition: Precondition,
    verb: str,
) -> Preference:
    """Write one version. What was read before may be old by now: the statement's own condition decides."""
    entry = AuditEntry(verb, "preference", change.id)
    number = await tx.next_change(entry)
    if change.base is None:
        await require_room(tx, 1)
    preference = await apply(tx, change, agent, number, entry)
    if preference is None:
        base_of(precondition, await store.find(tx, change.key, agent))
        raise AppError("conflict", "it was changed at the same time")
    return preference


async def apply(
    tx: Transaction,
    change: Change,
    agent: str | None,
    number: int,
    entry: AuditEntry,
) -> Preference | None:
    """Write one version under a number that the caller has taken; None where its base isn't current any more.

    A candidate that waits and says the same has nothing to wait for any more.
    """
    if change.base is None:
        written = await store.create(
            tx, change.id, change.key, agent, change.content, number, entry, plain_key=change.plain_key
        )
    else:
        written = await store.replace(
            tx, change.id, change.base, change.content, number, entry, plain_key=change.plain_key
        )
        if written is not None and await store.identified(tx, change.id, change.base):
            tx.enqueue(superseded_by(number, agent))
    if written is not None and not written.is_deleted:
        for candidate_id in await candidate_store.fulfil(tx, change.key, agent, change.content.value, entry):
            await tx.forget_answers(candidate_id, entry)
    return written


async def require_room(tx: Transaction, created: int) -> None:
    """Raise `quota_exceeded` where the user can't have that many preferences more."""
    if created and await store.count(tx) + created > MAX_PREFERENCES:
        raise AppError("quota_exceeded", f"at most {MAX_PREFERENCES} preferences")


def require_own(scope: Scope, agent: str | None) -> None:
    """Raise `not_found` for a value that belongs to another agent than the caller's."""
    if agent is not None and agent != scope.agent:
        raise AppError("not_found")
