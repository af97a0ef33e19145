"""Facts beside messages in one recall: what recall asks of them, and where they stand among the messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import log1p
from typing import Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.superseding import Superseded
from app.core.text.questions import asked
from app.core.text.terms import terms

# The transaction of the caller: what one is, this layer doesn't know.
Tx_contra = TypeVar("Tx_contra", contravariant=True)
Message = TypeVar("Message")

# What a text answers, its beginning tells; a message may be a book.
MAX_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for among the facts: those written in [after, before), where these are given. `vectors` are
    the question's by each model that answers.
    """

    text: str
    vectors: Mapping[str, NDArray[np.float32]]
    limit: int
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that was found. `score` is of its own kind; `cosine` is None where it has no vector yet."""

    id: UUID
    version: int
    text: str
    source: str
    trust: str
    written_at: datetime
    expires_at: datetime | None
    score: float
    cosine: float | None
    superseded: Sequence[Superseded] = ()


@dataclass(frozen=True, slots=True)
class FoundFacts:
    """The facts that match, best first. `pending` are found by their words alone so far."""

    items: Sequence[Fact]
    pending: int = 0


class Facts(Protocol[Tx_contra]):
    """What knows the user's facts."""

    async def recall(self, tx: Tx_contra, sought: Sought) -> FoundFacts:
        """Return the facts that match best, as the caller's transaction sees them; none that has expired."""
        ...


class Said(NamedTuple):
    """What a message that was found says, and how it was scored."""

    text: str
    score: float
    cosine: float | None


def merged(question: str, messages: Sequence[tuple[Message, Said]], facts: Sequence[Fact]) -> list[Message | Fact]:
    """Return messages and facts as one list, each kind in its own order; the scores of facts fall in with it.

    Two indexes score on two scales. So each text is held against the question by what both kinds have: the share of
    its terms that the text has, rare ones counting more, and the cosine. A fact stands behind as many messages as
    answer no worse.
    """
    texts = [said.text for _, said in messages] + [fact.text for fact in facts]
    cosines = [said.cosine for _, said in messages] + [fact.cosine for fact in facts]
    shares = _shares(question, texts)
    worth = [
        share if cosine is None else (share + max(cosine, 0.0)) / 2
        for share, cosine in zip(shares, cosines, strict=True)
    ]
    found: list[Message | Fact] = []
    before, start = 1.0, 0
    for fact, own in zip(facts, worth[len(messages) :], strict=True):
        place = max(start, sum(other >= own for other in worth[: len(messages)]))
        found += [message for message, _ in messages[start:place]]
        before = min(before, *(said.score for _, said in messages[start:place]), 1.0)
        after = messages[place][1].score if place < len(messages) else 0.0
        before = min(before, max(fact.score, after))
        found.append(replace(fact, score=before))
        start = place
    return found + [message for message, _ in messages[start:]]


def _shares(question: str, texts: Sequence[str]) -> list[float]:
    sought = set(asked(question))
    held = [sought & set(terms(text[:MAX_CHARS])) for text in texts]
    counts = {term: sum(term in each for each in held) for term in sought}
    weights = {term: log1p((len(texts) - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
    total = max(sum(weights.values()), 1e-9)
    return [sum(weights[term] for term in each) / total for each in held]
