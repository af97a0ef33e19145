"""What a catalogue says of a key, and what follows from it for a value. Pure but for the validation of schemas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.core.errors import AppError, invalid
from app.core.text.sensitive import category
from app.preferences.catalogue.schema import Schema, misfit, violation
from app.preferences.model import canonical

# Deleted ones count: their stubs keep their version.
MAX_KEYS = 1_000
MAX_ENUMERATION = 200


class Merge(StrEnum):
    """What becomes of a statement after a version that isn't the current one any more."""

    REFUSE = "refuse"
    # It succeeds, and says what it has passed over.
    LAST_WRITE = "last_write"


@dataclass(frozen=True, slots=True)
class Registration:
    """What a tenant says of a key.

    `commitment`: approvals, consents, amounts; a stale statement of one is always refused, and none is ever inferred
    without the user's yes. `sensitive`: kept where the user says it, never inferred.
    """

    schema: Schema
    enumeration: Sequence[object] | None
    merge: Merge
    commitment: bool
    sensitive: bool
    description: str
    names: Mapping[str, str]

    def require_sound(self) -> None:
        """Raise `invalid` for what contradicts itself. Asked before it is registered, not at every read."""
        if self.commitment and self.merge is Merge.LAST_WRITE:
            raise invalid("merge", "must be refuse for a commitment")
        place = misfit(self.schema, self.enumeration or ())
        if place is not None:
            raise invalid(f"enumeration[{place}]", "doesn't meet the schema")


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of the catalogue at its version. `registration` is None for the stub of one that was deleted."""

    id: UUID
    key: str
    version: int
    updated_at: datetime
    registration: Registration | None


@dataclass(frozen=True, slots=True)
class Closing:
    """Whether keys that aren't registered are refused. Version 0: nobody has said anything, and they aren't."""

    closed: bool
    version: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What the catalogue says of the keys of one request."""

    closed: bool = False
    registered: Mapping[str, Registration] = field(default_factory=dict)

    def require_said(self, key: str, value: object, named: str = "value") -> None:
        """Raise `invalid` for a value that the catalogue doesn't allow, `sensitive_category` for one that is kept under
        a key that is registered for it alone. `named` is the field that an error names.
        """
        self._require_allowed(key, value, named)
        registration = self.registered.get(key)
        if registration is None or not registration.sensitive:
            self._require_harmless(key, value)

    def require_inferable(self, key: str, value: object) -> None:
        """Raise as `require_said`; and whatever is sensitive is never inferred."""
        registration = self.registered.get(key)
        if registration is not None and registration.sensitive:
            raise AppError("sensitive_category")
        self._require_harmless(key, value)
        self._require_allowed(key, value, "value")

    def merges(self, key: str) -> bool:
        """Say whether a stale statement of the key succeeds."""
        registration = self.registered.get(key)
        return registration is not None and registration.merge is Merge.LAST_WRITE

    def is_commitment(self, key: str) -> bool:
        """Say whether the key holds what the user has committed to."""
        registration = self.registered.get(key)
        return registration is not None and registration.commitment

    def plain_key(self, key: str) -> str | None:
        """Return the key where its values stand in the database as they are, None where they are sealed.

        Values of an enumeration are the tenant's own words; statistics are made of them. Not of what is sensitive.
        """
        registration = self.registered.get(key)
        if registration is None or registration.enumeration is None or registration.sensitive:
            return None
        return key

    def _require_allowed(self, key: str, value: object, named: str) -> None:
        registration = self.registered.get(key)
        if registration is None:
            if self.closed:
                raise invalid("key", "isn't in the tenant's catalogue, which is closed")
            return
        values = registration.enumeration
        if values is not None and canonical(value) not in map(canonical, values):
            raise invalid(named, "isn't one of the values that the catalogue has for this key")
        failed = violation(registration.schema, value)
        if failed is not None:
            raise invalid(named, f"doesn't meet the catalogue's schema for this key: {failed}")

    def _require_harmless(self, key: str, value: object) -> None:
        registration = self.registered.get(key)
        if registration is not None and registration.enumeration is not None:
            return  # the tenant has named each value, and that none is sensitive
        # A tenant that has registered the key has judged its name.
        found = category(value, named=None if registration is not None else key)
        if found is not None:
            raise AppError("sensitive_category", category=found.value)
