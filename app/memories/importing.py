"""Facts from an archive: each version under its own number, time and trust. An Imported of app.core.portability."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import EvidenceCheck
from app.core.ids import parse, uuid7
from app.core.portability import TAKEN, UNCHANGED, Made, Outcome, Taking, follow
from app.core.scope import Actor, Scope
from app.infra.db.adopting import imported_evidence, imported_id
from app.infra.db.transaction import Transaction
from app.memories import store
from app.memories.expiring import owe_expiry
from app.memories.exporting import FILE, MemoryRecord
from app.memories.indexing import MemoryIndex
from app.memories.model import MAX_MEMORIES, Content, Memory, Origin, State, Trust, require_inferable
from app.web.evidence import evidence_of

_ORIGINS: Final = frozenset(Origin)


class MemoryImport:
    """Takes the versions of facts. A fact that was deleted here stays deleted."""

    file: str = FILE
    record: type = MemoryRecord
    permission: str = "memories:write"

    def __init__(self, index: MemoryIndex, evidence: EvidenceCheck[Transaction]) -> None:
        """Take the index of facts, and what knows which evidence there is."""
        self._index = index
        self._evidence = evidence

    def item(self, record: MemoryRecord) -> str:
        """Return the id of the fact."""
        return record.id

    async def take(self, tx: Transaction, taking: Taking, records: Sequence[MemoryRecord]) -> Sequence[Outcome]:
        """Write what isn't here, one fact after the other."""
        await tx.hold_changes()
        outcomes: list[Outcome] = []
        for _, versions in groupby(records, self.item):
            outcomes += await self._take(tx, taking, list(versions))
        return outcomes

    async def committed(self, scope: Scope) -> None:
        """Do nothing: no copies have facts."""

    async def _take(self, tx: Transaction, taking: Taking, versions: Sequence[MemoryRecord]) -> Sequence[Outcome]:
        source = parse("mem", versions[-1].id)
        memory_id = imported_id(tx.box, "mem", source)
        current = await store.find_any(tx, [memory_id, source])
        base = current.version.number if current else 0
        here = [each for each in versions if each.version <= base]
        outcomes = [await _compared(tx, current, each) for each in here]
        new = versions[len(here) :]
        if any(outcome != UNCHANGED for outcome in outcomes):
            return [*outcomes, *[Outcome.conflict("differs")] * len(new)]
        if not new:
            return outcomes
        contents = [await self._content(tx, taking, each) for each in new]
        refusal = await _refusal(tx, new, contents[-1], base)
        if refusal is not None:
            return [*outcomes, *[refusal] * len(new)]
        await self._write(tx, taking, memory_id, current, new, contents)
        return [*outcomes, *[TAKEN] * len(new)]

    async def _write(
        self,
        tx: Transaction,
        taking: Taking,
        memory_id: UUID,
        current: Memory | None,
        new: Sequence[MemoryRecord],
        contents: Sequence[Content],
    ) -> None:
        entry = AuditEntry("import", "memory", current.id if current else memory_id)
        number = await tx.next_change(entry)
        if current is not None and not current.is_deleted:
            await self._index.take(tx, current, entry)
        memory = current
        for record, content in zip(new, contents, strict=True):
            through = record.written_through if taking.keeps_trust else taking.agent
            made = Made(Actor.USER, through, record.written_at, record.created_at)
            if memory is None:
                memory = await store.create(tx, memory_id, uuid7(), content, number, entry, made)
            else:
                memory = await store.replace(tx, memory, uuid7(), content, number, entry, made)
            if memory is None:
                raise RuntimeError("a fact changed while its user's changes were held")
            if memory.ends_there:
                await store.erase_texts(tx, memory.id, memory.version.number, entry)
        if memory is not None and memory.is_there(datetime.now(UTC)):
            await self._index.put(tx, memory, entry)
        if memory is not None:
            owe_expiry(tx, memory)

    async def _content(self, tx: Transaction, taking: Taking, record: MemoryRecord) -> Content:
        is_kept, is_deletion = State(record.state) is State.KEPT, State(record.state) is State.DELETED
        trust = _trust(record, taking)
        known = Origin(record.source) if record.source in _ORIGINS else Origin.IMPORTED
        ended = known in {Origin.DELETION, Origin.EXPIRY}
        return Content(
            # What was erased is erased here when the deletion comes that it was erased by.
            State.DELETED if is_deletion else State.KEPT,
            None if is_deletion else (record.text if is_kept else "") or "",
            trust,
            Origin.IMPORTED if trust is Trust.IMPORTED and not ended else known,
            record.confidence,
            await imported_evidence(tx, self._evidence, evidence_of(record.evidence)),
            record.metadata if is_kept else {},
            record.expires_at,
        )


async def _refusal(tx: Transaction, new: Sequence[MemoryRecord], last: Content, base: int) -> Outcome | None:
    """Return why versions can't be written after version `base`; None where they can."""
    if not follow([(each.version, each.state) for each in new], base):
        return Outcome.refused("out_of_order")
    if any(State(each.state) is State.KEPT and not (each.text or "").strip() for each in new):
        return Outcome.refused("invalid")
    try:
        require_inferable(last, tx.processing)
    except AppError as error:
        return Outcome.refused(error.code)
    if not base and last.state is State.KEPT and await store.count(tx) >= MAX_MEMORIES:
        return Outcome.refused("quota_exceeded")
    return None


async def _compared(tx: Transaction, current: Memory | None, record: MemoryRecord) -> Outcome:
    there = await store.find_version(tx, current.id, record.version) if current else None
    if there is None:
        return Outcome.conflict("differs")
    content = there.content
    is_same = content.state == record.state and (content.text or None) == (record.text or None)
    return UNCHANGED if is_same else Outcome.conflict("differs")


def _trust(record: MemoryRecord, taking: Taking) -> Trust:
    trust = Trust(record.trust)
    if trust is Trust.INFERRED or (trust is Trust.EXPLICIT and taking.keeps_trust):
        return trust
    return Trust.IMPORTED
