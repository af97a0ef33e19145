"""What facts give to a prompt: those that answer the question best."""

from collections.abc import Sequence
from typing import Final

from app.core.assembly import Reason, without_dense
from app.core.ids import show
from app.core.memory import Candidate, Question, Tier
from app.core.ranking import matches
from app.core.recall import Sought
from app.core.scope import Scope
from app.infra.db.transaction import Database
from app.infra.embedders.models import Models
from app.memories.model import Trust
from app.memories.search import Hit, MemorySearch

KIND: Final = "memories"

# How the context says it is known.
_SAID = {Trust.EXPLICIT: "stated", Trust.OPERATOR: "stated", Trust.IMPORTED: "imported", Trust.INFERRED: "inferred"}


class MemorySource:
    """Gives the facts that matter now. A Source of app.core.memory."""

    kinds = frozenset({KIND})

    def __init__(self, db: Database, search: MemorySearch, models: Models) -> None:
        """Take the doors, what searches facts and what embeds questions."""
        self._db = db
        self._search = search
        self._models = models

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return what matches best, as it was at the snapshot. What has expired since is marked so, and so is what
        others match better than.
        """
        if not self.kinds & question.include or not question.text.strip():
            return []
        asked = await self._models.ask(scope, question.text, question.waits_until_s)
        sought = Sought(question.text, asked.vectors, question.limit)
        async with self._db.read(scope) as tx:
            found = await self._search.search(tx, sought, question.snapshot)
        kept = [hit for hit in found.hits if not hit.memory.is_deleted]
        expired = [hit for hit in kept if hit.memory.has_expired(question.now)][: question.limit]
        alive = [hit for hit in kept if not hit.memory.has_expired(question.now)]
        matching = [hit for hit in alive if matches(hit.lexical, hit.cosine)][: question.limit]
        beyond = [hit for hit in alive if hit not in matching][: question.limit]
        judged: list[tuple[Hit, Reason | None]] = [(hit, None) for hit in matching]
        judged += [(hit, Reason.BELOW_THRESHOLD) for hit in beyond] + [(hit, Reason.EXPIRED) for hit in expired]
        found_so = [_candidate(hit, order, ignored) for order, (hit, ignored) in enumerate(judged)]
        return [*found_so, without_dense(KIND, asked.lacks)] if asked.lacks and not found.is_empty else found_so


def _candidate(hit: Hit, order: int, ignored: Reason | None) -> Candidate:
    version = hit.memory.version
    return Candidate(
        kind=KIND,
        id=show("mem", hit.memory.id),
        version=version.number,
        text=version.content.text or "",
        tier=Tier.FOUND,
        origin=_SAID[version.content.trust],
        created_at=version.written_at,
        score=hit.score,
        order=order,
        ignored=ignored,
    )
