"""Forgetting: the gate, the keys, every store, the count, the certificate. Every step may run twice."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

import structlog

from app.core.audit import AuditEntry
from app.core.errors import AppError
from app.core.identity import Directory
from app.core.ids import uuid7
from app.core.jobs import ERASURE_PRIORITY, Job
from app.core.memory import UserData
from app.core.scope import Actor, Scope
from app.erasure import store
from app.erasure.model import Erasure, Verification, make_certificate, swept
from app.erasure.receipts import make_receipt, read_receipt
from app.infra.crypto.signing import Signer
from app.infra.db.transaction import Database

ERASE_JOB = "erase_user"
SWEEP_JOB = "sweep_erased_user"
# What a request may spend on the steps; what isn't done by then is the worker's, and the answer is 202.
REQUEST_BUDGET_S = 5.0
LEASE_S = 30.0
# The worker leaves the request this long to finish by itself.
WORKER_DELAY_S = 6
REGISTER_PAGE = 10_000

log = structlog.get_logger("cairn.erasure")


class Keys(Protocol):
    """What erasing needs of the vault."""

    signer: Signer

    async def destroy(self, usr: UUID, token_life: timedelta, *, stop: bool) -> int:
        """Destroy the user's keys for good; return how many there were."""
        ...

    async def stop(self, usr: UUID) -> None:
        """Let nothing begin anew for the subject whose erasure ended this reference."""
        ...

    async def remaining(self, usr: UUID) -> int:
        """Return how many keys are left."""
        ...

    async def erased(self, after: UUID, limit: int) -> Sequence[UUID]:
        """Return a page of the register of erasures: the references after `after` whose keys were destroyed."""
        ...

    def receipt(self, erasure_id: UUID) -> str:
        """Return the secret that makes an erasure's receipt, in hexadecimal."""
        ...


class HotCopies(Protocol):
    """What erasing needs of Redis at once, before anything is removed."""

    async def bury(self, scope: Scope) -> None:
        """Let no reader find anything of the user's there from now on."""
        ...


class Leftovers(Protocol):
    """What a store leaves on its disk when something is deleted in it."""

    async def sweep(self) -> int:
        """Remove it; return how many pieces there were."""
        ...

    async def count(self) -> int:
        """Return how many pieces there are."""
        ...


