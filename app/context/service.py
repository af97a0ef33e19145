"""Context assembly: asks every source at once, packs what came in time, and keeps the reasons."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import structlog

from app.context import store
from app.context.model import LogEntry
from app.context.packing import Count, pack
from app.core.assembly import Ask, Assembled, Decision, Packed, Reason
from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.ids import uuid7
from app.core.memory import Candidate, Question, Source
from app.core.moments import Moment
from app.core.scope import Scope
from app.core.superseding import Outdated, Superseding
from app.core.text.language import language
from app.infra.db.between import HoldSession
from app.infra.db.snapshots import look
from app.infra.db.transaction import Database, Transaction

# How much longer than the deadline a required kind is waited for.
REQUIRED_EXTRA_S = 2.0
# Codes that are the answer to the whole call; anything else costs the answer only the kinds of the source that met it.
_FOR_THE_CALLER = frozenset({"not_found", "erasing", "erased"})

# What is read from user memory itself, at the snapshot.
CURRENT = frozenset({"preferences", "profile"})

log = structlog.get_logger("cairn.context")


class Contexts:
    """Assembles contexts and reads their log. It holds no state."""

    def __init__(
        self,
        db: Database,
        sources: Sequence[Source],
        count: Count,
        deadline_s: float,
        hold_session: HoldSession,
        superseding: Superseding[Transaction],
    ) -> None:
        """Take every source of memory, the tokenizer's count of a text, what keeps a session while its context is
        noted, and what knows the former values of user memory.
        """
        self._db = db
        self._sources = sources
        self._count = count
        self._deadline_s = deadline_s
        self._hold_session = hold_session
        self._superseding = superseding

    async def assemble(self, scope: Scope, ask: Ask) -> Assembled:
        """Return what enters the prompt and why. Raises `not_found` for a session that isn't the caller's, and
        `store_unavailable` where a required kind couldn't be asked.
        """
        context_id, now = uuid7(), datetime.now(UTC)
        async with self._db.read(scope) as tx:
            snapshot = await look(tx, Moment(ask.snapshot))
            # In this transaction the last change is what holds now, which is found with less work.
            outdated = await self._superseding.look(tx, snapshot.number if snapshot.changes_since else None)
        question = Question(
            text=ask.query,
            session_id=ask.session_id,
            include=ask.include,
            now=now,
            # The number is always named: sources that were asked for `now` would see a change made in between.
            snapshot=snapshot.number,
        )
        candidates, failures = await self._gather(scope, question, ask.require)
        missing = sorted({failure.kind for failure in failures})
        if ask.require.intersection(missing):
            raise AppError("store_unavailable", "a required kind of memory", headers={"Retry-After": "1"})
        packed = await asyncio.to_thread(self._packed, candidates, outdated, ask)
        packed = Packed(packed.prompt, packed.tokens, packed.blocks, [*packed.decisions, *failures])
        await self._keep(scope, ask, context_id, now, snapshot.number, packed, missing)
        return Assembled(context_id, snapshot, packed, missing)

    def _packed(self, candidates: Sequence[Candidate], outdated: Outdated, ask: Ask) -> Packed:
        marked = [candidate if candidate.kind in CURRENT else _marked(candidate, outdated) for candidate in candidates]
        return pack(marked, ask.budget_tokens, self._count, language(ask.query))

    async def read_log(self, scope: Scope, context_id: UUID) -> LogEntry:
        """Return what a context was made of. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            entry = await store.find_entry(tx, context_id)
            if entry is None:
                raise AppError("not_found")
            tx.saw(AuditEntry("read", "memory_log", context_id))
        return entry

    async def page_log(
        self,
        scope: Scope,
        session_id: UUID | None,
        before: UUID | None,
        limit: int,
    ) -> Sequence[LogEntry]:
        """Return the log newest first, of one session where given, older than the context `before` where given."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("list", "memory_log", session_id))
            return await store.page_entries(tx, session_id, before, limit)

    async def _gather(
        self,
        scope: Scope,
        question: Question,
        require: frozenset[str],
    ) -> tuple[list[Candidate], list[Decision]]:
        asked = [source for source in self._sources if source.kinds & question.include]
        tasks = [asyncio.create_task(self._ask(source, scope, question)) for source in asked]
        if tasks:
            await asyncio.wait(tasks, timeout=self._deadline_s)
        # Without what is required there is no answer: so it is given more time than the rest.
        needed = [task for source, task in zip(asked, tasks, strict=True) if source.kinds & require and not task.done()]
        if needed:
            await asyncio.wait(needed, timeout=REQUIRED_EXTRA_S)
        candidates: list[Candidate] = []
        failures: list[Decision] = []
        for source, task in zip(asked, tasks, strict=True):
            result = task.result() if task.done() else Reason.SOURCE_LATE
            task.cancel()
            if isinstance(result, Reason):
                kinds = sorted(source.kinds & question.include)
                failures += [Decision(kind, "", 0, loaded=False, reason=result, tokens=0) for kind in kinds]
            else:
                candidates += result
        return candidates, failures

    async def _ask(self, source: Source, scope: Scope, question: Question) -> Sequence[Candidate] | Reason:
        try:
            return await source.gather(scope, question)
        except AppError as error:
            if error.code in _FOR_THE_CALLER:
                raise
            log.warning("source_failed", kinds=sorted(source.kinds), code=error.code)
        except Exception as error:  # noqa: BLE001 - the per-source guard: one broken kind mustn't cost the others
            log.warning("source_failed", kinds=sorted(source.kinds), error=type(error).__name__)
        return Reason.SOURCE_FAILED

    async def _keep(
        self,
        scope: Scope,
        ask: Ask,
        context_id: UUID,
        now: datetime,
        snapshot: int,
        packed: Packed,
        missing: Sequence[str],
    ) -> None:
        async with self._db.write(scope) as tx:
            # What was asked in a session goes with it: none is noted after it was deleted.
            if ask.session_id is not None and not await self._hold_session(tx, ask.session_id):
                raise AppError("not_found")
            entry = LogEntry(
                id=context_id,
                session_id=ask.session_id,
                created_at=now,
                query=ask.query,
                prompt_tag=store.prompt_tag(tx.box, packed),
                snapshot=snapshot,
                budget_tokens=ask.budget_tokens,
                tokens=packed.tokens,
                missing=missing,
                decisions=packed.decisions,
            )
            await store.insert_entry(tx, entry, AuditEntry("assemble", "context", context_id))


def _marked(candidate: Candidate, outdated: Outdated) -> Candidate:
    return replace(candidate, superseded=outdated.of(candidate.text, candidate.labels.get("title")))
