"""What knowledge gives to a prompt: the passages that answer the question best."""

from collections.abc import Sequence
from typing import Final

from app.core.assembly import Reason, without_dense
from app.core.ids import show
from app.core.memory import Candidate, Question, Tier
from app.core.ranking import matches
from app.core.scope import Scope
from app.knowledge.model import Hit, Passage, Query
from app.knowledge.search import Search

KIND: Final = "knowledge"
MAX_HEADINGS_CHARS: Final = 200
# So many more are looked at, to tell what was left out.
BEYOND: Final = 3


class KnowledgeSource:
    """Gives passages of the user's documents. A Source of app.core.memory."""

    kinds = frozenset({KIND})

    def __init__(self, search: Search) -> None:
        """Take what searches."""
        self._search = search

    async def gather(self, scope: Scope, question: Question) -> Sequence[Candidate]:
        """Return the best passages, best first, and some that others match better than, marked so."""
        if not self.kinds & question.include or not question.text.strip():
            return []
        wanted = Query(question.text, question.limit + BEYOND, waits_until_s=question.waits_until_s)
        found = await self._search.search(scope, wanted)
        matching = [hit for hit in found.hits if matches(hit.lexical, hit.dense)][: question.limit]
        beyond = [hit for hit in found.hits if hit not in matching]
        judged = [_candidate(hit, order) for order, hit in enumerate(matching)] + [
            _candidate(hit, order, Reason.BELOW_THRESHOLD) for order, hit in enumerate(beyond, len(matching))
        ]
        return [*judged, without_dense(KIND, found.lacks)] if found.lacks else judged


def _candidate(hit: Hit, order: int, ignored: Reason | None = None) -> Candidate:
    passage = hit.passage
    return Candidate(
        kind=KIND,
        id=show("chk", passage.chunk_id),
        version=passage.version,
        text=passage.text,
        tier=Tier.FOUND,
        origin="document",
        created_at=passage.created_at,
        score=hit.score,
        order=order,
        ignored=ignored,
        labels=_labels(passage),
    )


def _labels(passage: Passage) -> dict[str, str]:
    """Return what a passage is quoted by: its document, its pages, and the headings that aren't in its own text."""
    labels = {"document_id": show("doc", passage.document_id), "doc_type": passage.doc_type}
    if passage.title is not None:
        labels["title"] = passage.title
    location = passage.location
    if location.page is not None:
        ends = "" if location.end_page in {None, location.page} else f"-{location.end_page}"
        labels["pages"] = f"p. {location.page}{ends}"
    above = [heading for heading in location.headings if heading not in passage.text and heading != passage.title]
    if above:
        labels["headings"] = " > ".join(above)[-MAX_HEADINGS_CHARS:]
    return labels
