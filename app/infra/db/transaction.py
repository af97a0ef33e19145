"""The doors: the only way to the database, and every way needs a Scope.

Each door binds row-level security to the scope for its transaction alone, looks at the user's row, yields, writes the
audit rows and jobs that were gathered, and commits. Nothing else in the product commits.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from sqlalchemy import CursorResult, Executable, Row, Uuid, bindparam, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core import timing
from app.core.audit import AccessLog, AuditEntry
from app.core.errors import AppError
from app.core.idempotency import Answer, Attempt, Replayed
from app.core.jobs import Job
from app.core.processing import Processing
from app.core.recipients import Recipient
from app.core.scope import NOBODY, Operator, Scope
from app.infra.audit.reasons import sealed_reason
from app.infra.audit.tables import audit_log, audit_row
from app.infra.crypto.box import Box
from app.infra.db import answers, gates, recipients
from app.infra.db.appends import Append, Outcome, Owed, appended
from app.infra.db.engine import answered_soon, store_errors
from app.infra.db.owing import owe
from app.infra.db.ports import Boxes, MemoryCopies
from app.infra.db.tables import idempotency, installation, users

_BIND = text("SELECT set_config('app.user_id', :usr, true), set_config('app.tenant', :tenant, true)")
# Refusals that tell what is there.
_TELLING = frozenset({"not_found", "stale_version", "exists", "conflict"})

_LIVING = text("SELECT tenant, usr FROM living(:refs)").bindparams(bindparam("refs", type_=ARRAY(Uuid)))


class Transaction:
    """One open transaction for one scope. Every write needs an audit entry; reads may leave one."""

    def __init__(self, connection: AsyncConnection, scope: Scope, box: Box | None) -> None:
        """Wrap a connection that a door has opened and bound."""
        self._connection = connection
        self._box = box
        self._attempt: Attempt | None = None
        self.scope = scope
        # Whether it may change user memory, and the last change that it knows of.
        self.remembers = False
        # What the user lets be done, where a door has read it.
        self.processing = Processing()
        self.last_change: int | None = None
        self.entries: dict[AuditEntry, None] = {}
        self.jobs: list[Job] = []
        self.seen: list[AuditEntry] = []

    @property
    def box(self) -> Box:
        """The user's box. An erasure has none: what it erases can't be read any more."""
        if self._box is None:
            raise AppError("erased")
        return self._box

    @property
    def owner(self) -> dict[str, Any]:
        """The columns that every row of this user's begins with."""
        return {"tenant": self.scope.tenant, "usr": self.scope.usr}

    async def rows(self, statement: Executable) -> Sequence[Row[Any]]:
        """Return all rows of a query."""
        return (await self._connection.execute(statement)).all()

    async def row(self, statement: Executable) -> Row[Any] | None:
        """Return the row of a query, None where there is none."""
        return (await self._connection.execute(statement)).one_or_none()

    async def scalar(self, statement: Executable) -> Any:  # noqa: ANN401 - the column's type is the statement's
        """Return the first column of the row of a query, None where there is none."""
        return (await self._connection.execute(statement)).scalar_one_or_none()

    async def change(
        self,
        statement: Executable,
        entry: AuditEntry,
        values: Sequence[dict[str, Any]] | None = None,
    ) -> CursorResult[Any]:
        """Execute a write, once for each of `values` where given, and owe the audit its entry."""
        self.entries[entry] = None
        result = (
            await self._connection.execute(statement, values) if values else await self._connection.execute(statement)
        )
        if not isinstance(result, CursorResult):
            raise TypeError("a write answers with a cursor")
        return result

    async def next_change(self, entry: AuditEntry) -> int:
        """Return the number of this change of user memory, whose time the database notes in `user_changes`.

        Call it first: it serialises the user's changes, and without one order of locks two writers would deadlock.
        Only `remember` sees to it that readers of copies see the change.
        """
        if not self.remembers:
            raise TypeError("user memory is changed by the door `remember`")
        raised = (
            update(users)
            .filter_by(usr=self.scope.usr)
            .values(change_number=users.c.change_number + 1)
            .returning(users.c.change_number)
        )
        number: int = (await self.change(raised, entry)).scalar_one()
        self.last_change = number
        return number

    async def hold_changes(self) -> None:
        """Wait for this transaction's turn to change user memory, and take no number yet: what is read from now on is
        still true when it writes, or ends without a write.
        """
        last = select(users.c.change_number).filter_by(usr=self.scope.usr)
        self.last_change = await self.scalar(last.with_for_update(key_share=True))

    async def change_number(self) -> int:
        """Return the number of the last change of user memory that this transaction sees: the id of a snapshot."""
        number: int = await self.scalar(select(users.c.change_number).filter_by(usr=self.scope.usr))
        return number

    def enqueue(self, job: Job) -> None:
        """Owe a job: its row is written when the transaction commits."""
        self.jobs.append(job)

    def saw(self, entry: AuditEntry) -> None:
        """Owe the audit a read."""
        self.seen.append(entry)

    async def begin_attempt(self, attempt: Attempt) -> None:
        """Claim the client's idempotency key: see `answers.claim`."""
        self._attempt = attempt
        await answers.claim(self._connection, self.scope, self.box, attempt)

    async def answer(self, result: Any, *shown: UUID) -> None:  # noqa: ANN401 - each service returns a type of its own
        """Keep what is answered to this attempt, in the transaction of its effect. Nothing to do without a key.

        `shown` are the items whose content the answer shows: it is forgotten with any of them.
        """
        if self._attempt is not None:
            await self.keep(self._attempt.render(result), shown)

    async def forget_answers(self, item: UUID, entry: AuditEntry) -> None:
        """Forget the kept answers that show an item. That there was one stays: a retry has no effect, and is a 404."""
        shows = idempotency.c.item_ids.contains([item])
        forgotten = update(idempotency).filter_by(usr=self.scope.usr).where(shows)
        await self.change(forgotten.values(answer_sealed=None, item_ids=None), entry)

    async def keep(self, answer: Answer, shown: Sequence[UUID] = ()) -> None:
        """Keep an answer to the attempt that this transaction began."""
        if self._attempt is None:
            raise TypeError("there is no attempt to answer")
        await answers.keep(self._connection, self.scope, self.box, self._attempt, answer, shown)

    async def append(self, appends: Sequence[Append], owed: Owed) -> list[Outcome]:
        """Append messages of this user's, waiting for sessions that others hold. Each has its audit row."""
        return await appended(self._connection, appends, owed, waits=True)

    async def settle(self) -> None:
        """Write the audit rows and jobs that were gathered. The doors call it before they commit."""
        scope = self.scope
        if self.entries:
            reason = sealed_reason(scope, self._box)
            rows = [audit_row(scope, entry, reason) for entry in self.entries]
            await self._connection.execute(insert(audit_log), rows)
        await owe(self._connection, scope, self.jobs)


