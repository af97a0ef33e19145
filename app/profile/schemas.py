"""The profile on the wire."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, JsonValue

from app.core.ids import show
from app.profile.model import MAX_FIELD_CHARS, History, Profile
from app.web.wire import Answer, JsonObject, Moment, Request

Name = Annotated[str, Field(max_length=MAX_FIELD_CHARS)]


class ProfilePatch(Request):
    """A merge patch (RFC 7396): what is sent is changed, null removes, and objects inside `attributes` are merged."""

    name: Name | None = None
    role: Name | None = None
    department: Name | None = None
    active: Annotated[bool, Field(strict=True)] | None = None
    last_login_at: Moment | None = None
    attributes: JsonObject | None = None

    def sent(self) -> dict[str, Any]:  # Any: each field has a type of its own
        """Return the fields that were sent."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class FactsAnswer(Answer):
    """What is known of the user."""

    version: int
    name: str | None
    role: str | None
    department: str | None
    active: bool
    last_login_at: Moment | None
    attributes: dict[str, JsonValue]


class ProfileAnswer(FactsAnswer):
    """The profile. `updated_at` is null at version 0, before the first change."""

    id: str
    updated_at: Moment | None


class ProfileVersionAnswer(FactsAnswer):
    """A version: what it says, and who wrote it, through which agent and when."""

    written_at: Moment | None
    written_by: str = Field(examples=["user", "operator", "worker"])
    written_through: str | None


class ProfileHistoryAnswer(Answer):
    """Versions of the profile, newest first."""

    items: list[ProfileVersionAnswer]
    next_cursor: str | None
    snapshot: str


def profile_answer(usr: UUID, profile: Profile) -> ProfileAnswer:
    """Show a profile."""
    return ProfileAnswer(**_facts(profile), id=show("usr", usr), updated_at=profile.updated_at)


def history_answer(history: History, next_cursor: str | None) -> ProfileHistoryAnswer:
    """Show the versions of a profile."""
    items = [
        ProfileVersionAnswer(
            **_facts(profile),
            written_at=profile.updated_at,
            written_by=profile.written_by.value,
            written_through=profile.written_through,
        )
        for profile in history.items
    ]
    return ProfileHistoryAnswer(items=items, next_cursor=next_cursor, snapshot=history.snapshot)


def _facts(profile: Profile) -> dict[str, Any]:  # Any: the fields of FactsAnswer, each of its own type
    facts = profile.facts
    return {
        "version": profile.version,
        "name": facts.name,
        "role": facts.role,
        "department": facts.department,
        "active": facts.active,
        "last_login_at": facts.last_login_at,
        "attributes": dict(facts.attributes),
    }
