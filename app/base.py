"""What all features are built on: the connections, the keys, the models. Opened once for a process."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.core.recipients import Recipient
from app.infra.audit.ledger import Ledger
from app.infra.audit.writer import AuditWriter
from app.infra.chroma.client import ChromaClient
from app.infra.crypto.master import MasterKeys
from app.infra.db.engine import STATEMENT_TIMEOUT_S, make_engine
from app.infra.db.generations import Generations
from app.infra.db.group_commit import GroupCommit
from app.infra.db.transaction import Database
from app.infra.embedders.build import build as build_embedder
from app.infra.embedders.models import Model, Models
from app.infra.embedders.port import Embedder
from app.infra.embedders.service import EmbeddingService
from app.infra.extraction.extractor import Extractor
from app.infra.extraction.model import Limits
from app.infra.extractors.openai import OpenAIExtractor
from app.infra.extractors.port import Extractor as Extracting
from app.infra.keys.store import KeyStore, open_pool
from app.infra.keys.vault import Vault, WrongKeyStoreError, open_vault
from app.infra.redis.answers import HotAnswers
from app.infra.redis.client import RedisStore, connect
from app.infra.redis.copies import HotCopies
from app.infra.redis.lease import Lease
from app.infra.redis.memory import MemoryCopies
from app.infra.rerankers.http import HttpReranker
from app.infra.rerankers.port import Reranker
from app.infra.segments.cache import IndexCache
from app.infra.served.client import Endpoint
from app.infra.served.permits import OfNobody, Permits, permitted
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.infra.summarisers.fallback import FallbackSummariser
from app.infra.summarisers.openai import OpenAISummariser
from app.infra.summarisers.port import Summariser
from app.sessions.appending import owed
from app.settings import Settings

KEYS_POOL = 4


@dataclass(frozen=True)
class Base:
    """What all features are built on."""

    settings: Settings
    db: Database
    commits: GroupCommit
    ledger: Ledger
    key_store: KeyStore
    vault: Vault
    redis: RedisStore
    lease: Lease
    answers: HotAnswers
    chroma: ChromaClient
    models: Models
    # Without one nothing of a user's is sent to a model outside.
    permits: Permits
    # What summarises in jobs; None where no model is asked for it.
    model_summariser: Summariser | None
    # What reads messages beside the rules; None where no model is asked for it.
    extractor: Extracting | None
    # What puts found passages in order; None where no model is asked for it.
    reranker: Reranker | None
    cache: IndexCache


async def open_base(
    settings: Settings, log: AuditWriter, stack: AsyncExitStack, statement_timeout_s: float = STATEMENT_TIMEOUT_S
) -> Base:
    """Connect to everything, and leave it to the stack to close it."""
    engine = make_engine(
        settings.database_url.get_secret_value(),
        settings.db_pool_size,
        statement_cache_size=settings.db_statement_cache,
        statement_timeout_s=statement_timeout_s,
    )
    stack.push_async_callback(engine.dispose)
    store = KeyStore(await open_pool(settings.keys_url.get_secret_value(), KEYS_POOL))
    stack.push_async_callback(store.close)
    vault = await open_vault(store, MasterKeys.parse(settings.master_key.get_secret_value()))
    redis = connect(settings.redis_url.get_secret_value())
    stack.push_async_callback(redis.close)
    generations = Generations(settings.database_url.get_secret_value())
    stack.push_async_callback(generations.end)
    chroma = ChromaClient(settings.chroma_url)
    stack.push_async_callback(chroma.close)
    wanted = await _model(settings.embedder, settings, stack)
    before = await _model(settings.embedder_before, settings, stack) if settings.embedder_before else None
    summariser = _model_summariser(settings)
    if summariser is not None:
        stack.push_async_callback(summariser.close)
    extractor = _extractor(settings)
    if extractor is not None:
        stack.push_async_callback(extractor.close)
    reranker = _reranker(settings)
    if reranker is not None:
        stack.push_async_callback(reranker.close)
    lease = Lease(generations, redis)
    memory = MemoryCopies(HotCopies(redis, lease))
    db = Database(engine, vault, log, memory)
    permits = Permits(db.choices)
    models = Models(wanted, before, settings.embedder_deadline_s, permits)
    await require_own_keys(db, vault)
    await db.note_recipients(outside(settings))
    commits = GroupCommit(db, owed(by_model=summariser is not None))
    stack.push_async_callback(commits.close)  # before the engine: what was taken is committed
    return Base(
        settings,
        db,
        commits,
        Ledger(engine),
        store,
        vault,
        redis,
        lease,
        HotAnswers(db, memory),
        chroma,
        models,
        permits,
        summariser,
        extractor,
        reranker,
        IndexCache(),
    )


def outside(settings: Settings) -> list[Recipient]:
    """Return who is sent texts of users: the model server, for each purpose that it is asked for."""
    host = urlsplit(settings.llm_base_url).hostname or ""
    asked = [name.partition(":") for name in (settings.embedder, settings.embedder_before)]
    sent = [Recipient("embedding", host, model) for kind, _, model in asked if kind == "openai"]
    if settings.summariser == "openai":
        sent.append(Recipient("summary", host, settings.llm_model))
    if settings.extractor == "openai" and settings.writer == "rules":
        sent.append(Recipient("extraction", host, settings.llm_model))
    if settings.rerank_base_url:
        sent.append(Recipient("rerank", urlsplit(settings.rerank_base_url).hostname or "", settings.rerank_model))
    return sent


def model_names(settings: Settings) -> list[str]:
    """Return the models by name and revision, the wanted one first. A model in a folder is read for it: in a thread."""
    asked = [name for name in (settings.embedder, settings.embedder_before) if name]
    built = [build_embedder(name, endpoint=_endpoint(settings)) for name in asked]
    return list(dict.fromkeys(_name(embedder) for embedder in built))


def _name(embedder: Embedder) -> str:
    return f"{embedder.name}@{embedder.revision}"


async def _model(name: str, settings: Settings, stack: AsyncExitStack) -> Model:
    service = EmbeddingService(build_embedder(name, endpoint=_endpoint(settings)))
    stack.push_async_callback(service.close)
    with permitted(OfNobody()):  # the revision may be the model's to tell
        named = await asyncio.to_thread(_name, service.embedder)
    return Model(named, service, is_outside=name.startswith("openai:"))


def _endpoint(settings: Settings) -> Endpoint | None:
    if not settings.llm_base_url:
        return None
    return Endpoint(settings.llm_base_url, settings.llm_api_key.get_secret_value() or None, guarded=True)


def _reranker(settings: Settings) -> Reranker | None:
    if not settings.rerank_base_url:
        return None
    key = settings.rerank_api_key.get_secret_value() or None
    return HttpReranker(settings.rerank_model, settings.rerank_base_url, key, settings.rerank_deadline_s)


def _extractor(settings: Settings) -> Extracting | None:
    endpoint = _endpoint(settings)
    if settings.extractor != "openai" or endpoint is None:
        return None
    return OpenAIExtractor(settings.llm_model, endpoint)


def _model_summariser(settings: Settings) -> Summariser | None:
    endpoint = _endpoint(settings)
    if settings.summariser != "openai" or endpoint is None:
        return None
    return FallbackSummariser(OpenAISummariser(settings.llm_model, endpoint), ExtractiveSummariser())


async def require_own_keys(db: Database, vault: Vault) -> None:
    """Raise WrongKeyStoreError where the data was written with another key store than the vault's."""
    if not await db.belongs_to(vault.derive("installation")):
        raise WrongKeyStoreError(
            "the data was written with another key store: restore that one, or start with an empty database",
        )


def extractor_of(base: Base) -> Extractor:
    """Return what reads files, within the settings."""
    settings = base.settings
    limits = Limits(
        memory_bytes=settings.file_memory_bytes,
        cpu_s=settings.file_cpu_s,
        wall_s=settings.file_wall_s,
        text_bytes=settings.file_text_bytes,
        unpacked_bytes=settings.file_unpacked_bytes,
        pages=settings.file_pages,
    )
    return Extractor(limits, settings.file_slots)
