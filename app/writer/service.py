"""What users state in messages is written: by the rules of the kind of memory that keeps it, once for each message."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.evidence import Evidence, EvidenceCheck, EvidenceKind
from app.core.idempotency import KEEP_S
from app.core.jobs import Job
from app.core.scope import Scope
from app.core.writing import Fate, Finding, Heard, Inferred, Keeper, Kind, Right, Trust, Update, Waits
from app.infra.db.transaction import Database, Transaction
from app.infra.extractors.reading import read
from app.writer import store
from app.writer.candidates import Candidates

WRITE_JOB: Final = "write_memory"
ONCE: Final = "write"
# Long enough for the request that owes it to have done it.
GRACE_S: Final = 30
BATCH_MESSAGES: Final = 50
MAX_BATCHES: Final = 100
# As long as a client's retry is told what the first attempt was told, and a little.
KEPT: Final = timedelta(seconds=2 * KEEP_S)
UNTOLD: Final = ""


# What those of these messages say that are there, and since when: a function that wiring hands over.
ReadWords = Callable[[Transaction, Sequence[UUID]], Awaitable[Sequence[tuple[UUID, str, datetime]]]]


# The job that has a model read messages: a function that wiring hands over, where there is a model.
OweModel = Callable[[Collection[Right], Sequence[UUID]], Job]


class Writer:
    """Writes what messages state. A Writing of app.core.writing; without `is_on` it hears nothing."""

    def __init__(
        self,
        db: Database,
        evidence: EvidenceCheck[Transaction],
        keepers: Sequence[Keeper[Transaction]],
        candidates: Candidates,
        *,
        is_on: bool,
        by_model: OweModel | None = None,
    ) -> None:
        """Take the doors, what knows which messages there are, the kinds of memory that keep what is found, and
        where what is concluded waits.
        """
        self._db = db
        self._evidence = evidence
        self._keepers = keepers
        self._candidates = candidates
        self._is_on = is_on
        self._by_model = by_model

    def read(self, text: str) -> Sequence[Finding]:
        """Return what a message states."""
        return read(text) if self._is_on and text.strip() else ()

    async def intend(
        self, scope: Scope, rights: Collection[Right], message_ids: Sequence[UUID], said: Sequence[UUID]
    ) -> None:
        """Note that these messages state something; the worker writes what this process doesn't come to."""
        jobs = self._jobs_of_model(rights, said)
        if not message_ids and not jobs:
            return
        async with self._db.write(scope) as tx:
            if message_ids:
                await store.note(tx, message_ids, rights, AuditEntry("hear", "message"))
                tx.enqueue(Job(WRITE_JOB, delay_s=GRACE_S, once=ONCE))
            for job in jobs:
                tx.enqueue(job)

    async def owe(self, tx: Transaction, rights: Collection[Right], message_ids: Sequence[UUID]) -> None:
        """Note that these messages are to be read by the worker, in the transaction that stores them."""
        if self._is_on and rights and message_ids:
            await store.note(tx, message_ids, rights, AuditEntry("hear", "message"))
            for job in [Job(WRITE_JOB, once=ONCE), *self._jobs_of_model(rights, message_ids)]:
                tx.enqueue(job)

    def _jobs_of_model(self, rights: Collection[Right], said: Sequence[UUID]) -> Sequence[Job]:
        return [self._by_model(rights, said)] if self._is_on and self._by_model and said else []

    async def write(self, scope: Scope, heard: Sequence[Heard]) -> Sequence[Update]:
        """Write what was found, and say what became of it; of what was written before, what became of it then."""
        updates: list[Update] = []
        async with self._db.remember(scope) as tx:
            await tx.hold_changes()
            for each in heard:
                note = await store.hold(tx, each.message_id)
                if note is None:
                    continue
                fates = note.fates
                if fates is None:
                    fates = await self._kept(tx, each, note.rights)
                    await store.settle(tx, each.message_id, fates, AuditEntry("extract", "message", each.message_id))
                updates += _told(each, fates)
        return updates

    async def infer(self, scope: Scope, heard: Heard, rights: frozenset[Right]) -> None:
        """Write what was concluded from a message beside what it states: nothing of it is the user's word."""
        async with self._db.remember(scope) as tx:
            await tx.hold_changes()
            concluded = [replace(each, trust=Trust.INFERRED) for each in heard.findings]
            await self._kept(tx, replace(heard, findings=concluded), rights)

    async def _kept(self, tx: Transaction, heard: Heard, rights: frozenset[Right]) -> Sequence[str]:
        """Return a fate for each finding; UNTOLD where there is nothing to tell of it."""
        if not tx.processing.infer:
            return ()
        evidence = Evidence(EvidenceKind.MESSAGE, heard.message_id)
        try:
            await self._evidence.require(tx, {"evidence": evidence})
        except AppError:
            return ()  # it was deleted meanwhile
        stated = {each.key for each in heard.findings if each.kind in {Kind.PREFERENCE, Kind.PROFILE}}
        fates: list[str] = []
        for finding in heard.findings:
            if finding.kind is Kind.WITHDRAW and finding.key in stated:
                fates.append(Fate.APPLIED)  # what is said instead replaces it
                continue
            fate = await self._fate(tx, finding, evidence, heard.at, rights)
            fates.append(UNTOLD if fate is None else fate)
        return fates

    async def _fate(
        self,
        tx: Transaction,
        finding: Finding,
        evidence: Evidence,
        at: datetime,
        rights: frozenset[Right],
    ) -> Fate | None:
        keeper = next((each for each in self._keepers if each.takes(finding)), None)
        if keeper is None or keeper.right not in rights:
            return None
        if keeper.right is Right.PREFERENCES and Right.EXPLICIT not in rights:
            if finding.kind is Kind.WITHDRAW:
                return None
            finding = replace(finding, trust=Trust.INFERRED)
        try:
            if keeper.waits is None or finding.trust is Trust.EXPLICIT:
                return await self._keep(tx, keeper, finding, evidence, at)
            waiting = await self._candidates.conclude(tx, keeper.waits, _inferred(keeper.waits, finding, evidence))
        except AppError:
            # The catalogue, a quota or the user has it so. Who only guessed isn't told.
            return Fate.REFUSED if finding.trust is Trust.EXPLICIT else None
        return Fate.APPLIED if waiting is None else Fate.CANDIDATE

    async def _keep(
        self, tx: Transaction, keeper: Keeper[Transaction], finding: Finding, evidence: Evidence, at: datetime
    ) -> Fate | None:
        fate = await keeper.keep(tx, finding, evidence, at)
        if fate is Fate.APPLIED and keeper.waits is not None:
            said = _inferred(keeper.waits, finding, evidence)
            await self._candidates.overtake(tx, keeper.waits, said, is_gone=finding.kind is Kind.WITHDRAW)
        return fate


