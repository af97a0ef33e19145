"""The profile in an export: every version that there was. An Exported of app.core.portability."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from app.core.portability import BITE, ArchiveFile
from app.infra.db.transaction import Transaction
from app.profile import store
from app.profile.model import MAX_FIELD_CHARS, MAX_REASON_CHARS, MAX_VERSION, Profile, pointer
from app.profile.tables import profile_versions, profiles
from app.web.evidence import CheckedEvidence
from app.web.records import Agent, Record, evidence_record, json_lines
from app.web.wire import JsonObject, Moment

FILE: Final = "profile.jsonl"

Text = Annotated[str, Field(max_length=MAX_FIELD_CHARS)]


class ProfileRecord(Record):
    """A version of the profile, the oldest first. `erased` are the places whose value was erased from it for good."""

    version: Annotated[int, Field(ge=1, le=MAX_VERSION)]
    name: Text | None
    role: Text | None
    department: Text | None
    active: bool | None
    last_login_at: Moment | None
    attributes: JsonObject
    erased: list[str]
    source: str = Field(examples=["statement", "rollback", "erasure"])
    reason: Annotated[str, Field(max_length=MAX_REASON_CHARS)] | None
    evidence: CheckedEvidence | None
    written_by: Literal["user", "operator", "worker"]
    written_through: Agent | None = Field(description="The agent that it was written through.")
    written_at: Moment


class ProfileExport:
    """Gives the versions of the profile."""

    tables: tuple[str, ...] = (profiles.name, profile_versions.name)
    records: Mapping[str, type] = {FILE: ProfileRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give the one file."""
        yield ArchiveFile(FILE, json_lines(_pages(tx)))


async def _pages(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last = 0
    while page := await store.next_versions(tx, last, BITE):
        last = page[-1].version
        yield [_record(version) for version in page]


def _record(version: Profile) -> ProfileRecord:
    facts, why = version.facts, version.why
    return ProfileRecord.kept(
        version=version.version,
        name=facts.name,
        role=facts.role,
        department=facts.department,
        active=facts.active,
        last_login_at=facts.last_login_at,
        attributes=dict(facts.attributes),
        erased=sorted(map(pointer, facts.erased)),
        source=why.source.value,
        reason=why.reason,
        evidence=evidence_record(why.evidence),
        written_by=version.written_by.value,
        written_through=version.written_through,
        written_at=version.updated_at,
    )
