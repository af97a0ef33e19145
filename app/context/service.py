"""Context assembly: asks every source at once, packs what came in time, and keeps the reasons."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from app.context import store
from app.context.comparing import Replayed, differences
from app.context.gathering import REQUIRED_EXTRA_S, Gathered, gather, unread, within
from app.context.metering import uses
from app.context.model import Call, LogEntry, Shown
from app.context.packing import REVISION, Count, pack
from app.core.assembly import IMPLIED, MISSED, Ask, Assembled, Packed, Reason
from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.ids import show, uuid7
from app.core.memory import Candidate, Question, Source
from app.core.moments import Moment, Snapshot
from app.core.processing import is_stopped
from app.core.scope import Scope
from app.core.superseding import Outdated, Superseding
from app.core.text.language import language
from app.core.usage import Meter, Use
from app.infra.db.between import HoldSession
from app.infra.db.snapshots import look, show_snapshot
from app.infra.db.transaction import Database, Transaction

# What is read from user memory itself, at the snapshot.
CURRENT: Final = frozenset({"preferences", "profile"})
# Of the deadline so much may go into waiting for the embedder and the vector store: who has waited in vain still needs
# time to look for words.
WAITING_SHARE: Final = 0.6
# What the log keeps the words of: the session's summary changes, and is nowhere else as it was.
SUMMARY: Final = frozenset({"constraints", "summary"})


@dataclass(frozen=True, slots=True)
class Models:
    """What counts the tokens of texts, by name, and the revision of the embedder that finds them. None names what the
    settings name.
    """

    tokenizers: Mapping[str | None, Count]
    embedder: str

    @property
    def revisions(self) -> Mapping[str, str]:
        """What a line of the log tells of who made it."""
        return {"embedder": self.embedder, "router": REVISION}


class Contexts:
    """Assembles contexts, and assembles them again. It holds no state."""

    def __init__(
        self,
        db: Database,
        sources: Sequence[Source],
        models: Models,
        deadline_s: float,
        hold_session: HoldSession,
        superseding: Superseding[Transaction],
        meter: Meter[Transaction],
    ) -> None:
        """Take every source of memory, what counts and finds, what keeps a session while its context is noted, what
        knows the former values of user memory, and what counts the use of each kind.
        """
        self._meter = meter
        self._db = db
        self._sources = sources
        self._models = models
        self._deadline_s = deadline_s
        self._hold_session = hold_session
        self._superseding = superseding

    async def assemble(self, scope: Scope, ask: Ask) -> Assembled:
        """Return what enters the prompt and why. Raises `not_found` for a session that isn't the caller's, and
        `store_unavailable` where a required kind couldn't be asked.
        """
        now = datetime.now(UTC)
        assembled, used = await self._assembled(scope, ask, now)
        try:
            await within(self._keep(scope, ask, now, assembled, used), self._patience_s)
        except AppError as error:
            if not is_stopped(error):
                raise
            # The user wants nothing new to be kept: not the question either. That it was answered is audited.
            await self._db.saw(scope, AuditEntry("assemble", "context", outcome="not_kept"))
        return assembled

    async def replay(self, scope: Scope, context_id: UUID) -> Replayed:
        """Return what the call that made a context would load now: of a call that named a snapshot, at that. Nothing is
        noted of it. Raises `not_found`, and `conflict` where the question is gone with a message that was deleted.
        """
        async with self._db.read(scope) as tx:
            entry = await store.find_entry(tx, context_id)
            if entry is None:
                raise AppError("not_found")
            tx.saw(AuditEntry("replay", "memory_log", context_id))
            ask = _again(entry, show_snapshot(tx.box, entry.snapshot))
            box = tx.box
        call = entry.call
        caller = scope if call is None else replace(scope, agent=call.agent)
        assembled, _ = await self._assembled(caller, ask, datetime.now(UTC))
        return Replayed(
            entry,
            assembled,
            differences(entry.decisions, assembled.packed.decisions),
            is_same_prompt=store.prompt_tag(box, assembled.packed) == entry.prompt_tag,
        )

    @property
    def _patience_s(self) -> float:
        return self._deadline_s + REQUIRED_EXTRA_S

    async def _assembled(self, scope: Scope, ask: Ask, now: datetime) -> tuple[Assembled, Sequence[Use]]:
        snapshot, outdated = await within(self._looked(scope, ask), self._patience_s)
        question = Question(
            text=ask.query,
            session_id=ask.session_id,
            include=ask.include,
            now=now,
            # The number is always named: sources that were asked for `now` would see a change made in between.
            snapshot=snapshot.number,
            waits_until_s=time.monotonic() + self._deadline_s * WAITING_SHARE,
        )
        gathered = await gather(self._sources, scope, question, ask.require, self._deadline_s)
        failures = [*gathered.failures, *(unread(kind, Reason.NO_SCOPE) for kind in sorted(ask.no_scope))]
        unread_kinds = {failure.kind for failure in gathered.failures}
        if ask.require & unread_kinds:
            raise AppError("store_unavailable", "a required kind of memory", headers={"Retry-After": "1"})
        packed = await asyncio.to_thread(self._packed, gathered, outdated, ask)
        packed = replace(packed, decisions=[*packed.decisions, *failures])
        missed = {decision.kind for decision in packed.decisions if decision.reason in MISSED}
        missing = sorted(missed | (ask.no_scope - IMPLIED))
        used = uses(gathered.asked, ask.include, packed.decisions)
        return Assembled(uuid7(), snapshot, packed, missing), used

    async def _looked(self, scope: Scope, ask: Ask) -> tuple[Snapshot, Outdated]:
        async with self._db.read(scope) as tx:
            snapshot = await look(tx, Moment(ask.snapshot))
            # In this transaction the last change is what holds now, which is found with less work.
            return snapshot, await self._superseding.look(tx, snapshot.number if snapshot.changes_since else None)

    def _packed(self, gathered: Gathered, outdated: Outdated, ask: Ask) -> Packed:
        marked = [each if each.kind in CURRENT else _marked(each, outdated) for each in gathered.candidates]
        return pack(marked, ask.budget_tokens, self._models.tokenizers[ask.tokenizer], language(ask.query))

    async def _keep(self, scope: Scope, ask: Ask, now: datetime, assembled: Assembled, used: Sequence[Use]) -> None:
        packed = assembled.packed
        summary = [block for block in packed.blocks if block.kind in SUMMARY]
        async with self._db.write(scope) as tx:
            version = None
            # What was asked in a session goes with it: none is noted after it was deleted.
            if ask.session_id is not None:
                version = await self._hold_session(tx, ask.session_id)
                if version is None:
                    raise AppError("not_found")
            # Where the session has changed since it was read, a message may have been deleted that the summary holds.
            is_cut = any(item.version != version for block in summary for item in block.items)
            text = "\n".join(block.text for block in summary) or None
            entry = LogEntry(
                id=assembled.id,
                session_id=ask.session_id,
                created_at=now,
                query=ask.query,
                prompt_tag=store.prompt_tag(tx.box, packed),
                snapshot=assembled.snapshot.number,
                budget_tokens=ask.budget_tokens,
                tokens=packed.tokens,
                missing=assembled.missing,
                decisions=packed.decisions,
                call=Call.of(ask, scope.agent),
                revisions=self._models.revisions,
                shown=None if is_cut else Shown(text, store.prompt_sha256(packed)),
                is_cut=is_cut,
            )
            audit = AuditEntry("assemble", "context", assembled.id)
            await store.insert_entry(tx, entry, audit)
            await self._meter.note(tx, now.date(), used, audit)


def _again(entry: LogEntry, snapshot: str) -> Ask:
    """Return the call that a line of the log is of. Nothing is required: the answer tells what is missing."""
    if entry.query is None:
        raise AppError("conflict", "the question was deleted with a message that said the same")
    if entry.call is None:
        raise AppError("conflict", f"how {show('ctx', entry.id)} was asked for wasn't kept yet")
    return Ask(
        query=entry.query,
        session_id=entry.session_id,
        budget_tokens=entry.budget_tokens,
        include=frozenset(entry.call.include),
        require=frozenset(),
        snapshot=snapshot if entry.call.is_at_snapshot else None,
        no_scope=frozenset(entry.call.no_scope),
        tokenizer=entry.call.tokenizer,
    )


def _marked(candidate: Candidate, outdated: Outdated) -> Candidate:
    return replace(candidate, superseded=outdated.of(candidate.text, candidate.labels.get("title")))