class WriteHeard:
    """Writes what a process heard and didn't come to. A Handler of app.core.jobs."""

    name = WRITE_JOB

    def __init__(self, db: Database, writer: Writer, read_words: ReadWords) -> None:
        """Take the doors, the writer, and what reads messages."""
        self._db = db
        self._writer = writer
        self._read_words = read_words

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:  # noqa: ARG002 - the user is all it needs
        """Write what is owed. May run twice: what is written isn't written again."""
        for _ in range(MAX_BATCHES):
            async with self._db.read(scope) as tx:
                owed = await store.owed(tx, BATCH_MESSAGES)
                words = await self._read_words(tx, owed) if owed else ()
            if not owed:
                break
            await self._writer.write(scope, [Heard(message_id, at, read(text)) for message_id, text, at in words])
            there = {message_id for message_id, _, _ in words}
            async with self._db.maintain(scope) as tx:
                for message_id in owed:
                    if message_id not in there:  # it was never stored, or is deleted
                        await store.settle(tx, message_id, (), AuditEntry("extract", "message", message_id))
        async with self._db.maintain(scope) as tx:
            await store.drop_old(tx, KEPT, AuditEntry("extract", "message"))


def _inferred(waits: Waits, finding: Finding, evidence: Evidence) -> Inferred:
    """Return a finding as it waits: a fact in the user's words, a field of the profile by its key."""
    if waits is Waits.MEMORY:
        return Inferred(None, finding.sentence, finding.confidence, evidence)
    return Inferred(finding.key, finding.value, finding.confidence, evidence)


def _told(heard: Heard, fates: Sequence[str]) -> list[Update]:
    """Return what is told of a message; nothing where other rules than today's have read it."""
    if len(fates) != len(heard.findings):
        return []
    evidence = Evidence(EvidenceKind.MESSAGE, heard.message_id)
    return [
        Update(finding, Fate(fate), evidence)
        for finding, fate in zip(heard.findings, fates, strict=True)
        if fate != UNTOLD
    ]
