"""Builds every object once; with `app.base` and `app.parts` the only module that knows every concrete class."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import MetaData

from app import inferring, parts
from app.account.service import Accounts
from app.base import Base, open_base
from app.core.jobs import Handler
from app.core.memory import UserData
from app.core.withholding import Registered
from app.erasure.service import Erasures
from app.infra.audit.sealing import Sealer
from app.infra.audit.writer import AuditWriter
from app.infra.chroma.files import ChromaFiles
from app.infra.db.base import metadata as declarations
from app.infra.db.engine import STATEMENT_TIMEOUT_S
from app.infra.db.transaction import Database
from app.infra.keys.directory import Directory
from app.infra.keys.vault import Vault
from app.infra.queue.ageing import AgeWatch
from app.infra.redis.lease import Lease
from app.infra.redis.userdata import HotData
from app.memories.overview import Overviews
from app.portable import portability
from app.settings import Settings
from app.shared import shared_data
from app.verifications.patterns.registered import RegisteredPatterns


@dataclass(frozen=True)
class Wiring:
    """Everything that a process needs, built and connected."""

    provided: Mapping[type, object]
    handlers: Sequence[Handler]
    user_data: Sequence[UserData]
    age_watch: AgeWatch
    sealer: Sealer
    db: Database
    vault: Vault
    directory: Directory
    registered: Registered
    erasures: Erasures
    access_log: AuditWriter
    lease: Lease
    pings: Mapping[str, Callable[[], Awaitable[object]]]


def metadata() -> MetaData:
    """Return the declarations of every table: importing their modules has made them."""
    return declarations


@asynccontextmanager
async def build(settings: Settings, statement_timeout_s: float = STATEMENT_TIMEOUT_S) -> AsyncIterator[Wiring]:
    """Build everything, start what runs in the background, and close it in the end."""
    async with AsyncExitStack() as stack:
        url = settings.database_log_url.get_secret_value()
        log = AuditWriter(url, awaits_reads=settings.audit_reads == "durable")
        base = await open_base(settings, log, stack, statement_timeout_s)
        registered = RegisteredPatterns(base.db)
        facts, memory_parts = parts.memories(base)
        hearing, writer_parts = inferring.writer(base)
        sessions, session_parts = parts.sessions(base, facts, hearing, inferring.lose_inferred(base))
        features = [
            session_parts,
            writer_parts,
            parts.preferences(base),
            parts.profile(base),
            memory_parts,
            parts.knowledge(base, registered),
        ]
        contexts, context_parts = parts.context(base, features)
        features += [
            _of_all_kinds(base.db, features),
            context_parts,
            parts.guests(base, sessions, contexts),
            parts.verifications(base, registered),
            parts.usage(base),
            portability(base, registered),
            parts.kept_answers(base.db),
            parts.rights(base),
        ]
        hot = HotData(base.redis, base.lease)
        data = [*shared_data(base.db, base.cache), *(kind for each in features for kind in each.data), hot]
        directory = Directory(base.vault, base.db)
        token_life = timedelta(seconds=settings.auth_max_life_s)
        folder = settings.chroma_folder
        files = ChromaFiles(folder) if folder else None
        erasures = Erasures(base.db, base.vault, directory, hot, data, token_life, files)
        features += [parts.erasure(erasures), parts.access(base, log), parts.audit(base)]
        writer = asyncio.create_task(log.run())
        stack.push_async_callback(_finish, log, writer)
        stack.push_async_callback(_stop, base.lease, asyncio.create_task(base.lease.run()))
        # The model is loaded beside the first requests: those that need it wait for it, the others don't.
        stack.push_async_callback(_end, asyncio.create_task(base.models.start()))
        yield Wiring(
            provided={kind: thing for feature in features for kind, thing in feature.provided.items()},
            handlers=[handler for feature in features for handler in feature.handlers],
            user_data=data,
            age_watch=AgeWatch(base.db, [kind for feature in features for kind in feature.ageing]),
            sealer=Sealer(base.ledger, base.key_store, base.vault.signer),
            db=base.db,
            vault=base.vault,
            directory=directory,
            registered=registered,
            erasures=erasures,
            access_log=log,
            lease=base.lease,
            pings=_pings(base),
        )


def _of_all_kinds(db: Database, features: Sequence[parts.Parts]) -> parts.Parts:
    listings = [listing for feature in features for listing in feature.listings]
    counted = [counted for feature in features for counted in feature.counted]
    return parts.Parts(
        {Overviews: Overviews(db, listings, parts.superseding()), Accounts: Accounts(db, counted)},
    )


def _pings(base: Base) -> Mapping[str, Callable[[], Awaitable[object]]]:
    return {
        "postgres": base.db.ping,
        "keys": base.vault.ping,
        "redis": base.redis.ping,
        "chroma": base.chroma.ping,
    }


async def _finish(log: AuditWriter, writer: asyncio.Task[None]) -> None:
    log.close()
    await writer


async def _stop(lease: Lease, keeper: asyncio.Task[None]) -> None:
    lease.stop()
    await keeper


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
