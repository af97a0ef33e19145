"""Facts in an export: every version of each. An Exported of app.core.portability."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from app.core.ids import show
from app.core.portability import BITE, ArchiveFile
from app.infra.db.transaction import Transaction
from app.memories import store
from app.memories.model import MAX_TEXT_CHARS, MAX_VERSION, Memory
from app.memories.tables import memories, memory_versions
from app.web.evidence import CheckedEvidence
from app.web.records import Agent, Record, evidence_record, json_lines
from app.web.wire import JsonObject, Moment

FILE: Final = "memories.jsonl"


class MemoryRecord(Record):
    """A version of a fact; those of one stand together, the oldest first.

    `state` says why there is no text: it was `erased`, or this version is the deletion itself.
    """

    id: Annotated[str, Field(pattern=r"^mem_[0-9a-f]{32}$")]
    created_at: Moment
    version: Annotated[int, Field(ge=1, le=MAX_VERSION)]
    state: Literal["kept", "erased", "deleted"]
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)] | None
    metadata: JsonObject
    trust: Literal["explicit", "operator", "imported", "inferred"]
    source: str = Field(examples=["explicit", "inferred", "imported", "deletion", "expiry"])
    confidence: Annotated[float, Field(ge=0, le=1)] | None
    evidence: CheckedEvidence | None
    expires_at: Moment | None
    written_by: Literal["user", "operator", "worker"]
    written_through: Agent | None
    written_at: Moment


class MemoryExport:
    """Gives the versions of facts."""

    tables: tuple[str, ...] = (memories.name, memory_versions.name)
    records: Mapping[str, type] = {FILE: MemoryRecord}

    async def files(self, tx: Transaction) -> AsyncIterator[ArchiveFile]:
        """Give the one file."""
        yield ArchiveFile(FILE, json_lines(_pages(tx)))


async def _pages(tx: Transaction) -> AsyncIterator[Sequence[Record]]:
    last: tuple[UUID, int] | None = None
    while page := await store.next_versions(tx, last, BITE):
        last = (page[-1].id, page[-1].version.number)
        yield [_record(memory) for memory in page]


def _record(memory: Memory) -> MemoryRecord:
    version, content = memory.version, memory.version.content
    return MemoryRecord.kept(
        id=show("mem", memory.id),
        created_at=memory.created_at,
        version=version.number,
        state=content.state.value,
        text=content.text,
        metadata=dict(content.metadata),
        trust=content.trust.value,
        source=content.source.value,
        confidence=content.confidence,
        evidence=evidence_record(content.evidence),
        expires_at=content.expires_at,
        written_by=version.written_by.value,
        written_through=version.written_through,
        written_at=version.written_at,
    )