class Erasures:
    """Forgets users and proves it."""

    def __init__(
        self,
        db: Database,
        keys: Keys,
        directory: Directory,
        hot: HotCopies,
        kinds: Sequence[UserData],
        token_life: timedelta,
        leftovers: Leftovers | None,
    ) -> None:
        """Take every kind of a user's data, how long a token issued before an erasure could still be alive, and what
        sweeps Chroma's files, where they can be reached from here.
        """
        self._leftovers = leftovers
        self._hot = hot
        self._db = db
        self._keys = keys
        self._directory = directory
        self._kinds = kinds
        self._token_life = token_life

    async def forget(self, scope: Scope, *, stop: bool = False) -> Erasure:
        """Erase the user everywhere. Asked again, it answers the same erasure; done in time, with its certificate."""
        if await self._close_gate(scope, stop=stop):
            log.info("erasure_begun", usr=str(scope.usr))
        elif stop:
            await self._stop(scope)
        # The doors to Postgres are closed; a reader of the hot copies opens none.
        await self._hot.bury(scope)
        try:
            async with asyncio.timeout(REQUEST_BUDGET_S):
                await self.proceed(scope)
        except TimeoutError:
            log.warning("erasure_goes_on", usr=str(scope.usr), why="slow")
        except AppError as error:
            log.warning("erasure_goes_on", usr=str(scope.usr), why=error.code)
        return await self.read(scope)

    async def forget_another(self, scope: Scope) -> Erasure:
        """Erase a user for an operator. Raises `not_found` for nobody of the operator's tenant."""
        try:
            return await self.forget(scope)
        except AppError as error:
            raise AppError("not_found") if error.code == "erased" else error from None

    async def read(self, scope: Scope) -> Erasure:
        """Return the user's erasure as it stands. Raises `not_found` where there is none."""
        async with self._db.erase(scope) as tx:
            erasure = await store.find(tx)
        if erasure is None:
            raise AppError("not_found")
        return erasure

    async def proceed(self, scope: Scope) -> None:
        """Run the steps to their end. Raises `in_progress` while somebody else does, `store_unavailable` where one is
        down.
        """
        async with self._db.erase(scope) as tx:
            erasure = await store.find(tx)
            if erasure is None:
                raise AppError("not_found")
            if erasure.certificate is not None:
                return
            if not await store.take_lease(tx, LEASE_S, AuditEntry("lease", "erasure", erasure.id)):
                raise AppError("in_progress")
        try:
            await self._run(scope, erasure)
        except BaseException:
            async with self._db.erase(scope) as tx:
                await store.drop_lease(tx, AuditEntry("unlease", "erasure", erasure.id))
            raise

    def receipt(self, scope: Scope, erasure: Erasure) -> str:
        """Return what opens the erasure when no token of the user's lives any more."""
        return make_receipt(self._keys.receipt, scope, erasure.id)

    def opened(self, erasure_id: UUID, receipt: str, request_id: str) -> Scope:
        """Return the scope that a receipt opens. Raises `not_found` for what isn't one."""
        return read_receipt(self._keys.receipt, erasure_id, receipt, request_id, "")

    def public_key(self) -> dict[str, str]:
        """Return the key that checks the certificates."""
        return self._keys.signer.public_jwk()

    async def apply_register(self) -> int:
        """Close the gate of every user who was erased and is alive here; return how many there were.

        That is so after a backup of the data was restored: its users of before the erasure are in it, unreadable, for
        their keys are destroyed. It is called before anything is served; the worker then erases the rows.
        """
        closed, after = 0, UUID(int=0)
        while page := await self._keys.erased(after, REGISTER_PAGE):
            for tenant, usr in await self._db.living(page):
                log.warning("erased_user_was_back", usr=str(usr))
                scope = Scope(tenant, usr, None, Actor.WORKER)
                await self._close_gate(scope, stop=False)
                await self._hot.bury(scope)
                closed += 1
            after = page[-1]
        return closed

    async def verify(self, scope: Scope) -> Verification:
        """Go through every store again and count what is there."""
        await self.read(scope)
        remaining = await self._count(scope)
        remaining["keys"] = await self._keys.remaining(scope.usr)
        files = None if self._leftovers is None else await self._leftovers.count()
        return Verification(datetime.now(UTC), remaining, files)

    async def sweep(self, scope: Scope) -> None:
        """Erase once more what a job that ran during the erasure may have written outside of Postgres, and what was
        left on a disk; the certificate then says that nothing is pending.
        """
        await asyncio.gather(*(kind.erase(scope) for kind in self._kinds if kind.store != "postgres"))
        if self._leftovers is None:
            return
        await self._leftovers.sweep()
        async with self._db.erase(scope) as tx:
            erasure = await store.find(tx)
            if erasure is not None and erasure.certificate is not None and erasure.certificate["document"]["pending"]:
                document = swept(erasure.certificate["document"], datetime.now(UTC))
                await store.certify_again(tx, self._signed(document), AuditEntry("sweep", "erasure", erasure.id))

    async def _stop(self, scope: Scope) -> None:
        """Let nothing begin anew for somebody who was erased already, or is being."""
        async with self._db.erase(scope) as tx:
            await store.mark_stop(tx, AuditEntry("stop", "user", scope.usr))
        await self._keys.stop(scope.usr)
        self._directory.forget(scope.usr)

    async def _close_gate(self, scope: Scope, *, stop: bool) -> bool:
        """Close the gate; False where it was closed already."""
        async with self._db.gate(scope) as (tx, state):
            if state != "active":
                return False
            erasure_id = uuid7()
            await store.begin(tx, erasure_id, stop=stop, entry=AuditEntry("forget", "user", scope.usr))
            tx.enqueue(Job(ERASE_JOB, priority=ERASURE_PRIORITY, lane="erase", delay_s=WORKER_DELAY_S))
        return True

    async def _run(self, scope: Scope, erasure: Erasure) -> None:
        entry = AuditEntry("erase", "user", scope.usr)
        if erasure.before is None:
            before = await self._count(scope)
            before["keys"] = await self._keys.remaining(scope.usr)
            async with self._db.erase(scope) as tx:
                await store.keep_before(tx, before, entry)
        destroyed = await self._keys.destroy(scope.usr, self._token_life, stop=erasure.stop)
        self._directory.forget(scope.usr)
        await asyncio.gather(*(kind.erase(scope) for kind in self._kinds))
        # Twice: what was under way in another process when the first count began is in the second.
        remaining = await self._zero(scope)
        remaining = await self._zero(scope)
        async with self._db.erase(scope) as tx:
            counted = await store.find(tx)
            if counted is None:
                raise AppError("not_found")
            finished_at = datetime.now(UTC)
            document = make_certificate(
                scope,
                counted,
                self._kinds,
                remaining,
                destroyed,
                finished_at,
                await store.received_by(tx),
                is_swept_here=self._leftovers is not None,
            )
            await store.finish(tx, self._signed(document), finished_at, entry)
            tx.enqueue(Job(SWEEP_JOB, priority=ERASURE_PRIORITY, once="sweep"))

    def _signed(self, document: Mapping[str, Any]) -> dict[str, Any]:
        signer = self._keys.signer
        signature = {"kid": signer.key_id, "alg": "EdDSA", "value": signer.sign(document)}
        return {"document": document, "signature": signature}

    async def _count(self, scope: Scope) -> dict[str, int]:
        kinds = [kind for kind in self._kinds if kind.retained is None]
        counts = await asyncio.gather(*(kind.count(scope) for kind in kinds))
        return {kind.name: count for kind, count in zip(kinds, counts, strict=True)}

    async def _zero(self, scope: Scope) -> Mapping[str, int]:
        remaining = await self._count(scope)
        if any(remaining.values()):
            left = [name for name, count in remaining.items() if count]
            log.warning("erasure_incomplete", usr=str(scope.usr), kinds=left)
            raise AppError("store_unavailable", "something was left")
        return remaining


class EraseHandler:
    """Goes on with an erasure that its request didn't finish."""

    name = ERASE_JOB

    def __init__(self, erasures: Erasures) -> None:
        """Take the service."""
        self._erasures = erasures

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Run the steps to their end; a store that is down is waited for, however long."""
        del args
        await self._erasures.proceed(scope)


class SweepHandler:
    """Runs behind the user's own jobs, when none of them can write any more."""

    name = SWEEP_JOB

    def __init__(self, erasures: Erasures) -> None:
        """Take the service."""
        self._erasures = erasures

    async def run(self, scope: Scope, args: Mapping[str, str | int]) -> None:
        """Sweep."""
        del args
        await self._erasures.sweep(scope)
