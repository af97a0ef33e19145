"""What users state in messages that has no key: kept as facts, in their words."""

from datetime import datetime

from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.ids import show
from app.core.text.sensitive import category
from app.core.writing import OTHER, Became, Fate, Finding, Inferred, Kind, Right, Waits
from app.infra.db.transaction import Transaction
from app.memories.indexing import MemoryIndex
from app.memories.model import Content, Memory, Origin, State
from app.memories.model import Trust as Known
from app.memories.service import put


class FactKeeper:
    """Keeps what the user plainly said and nothing has a key for. A Keeper and an Accepting of app.core.writing."""

    right = Right.MEMORIES
    waits: Waits | None = Waits.MEMORY

    def __init__(self, index: MemoryIndex) -> None:
        """Take the index of facts."""
        self._index = index

    def takes(self, finding: Finding) -> bool:
        """Say whether it has no key of its own, or tells no more than that it is about the user."""
        return finding.kind is Kind.MEMORY or (finding.key == OTHER and finding.kind in {Kind.PREFERENCE, Kind.PROFILE})

    async def keep(
        self,
        tx: Transaction,
        finding: Finding,
        evidence: Evidence,
        at: datetime,  # noqa: ARG002 - one fact doesn't replace another
    ) -> Fate | None:
        """Write a fact. Raises `sensitive_category`: no catalogue has a key that allows it; and `quota_exceeded`."""
        await self._write(tx, finding.sentence, evidence)
        return Fate.APPLIED

    async def knows(self, tx: Transaction, inferred: Inferred) -> bool:  # noqa: ARG002 - a fact is one of many
        """Say no: facts stand beside each other. Raises `sensitive_category`."""
        _require_plain(str(inferred.value))
        return False

    async def version(self, tx: Transaction) -> int:  # noqa: ARG002 - as above
        """Return 0: an accepted fact is a new one."""
        return 0

    async def accept(self, tx: Transaction, inferred: Inferred) -> Became:
        """Write a fact. Raises as `keep`."""
        fact = await self._write(tx, str(inferred.value), inferred.evidence)
        return Became("memory", show("mem", fact.id), fact.version.number)

    async def _write(self, tx: Transaction, text: str, evidence: Evidence | None) -> Memory:
        _require_plain(text)
        return await put(tx, self._index, Content(State.KEPT, text, Known.EXPLICIT, Origin.EXPLICIT, evidence=evidence))


def _require_plain(text: str) -> None:
    found = category(text)
    if found is not None:
        raise AppError("sensitive_category", category=found.value)
