"""Imports are taken by the worker, bite by bite: what a bite says and how far that is are one transaction.

So a worker that is killed goes on where it was, and of two that take the same import one gives way. A user who is
forgotten meanwhile is refused by the doors, and what was received goes with them.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Iterator as Iter
from dataclasses import replace
from typing import Final, TypeAlias
from uuid import UUID

import structlog

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.portability import Imported, ImportedFile, Outcome, Taking
from app.core.processing import is_stopped
from app.core.scope import Scope
from app.core.withholding import Registered
from app.infra.db.transaction import Database, Transaction
from app.portability import foreign, store
from app.portability.biting import Parsed, bites
from app.portability.model import Failure, Import, Place, Report, Source, State, UnreadableError
from app.portability.unzipping import MAX_RATIO, Archive, Fetch, Lines

IMPORT_JOB: Final = "import_archive"
SWEEP_JOB: Final = "sweep_import"
FETCH_S: Final = 60.0

Kind: TypeAlias = Imported[Transaction] | ImportedFile
# The line, its id in the archive, and what became of it.
Told: TypeAlias = Sequence[tuple[int, str | None, Outcome]]

log = structlog.get_logger("cairn.portability")


class OvertakenError(Exception):
    """Somebody else takes the import, or it is gone."""


class ImportArchive:
    """The handler of the job that takes an import."""

    name = IMPORT_JOB

    def __init__(self, db: Database, registered: Registered, kinds: Sequence[Kind], largest_bytes: int) -> None:
        """Take the doors, what knows the numbers that a tenant never stores, the kinds in the order in which they lean
        on each other, and how large the largest archive is.
        """
        self._db = db
        self._registered = registered
        self._kinds = kinds
        self._most_bytes = largest_bytes * MAX_RATIO

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Take what isn't taken yet. May run twice."""
        import_id = UUID(str(args["import_id"]))
        async with self._db.read(scope) as tx:
            job = await store.find(tx, import_id)
        if job is None or job.is_settled:
            return
        await self._registered.enter(scope.tenant)
        scope = replace(scope, agent=job.agent)
        try:
            await self._take_all(scope, job)
        except OvertakenError:
            log.info("import_overtaken", import_id=str(import_id))

    async def _take_all(self, scope: Scope, job: Import) -> None:
        failure: Failure | None = None
        left_out: Mapping[str, int] = {}
        try:
            lines = await self._opened(scope, job)
            files = [kind.file for kind in self._kinds]
            begun = files.index(job.place.file) if job.place.file in files else 0
            for kind in self._kinds[begun:]:
                bitten = bites(lines.lines(kind.file, job.place.line if job.place.file == kind.file else 0), kind)
                while bite := await asyncio.to_thread(next, bitten, None):
                    job = await self._take(scope, job, kind, bite, lines)
            left_out = lines.left_out
        except (UnreadableError, AppError) as error:
            if isinstance(error, AppError) and not is_stopped(error):
                raise
            failure = error.failure if isinstance(error, UnreadableError) else Failure.PROCESSING_STOPPED
            # What was taken before is told.
            async with self._db.read(scope) as tx:
                job = await store.find(tx, job.id) or job
        await self._finish(scope, job, job.report.with_left_out(left_out), failure)

    async def _opened(self, scope: Scope, job: Import) -> Lines:
        fetch = self._fetcher(scope, job.id)
        if job.source is Source.CAIRN:
            return await asyncio.to_thread(Archive, job.size_bytes, fetch, self._most_bytes)
        source, lines = await asyncio.to_thread(foreign.opened, job.source, job.size_bytes, fetch)
        if job.source is None:
            async with self._db.write(scope) as tx:
                await store.recognise(tx, job.id, source, _entry(job))
        return lines

    def _fetcher(self, scope: Scope, import_id: UUID) -> Fetch:
        """Return what gives parts to the thread that reads them."""
        loop = asyncio.get_running_loop()

        async def part(ordinal: int) -> bytes:
            async with self._db.read(scope) as tx:
                found = await store.part(tx, import_id, ordinal)
            if found is None:
                raise OvertakenError
            return found

        def fetch(ordinal: int) -> bytes:
            return asyncio.run_coroutine_threadsafe(part(ordinal), loop).result(FETCH_S)

        return fetch

    async def _take(self, scope: Scope, job: Import, kind: Kind, bite: Sequence[Parsed], lines: Lines) -> Import:
        if kind.permission not in job.rights:
            refused = Outcome.refused("missing_scope")
            return await self._note(scope, job, kind.file, [(each.number, each.id, refused) for each in bite])
        if not isinstance(kind, ImportedFile):
            return await self._take_records(scope, job, kind, bite)
        for each in bite:
            outcome = await self._receive(scope, job, kind, each, lines)
            job = await self._note(scope, job, kind.file, [(each.number, each.id, outcome)])
        return job

    async def _take_records(
        self, scope: Scope, job: Import, kind: Imported[Transaction], bite: Sequence[Parsed]
    ) -> Import:
        taking = Taking(job.keeps_trust, job.agent)
        async with self._db.remember(scope) as tx:
            await _hold(tx, job)
            outcomes = iter(await kind.take(tx, taking, [each.record for each in bite if each.record is not None]))
            told = [
                (each.number, each.id, Outcome.refused(each.reason) if each.record is None else next(outcomes))
                for each in bite
            ]
            moved = _moved(job, kind.file, told)
            await store.advance(tx, job.id, moved.place, moved.report, _entry(job))
        await kind.committed(scope)
        return moved

    async def _receive(self, scope: Scope, job: Import, kind: ImportedFile, line: Parsed, lines: Lines) -> Outcome:
        if line.record is None:
            return Outcome.refused(line.reason)
        path = kind.path(line.record)
        parts = None if path is None else lines.parts(path)
        if parts is None:
            return Outcome.refused("no_content")
        return await kind.receive(scope, Taking(job.keeps_trust, job.agent), line.record, _streamed(parts))

    async def _note(self, scope: Scope, job: Import, file: str, told: Told) -> Import:
        moved = _moved(job, file, told)
        async with self._db.write(scope) as tx:
            await _hold(tx, job)
            await store.advance(tx, job.id, moved.place, moved.report, _entry(job))
        return moved

    async def _finish(self, scope: Scope, job: Import, report: Report, failure: Failure | None) -> None:
        async with self._db.maintain(scope) as tx:
            await _hold(tx, job)
            await store.finish(tx, job.id, report, failure, _entry(job))
            await store.drop_parts(tx, job.id, _entry(job))
        log.info("import_ended", import_id=str(job.id), failure=failure.value if failure else None)


class SweepImport:
    """The handler of the job that deletes an import which was broken off while it was received."""

    name = SWEEP_JOB

    def __init__(self, db: Database) -> None:
        """Take the doors."""
        self._db = db

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Delete it, unless it was completed."""
        import_id = UUID(str(args["import_id"]))
        async with self._db.maintain(scope) as tx:
            await store.drop_received(tx, import_id, AuditEntry("delete", "import", import_id))


async def _hold(tx: Transaction, job: Import) -> None:
    """Keep others from taking the import. Raises OvertakenError where one has taken more of it than is known here."""
    found = await store.hold(tx, job.id)
    if found is None or found.is_settled or found.place != job.place:
        raise OvertakenError


def _moved(job: Import, file: str, told: Told) -> Import:
    report = job.report.with_outcomes(file, told)
    return replace(job, state=State.RUNNING, place=Place(file, told[-1][0]), report=report)


def _entry(job: Import) -> AuditEntry:
    return AuditEntry("import", "import", job.id)


async def _streamed(parts: Iter[bytes]) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(next, parts, None):
        yield chunk
