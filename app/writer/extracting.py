"""A model reads messages beside the rules, in the background: what it guesses is inferred, and waits or gives way."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from app.core.errors import AppError
from app.core.jobs import Job
from app.core.processing import is_stopped
from app.core.scope import Scope
from app.core.writing import Finding, Heard, Right
from app.infra.db.transaction import Database, Transaction
from app.infra.extractors.port import Extractor, ExtractorUnavailableError
from app.infra.extractors.reading import read
from app.infra.served.permits import Permits, permitted
from app.writer.service import GRACE_S, Writer

EXTRACT_JOB: Final = "extract_memory"
LANE: Final = "model"
# Of one request the newest are read.
MAX_MESSAGES: Final = 20

ReadWords = Callable[[Transaction, Sequence[UUID]], Awaitable[Sequence[tuple[UUID, str, datetime]]]]

log = structlog.get_logger("cairn.writer")


def extract_job(rights: Collection[Right], message_ids: Sequence[UUID]) -> Job:
    """Return the job that has the model read messages, which are stored by the time that it runs, or never."""
    ids = ",".join(each.hex for each in message_ids[-MAX_MESSAGES:])
    return Job(EXTRACT_JOB, {"messages": ids, "rights": ",".join(sorted(rights))}, lane=LANE, delay_s=GRACE_S)


class ExtractHeard:
    """Has a model read messages. A Handler of app.core.jobs.

    The model is asked with no transaction open. Where it doesn't answer, what the rules found stands: nothing is tried
    again but by the client of the endpoint, within its deadline.
    """

    name = EXTRACT_JOB

    def __init__(
        self, db: Database, writer: Writer, read_words: ReadWords, extractor: Extractor | None, permits: Permits
    ) -> None:
        """Take the doors, the writer, what reads messages, the model (None: jobs that were owed while there was one end
        without), and what gives the permits that a model outside is asked by.
        """
        self._db = db
        self._writer = writer
        self._read_words = read_words
        self._extractor = extractor
        self._permits = permits

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Ask the model and write what it found. May run twice: the same is inferred from the same message once."""
        if self._extractor is None or not (await self._db.choices(scope)).infer:
            return
        rights = frozenset(map(Right, filter(None, str(args["rights"]).split(","))))
        ids = [UUID(hex=each) for each in str(args["messages"]).split(",") if each]
        async with self._db.read(scope) as tx:
            words = await self._read_words(tx, ids)
        for message_id, text, at in words:
            found = await self._found(scope, self._extractor, text)
            if found is None:
                return
            if found:
                await self._writer.infer(scope, Heard(message_id, at, found), rights)

    async def _found(self, scope: Scope, extractor: Extractor, text: str) -> Sequence[Finding] | None:
        """Return what the model finds and the rules don't; None where it isn't to be asked any more."""
        try:
            with permitted(self._permits.of(scope)):
                guessed = await extractor.extract(text)
        except AppError as error:
            if not is_stopped(error):
                raise
            return None
        except ExtractorUnavailableError as error:
            log.warning("extracted_by_rules_alone", reason=str(error))
            return None
        known = {(each.kind, each.key) for each in read(text)}
        return [each for each in guessed if (each.kind, each.key) not in known]
