"""What becomes of a proposal: it is applied, or it waits as a candidate for the user to decide. Pure functions.

The order of trust: what an operator or the user has said, then what was imported, then what was inferred. A proposal is
an inference: it fills what is empty and replaces another inference that isn't surer, and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.core.errors import AppError
from app.core.evidence import Evidence
from app.core.moments import Snapshot
from app.core.versions import Precondition, expected
from app.preferences.model import Content, Origin, Preference, State, Trust, canonical

# Waiting ones of one user; beyond it agents propose more than anybody reads.
MAX_CANDIDATES = 200
# The newest pieces that one candidate shows.
MAX_EVIDENCE = 20


class Because(StrEnum):
    """Why a proposal was applied, or why it waits."""

    NOTHING_KNOWN = "nothing_known"
    # It is at least as sure as the inference that it replaces.
    SURER = "surer"
    # What it says is in force already; nothing was written.
    IN_FORCE = "in_force"

    STATED = "stated"
    IMPORTED = "imported"
    LESS_SURE = "less_sure"
    # An approval, a consent, an amount: the user's own word alone makes one.
    COMMITMENT = "commitment"
    # The user has deleted what was known of this key.
    RETRACTED = "retracted"
    # The user has rejected the same before, from other evidence.
    REJECTED = "rejected"


APPLIED = frozenset({Because.NOTHING_KNOWN, Because.SURER, Because.IN_FORCE})
_OUTRANKING = {Trust.EXPLICIT: Because.STATED, Trust.OPERATOR: Because.STATED, Trust.IMPORTED: Because.IMPORTED}


class Fate(StrEnum):
    """What became of a candidate."""

    WAITING = "waiting"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    # What it says came into force without it: the user stated it, or it was inferred again and surer.
    APPLIED = "applied"
    # The user has deleted the preference that it was for.
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an agent has inferred. `agent` is None where it is to hold for every agent."""

    key: str
    value: object
    confidence: float
    agent: str | None = None
    evidence: Evidence | None = None
    reason: str | None = None

    def content(self) -> Content:
        """Return the content of the version that it makes where it is applied."""
        return Content(
            State.KEPT,
            self.value,
            Trust.INFERRED,
            Origin.PROPOSAL,
            confidence=self.confidence,
            evidence=self.evidence,
            reason=self.reason,
        )


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is remembered of refusals: of this very evidence, and of the statement from whatever evidence."""

    evidence: bool
    statement: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """What was inferred and waits. `value` is None when it was decided; `agent` as in Proposal.

    `preference_version` is the version of the preference that it would replace, 0 where there is none.
    """

    id: UUID
    key: str
    agent: str | None
    state: Fate
    value: object
    reason: str | None
    confidence: float
    evidence: Sequence[Evidence]
    because: Because
    proposed_through: str | None
    created_at: datetime
    updated_at: datetime
    revision: int
    preference_version: int

    @property
    def version(self) -> int:
        """The version for clients. It rises with each change of the candidate and of the preference that it would
        replace: an acceptance never overwrites what the user hasn't seen.
        """
        return self.revision + self.preference_version

    def accepted(self) -> Content:
        """Return the content of the version that an acceptance makes: the user's own word from then on."""
        return Content(
            State.KEPT,
            self.value,
            Trust.EXPLICIT,
            Origin.ACCEPTANCE,
            evidence=self.evidence[-1] if self.evidence else None,
            reason=self.reason,
        )


@dataclass(frozen=True, slots=True)
class Waiting:
    """A page of what waits for the user, newest first, and user memory as it was then."""

    items: Sequence[Candidate]
    snapshot: Snapshot
    more: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a proposal. `preference` is what is in force now, if anything; `candidate` is what waits."""

    proposal: Proposal
    because: Because
    preference: Preference | None
    candidate: Candidate | None = None


def standing(met: Sequence[Preference]) -> Preference | None:
    """Return the one of them that is in force: what was stated before what was inferred, then an agent's own."""
    kept = [each for each in met if not each.is_deleted]
    return min(kept, key=lambda each: (_is_inferred(each), each.agent is None), default=None)


def judge(
    proposal: Proposal,
    met: Sequence[Preference],
    remembered: Remembered,
    *,
    commitment: bool = False,
) -> Because:
    """Return what becomes of a proposal and why.

    `met` are the preferences in its way, stubs too: the one it would be written to, and the general one where it is for
    an agent. `commitment`: the key is of those whose values the user alone makes. Raises `already_rejected` where the
    user said no to it on the same evidence, or on none.
    """
    now = standing(met)
    says_the_same = now is not None and _same(now, proposal)
    if now is not None and says_the_same and not (_is_raised(now, proposal) and now.agent == proposal.agent):
        return Because.IN_FORCE
    retracted = any(each.is_deleted for each in met)
    if remembered.evidence or (proposal.evidence is None and (retracted or remembered.statement)):
        raise AppError("already_rejected")
    if retracted:
        return Because.RETRACTED
    if remembered.statement:
        return Because.REJECTED
    in_the_way = [each for each in met if not _same(each, proposal)]
    for each in in_the_way:
        if not _is_inferred(each):
            return _OUTRANKING[each.version.content.trust]
    if any(_confidence(each) > proposal.confidence for each in in_the_way):
        return Because.LESS_SURE
    if commitment:
        return Because.COMMITMENT
    return Because.NOTHING_KNOWN if now is None else Because.SURER


def require_waiting(candidate: Candidate, precondition: Precondition) -> None:
    """Raise `stale_version` where the precondition fails, `conflict` where the candidate was decided."""
    expected(precondition, candidate.version)
    if candidate.state is not Fate.WAITING:
        raise AppError("conflict", f"it was {candidate.state.value} already")


def _same(preference: Preference, proposal: Proposal) -> bool:
    return not preference.is_deleted and canonical(preference.version.content.value) == canonical(proposal.value)


def _is_inferred(preference: Preference) -> bool:
    return preference.version.content.trust is Trust.INFERRED


def _is_raised(preference: Preference, proposal: Proposal) -> bool:
    return _is_inferred(preference) and proposal.confidence > _confidence(preference)


def _confidence(preference: Preference) -> float:
    """Return how sure an inference is; one that doesn't say gives way to none."""
    confidence = preference.version.content.confidence
    return 1.0 if confidence is None else confidence
