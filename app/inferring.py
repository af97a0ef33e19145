"""What takes memory from messages: the writer, what waits for the user, and what goes with the messages it rests on."""

from collections.abc import Sequence
from functools import partial
from typing import Final
from uuid import UUID

from app.base import Base
from app.core.account import CountedBy
from app.core.evidence import Evidence, EvidenceCheck, EvidenceKind, Resting
from app.core.writing import Accepting, Keeper, Waits
from app.infra.db.between import LoseInferred
from app.infra.db.rows import OwnedRows
from app.infra.db.transaction import Transaction
from app.infra.segments.store import SegmentStore
from app.memories.indexing import MemoryIndex
from app.memories.keeping import FactKeeper
from app.memories.losing import InferredFacts
from app.parts import Parts, evidence_check
from app.preferences.catalogue.store import allows_sensitive
from app.preferences.keeping import PreferenceKeeper
from app.preferences.losing import InferredPreferences
from app.profile.keeping import ProfileKeeper
from app.sessions.evidence import MessageEvidence
from app.sessions.hearing import Hearing, heard_again
from app.writer import tables
from app.writer.candidate_listing import PERMISSIONS, InferredListing
from app.writer.candidate_model import MAX_CANDIDATES
from app.writer.candidate_store import count_waiting
from app.writer.candidates import Candidates
from app.writer.extracting import ExtractHeard, extract_job
from app.writer.losing import InferredWaiting
from app.writer.service import WriteHeard, Writer
from app.writer.updates import InferredUpdates

# Messages whose inferences are looked for by one statement.
LOST_AT_ONCE: Final = 1_000


def writer(base: Base) -> tuple[Hearing, Parts]:
    facts = FactKeeper(MemoryIndex(SegmentStore("memory", base.cache, *base.models.names)))
    profile = ProfileKeeper(allows_sensitive)
    accepting: dict[Waits, Accepting[Transaction]] = {Waits.PROFILE: profile, Waits.MEMORY: facts}
    evidence = evidence_check()
    candidates = Candidates(base.db, accepting, evidence)
    keepers: list[Keeper[Transaction]] = [PreferenceKeeper(), profile, facts]
    is_on = base.settings.writer == "rules"
    by_model = extract_job if base.extractor is not None else None
    writer = Writer(
        base.db, EvidenceCheck[Transaction]([MessageEvidence()]), keepers, candidates, is_on=is_on, by_model=by_model
    )
    waiting = (tables.candidate_evidence, tables.candidates)
    return Hearing(writer), Parts(
        provided={Candidates: candidates},
        handlers=[
            WriteHeard(base.db, writer, heard_again),
            ExtractHeard(base.db, writer, heard_again, base.extractor, base.permits),
        ],
        listings=[InferredListing(base.db, waits) for waits in Waits],
        updating=[InferredUpdates(accepting)],
        counted=[
            CountedBy(
                f"{waits}_candidate",
                PERMISSIONS[waits],
                f"{waits}_candidates",
                partial(count_waiting, waits=waits),
                MAX_CANDIDATES,
            )
            for waits in Waits
        ],
        data=[OwnedRows(base.db, "heard", (tables.heard_messages,)), OwnedRows(base.db, "candidates", waiting)],
    )


def lose_inferred(base: Base) -> LoseInferred:
    index = MemoryIndex(SegmentStore("memory", base.cache, *base.models.names))
    resting: list[Resting[Transaction]] = [InferredPreferences(), InferredFacts(index), InferredWaiting()]

    async def lose(tx: Transaction, message_ids: Sequence[UUID]) -> None:
        for first in range(0, len(message_ids), LOST_AT_ONCE):
            ids = message_ids[first : first + LOST_AT_ONCE]
            for each in resting:
                await each.lose(tx, [Evidence(EvidenceKind.MESSAGE, message_id) for message_id in ids])

    return lose