class Database:
    """The doors to one database."""

    def __init__(
        self, engine: AsyncEngine, boxes: Boxes, access_log: AccessLog, copies: MemoryCopies | None = None
    ) -> None:
        """Take the engine of the plain role, which neither owns a table nor passes row-level security by.

        Without what knows the copies of user memory, that can't be changed.
        """
        self._engine = engine
        self._copies = copies
        # One snapshot for all statements of a read: what a change number promises is what the rows show.
        self._reading = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._boxes = boxes
        self._access_log = access_log

    @asynccontextmanager
    async def read(self, scope: Scope) -> AsyncIterator[Transaction]:
        """Open a transaction that can't write. Raises `erasing` or `erased` where the user is no more."""
        box = await self._boxes.box(scope.usr)
        async with self._opened(scope, box, self._reading) as tx:
            tx.processing = gates.required(await tx.row(gates.seen(scope)))
            yield tx
        await self._access_log.saw(scope, tx.seen, sealed_reason(scope, box))

    @asynccontextmanager
    async def write(self, scope: Scope, attempt: Attempt | None = None) -> AsyncIterator[Transaction]:
        """Open a transaction that holds the user's row open: an erasure waits for it, and it is refused after one
        began. It is refused too where the user wants nothing new to be kept.

        With an attempt, the client's idempotency key is claimed first; the service must call `tx.answer`.
        """
        async with self.maintain(scope, attempt) as tx:
            gates.require_remembering(tx.processing)
            yield tx

    @asynccontextmanager
    async def maintain(self, scope: Scope, attempt: Attempt | None = None) -> AsyncIterator[Transaction]:
        """Open a `write` that keeps nothing new: it takes away, or keeps up what is stored already."""
        async with self._writing(scope, attempt, gates.held_open(scope)) as tx:
            yield tx

    @asynccontextmanager
    async def choose(self, scope: Scope, attempt: Attempt | None = None) -> AsyncIterator[Transaction]:
        """Open a `maintain` that waits for the writers that are in and keeps others out: what it changes of the user's
        row, every later one has read.
        """
        async with self._writing(scope, attempt, gates.held_shut(scope)) as tx:
            yield tx

    @asynccontextmanager
    async def _writing(self, scope: Scope, attempt: Attempt | None, gate: Executable) -> AsyncIterator[Transaction]:
        box = await self._boxes.box(scope.usr)
        try:
            async with self._opened(scope, box) as tx:
                tx.processing = gates.required(await tx.row(gate))
                if attempt is not None:
                    await tx.begin_attempt(attempt)
                yield tx
                await tx.settle()
        except AppError as error:
            if attempt is not None:
                await self.refuse(scope, attempt, error)
            raise
        await self._access_log.saw(scope, tx.seen, sealed_reason(scope, box))

    @asynccontextmanager
    async def remember(self, scope: Scope, attempt: Attempt | None = None) -> AsyncIterator[Transaction]:
        """Open a `write` that may change user memory. It ends when whatever it answers by is seen by every reader."""
        async with self.retract(scope, attempt) as tx:
            gates.require_remembering(tx.processing)
            yield tx

    @asynccontextmanager
    async def retract(self, scope: Scope, attempt: Attempt | None = None) -> AsyncIterator[Transaction]:
        """Open a `remember` that keeps nothing new: it takes away.

        A repeated or a refused request may be answered by a change of somebody who died before it came to the copies.
        """
        if self._copies is None:
            raise TypeError("nothing here knows the copies of user memory")
        try:
            async with self.maintain(scope, attempt) as tx:
                tx.remembers = True
                yield tx
        except Replayed:
            await self._copies.follow(scope, None)
            raise
        except AppError as error:
            if error.code in _TELLING:
                await self._copies.follow(scope, None)
            raise
        await self._copies.follow(scope, tx.last_change)

    @asynccontextmanager
    async def gate(self, scope: Scope) -> AsyncIterator[tuple[Transaction, str]]:
        """Open the one transaction that closes the gate: the user's row locked, with the state it was in.

        Writers that were first are waited for; it must be closed quickly. There is no box: nothing is read here.
        """
        async with self._opened(scope, None) as tx:
            state = await tx.scalar(select(users.c.state).filter_by(usr=scope.usr).with_for_update())
            if state is None:
                raise AppError("erased")
            yield tx, state
            await tx.settle()

    @asynccontextmanager
    async def erase(self, scope: Scope) -> AsyncIterator[Transaction]:
        """Open a transaction that removes and counts. Refused unless the user is being erased, or was."""
        async with self._opened(scope, None) as tx:
            if await tx.scalar(select(users.c.state).filter_by(usr=scope.usr)) == "active":
                raise AppError("conflict", "the user isn't being erased")
            yield tx
            await tx.settle()

    async def choices(self, scope: Scope) -> Processing:
        """Return what the user lets be done now."""
        async with self.read(scope) as tx:
            return tx.processing

    async def append(self, appends: Sequence[Append], owed: Owed) -> list[Outcome]:
        """Append messages of many users in one commit, each under the scope that it bears.

        Nobody is waited for: what somebody holds comes back as busy. It is the write door that waits, and refuses.
        """
        with store_errors():
            async with self._engine.connect() as connection:
                return await answered_soon(connection, appended(connection, appends, owed, waits=False))

    async def box(self, scope: Scope) -> Box:
        """Return the box that seals and opens what is the user's. Raises `erased` where the keys are destroyed."""
        return await self._boxes.box(scope.usr)

    async def refuse(self, scope: Scope, attempt: Attempt, error: AppError) -> None:
        """Keep a refusal as the answer to the attempt, where it is one that a repeated request gets again."""
        if answers.is_kept(error):
            await self._keep_refusal(scope, await self.box(scope), attempt, error)

    async def saw(self, scope: Scope, entry: AuditEntry) -> None:
        """Owe the audit a read that was answered without a door, or one that it must have before anything is read."""
        await self._access_log.saw(scope, [entry], sealed_reason(scope, await self.box(scope)))

    @asynccontextmanager
    async def administer(self, operator: Operator) -> AsyncIterator[Transaction]:
        """Open a transaction on what belongs to the operator's tenant and to no user; nothing of a user is seen."""
        async with self._opened(operator.upon(NOBODY), None) as tx:
            yield tx
            await tx.settle()
        await self._access_log.saw(tx.scope, tx.seen)

    async def register(self, scope: Scope) -> None:
        """Write the user's first row. It can't bring an erased reference back: its tombstone is in the way."""
        async with self._opened(scope, None) as tx:
            await tx.change(
                upsert(users).values(**tx.owner).on_conflict_do_nothing(),
                AuditEntry("create", "user", scope.usr),
            )
            await tx.settle()

    async def belongs_to(self, key_store: bytes) -> bool:
        """Say whether the data was written with this key store; data that was written with none yet is from now on."""
        with store_errors():
            async with self._engine.begin() as connection:
                await connection.execute(upsert(installation).values(key_store=key_store).on_conflict_do_nothing())
                kept = (await connection.execute(select(installation.c.key_store))).scalar_one()
        return bool(kept == key_store)

    async def note_recipients(self, now_sent: Sequence[Recipient]) -> None:
        """Note who outside is sent texts of users by this process."""
        with store_errors():
            async with self._engine.begin() as connection:
                await recipients.note(connection, now_sent)

    async def living(self, references: Sequence[UUID]) -> Sequence[tuple[str, UUID]]:
        """Return tenant and reference of those that are active here. The one question without a scope: it is asked of
        the register of erasures, whose references nobody stands behind, after a backup was restored.
        """
        with store_errors():
            async with self._engine.begin() as connection:
                found = await connection.execute(_LIVING, {"refs": list(references)})
                return [(row.tenant, row.usr) for row in found]

    async def survey(self, question: Executable, values: Mapping[str, Any]) -> Sequence[Row[Any]]:
        """Ask whose something is due. With nobody bound every table is empty, so that only a function of the database's
        own can answer, and what that one shows are references.
        """
        with store_errors():
            async with self._engine.begin() as connection:
                return (await connection.execute(question, values)).all()

    async def glance(self, question: Executable) -> Row[Any]:
        """Ask what is nobody's own, of everybody who waits for it: a small question with one row as its answer."""
        with store_errors():
            async with self._engine.begin() as connection:
                return (await answered_soon(connection, connection.execute(question))).one()

    async def ping(self) -> None:
        """Ask the server for an answer. Raises `store_unavailable` without one."""
        with store_errors():
            async with self._engine.connect() as connection:
                await connection.execute(select(func.now()))

    @asynccontextmanager
    async def _opened(
        self, scope: Scope, box: Box | None, engine: AsyncEngine | None = None
    ) -> AsyncIterator[Transaction]:
        with store_errors(), timing.in_store():
            async with (engine or self._engine).begin() as connection:
                # A statement of its own: folded into the query, the setting comes too late and rows are hidden.
                bound = connection.execute(_BIND, {"usr": str(scope.usr), "tenant": scope.tenant})
                await answered_soon(connection, bound)
                yield Transaction(connection, scope, box)

    async def _keep_refusal(self, scope: Scope, box: Box, attempt: Attempt, error: AppError) -> None:
        """Keep a refusal: in a transaction of its own, for the effect's was rolled back."""
        async with self._opened(scope, box) as tx:
            # Held open like by any writer: an erasure that began now would count before this row is there.
            gate = await tx.row(gates.held_open(scope))
            if gate is None or gate.state != "active":
                return
            await tx.begin_attempt(attempt)
            await tx.keep(attempt.refuse(error))
