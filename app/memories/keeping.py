"""What users state in messages that has no key: kept as facts, in their words."""

from datetime import datetime

from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.text.sensitive import category
from app.core.writing import OTHER, Fate, Finding, Kind, Right, Trust
from app.infra.db.transaction import Transaction
from app.memories.indexing import MemoryIndex
from app.memories.model import Content, Origin, State
from app.memories.model import Trust as Known
from app.memories.service import put


class FactKeeper:
    """Keeps what the user plainly said and nothing has a key for. A Keeper of app.core.writing."""

    right = Right.MEMORIES

    def __init__(self, index: MemoryIndex) -> None:
        """Take the index of facts."""
        self._index = index

    def takes(self, finding: Finding) -> bool:
        """Say whether it has no key of its own."""
        return finding.key == OTHER and finding.kind in {Kind.PREFERENCE, Kind.PROFILE}

    async def keep(
        self,
        tx: Transaction,
        finding: Finding,
        evidence: Evidence,
        at: datetime,  # noqa: ARG002 - one fact doesn't replace another
    ) -> Fate | None:
        """Write a fact. Raises `sensitive_category`: no catalogue has a key that allows it; and `quota_exceeded`."""
        if finding.trust is Trust.INFERRED:
            return Fate.CANDIDATE
        found = category(finding.sentence)
        if found is not None:
            raise AppError("sensitive_category", category=found.value)
        content = Content(State.KEPT, finding.sentence, Known.EXPLICIT, Origin.EXPLICIT, evidence=evidence)
        await put(tx, self._index, content)
        return Fate.APPLIED
