"""The memory log: what contexts were made of, what their turns have changed, and what was said of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from app.context import feedback_store, store
from app.context.metering import marks
from app.context.model import Feedback, ItemMark, LogEntry, LogFilter, LogLine, Opinion
from app.core.audit import AuditEntry
from app.core.errors import AppError, invalid
from app.core.idempotency import Attempt
from app.core.scope import Scope
from app.core.updates import Updating
from app.core.usage import Meter
from app.infra.db.between import Talk
from app.infra.db.snapshots import show_snapshot
from app.infra.db.transaction import Database, Transaction


class MemoryLog:
    """Reads the log, and adds to its lines what was said of them."""

    def __init__(
        self, db: Database, talk: Talk, updating: Sequence[Updating[Transaction]], meter: Meter[Transaction]
    ) -> None:
        """Take the doors, what knows the messages of a turn, the kinds of memory that messages change, and what counts
        how useful each kind was.
        """
        self._meter = meter
        self._db = db
        self._talk = talk
        self._updating = updating

    async def read(self, scope: Scope, context_id: UUID) -> LogLine:
        """Return what a context was made of. Raises `not_found`."""
        async with self._db.read(scope) as tx:
            entry = await store.find_entry(tx, context_id)
            if entry is None:
                raise AppError("not_found")
            tx.saw(AuditEntry("read", "memory_log", context_id))
            (line,) = await self._lines(tx, [entry])
        return line

    async def page(self, scope: Scope, wanted: LogFilter, before: UUID | None, limit: int) -> Sequence[LogLine]:
        """Return the lines that pass, newest first, older than the context `before` where given."""
        async with self._db.read(scope) as tx:
            tx.saw(AuditEntry("list", "memory_log", wanted.session_id))
            if wanted.message_id is not None:
                made_with = await self._talk.context_of(tx, wanted.message_id)
                if made_with is None or wanted.context_id not in {None, made_with}:
                    return []
                wanted = replace(wanted, context_id=made_with)
            return await self._lines(tx, await store.page_entries(tx, wanted, before, limit))

    async def mark(
        self,
        scope: Scope,
        context_id: UUID,
        opinion: Opinion,
        attempt: Attempt | None = None,
    ) -> Feedback:
        """Keep what is said of a context, in the place of what was said before. Raises `not_found`, and `invalid` for
        items that weren't in its prompt.
        """
        async with self._db.write(scope, attempt) as tx:
            entry = await store.hold_entry(tx, context_id)
            if entry is None:
                raise AppError("not_found")
            audit = AuditEntry("mark", "context", context_id)
            said = _marks(entry, opinion.items)
            now = datetime.now(UTC)
            before = (await feedback_store.find_each(tx, [context_id])).get(context_id)
            kept = await feedback_store.put(tx, context_id, opinion.useful, said, opinion.correction, now, audit)
            agent = scope.agent if entry.call is None else entry.call.agent
            await self._meter.mark(tx, entry.created_at.date(), agent, marks(entry, before, kept), audit)
            await tx.answer(kept)
        return kept

    async def _lines(self, tx: Transaction, entries: Sequence[LogEntry]) -> Sequence[LogLine]:
        ids = [entry.id for entry in entries]
        if not ids:
            return []
        said, turns = await feedback_store.find_each(tx, ids), await self._talk.turns(tx, ids)
        messages = [message for turn in turns.values() for message in turn]
        changed = [each for kind in self._updating for each in await kind.updates(tx, messages)] if messages else []
        return [
            LogLine(
                entry,
                show_snapshot(tx.box, entry.snapshot),
                turns.get(entry.id, ()),
                [update for update in changed if update.message_id in turns.get(entry.id, ())],
                said.get(entry.id),
            )
            for entry in entries
        ]


def _marks(entry: LogEntry, said: Mapping[str, bool]) -> Sequence[ItemMark]:
    loaded = {decision.id: decision for decision in entry.decisions if decision.loaded}
    for place, item in enumerate(said):
        if item not in loaded:
            raise invalid(f"items[{place}].id", "must be an item that was in the prompt of the context")
    return [ItemMark(loaded[item].kind, item, loaded[item].version, useful) for item, useful in said.items()]
