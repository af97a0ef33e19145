"""What each feature adds to the product: the objects of its routes, its jobs, its sources, its data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.access.service import Access
from app.audit.service import Trails
from app.base import Base, extractor_of
from app.context import store as context_store
from app.context import tables as context_tables
from app.context.changes import tables as change_tables
from app.context.changes.noting import NoteSuperseded, holders
from app.context.changes.service import MarkLog
from app.context.log import MemoryLog
from app.context.service import Contexts, Models
from app.core.account import Counted, CountedBy
from app.core.ageing import Ageing
from app.core.evidence import EvidenceCheck
from app.core.jobs import Handler
from app.core.memory import Source, UserData
from app.core.remembered import Listing
from app.core.superseding import Superseding
from app.core.updates import Updating
from app.core.withholding import Registered
from app.erasure.service import EraseHandler, Erasures, SweepHandler
from app.infra.audit.verifying import Verifier
from app.infra.audit.writer import AuditWriter
from app.infra.chroma.index import ChromaIndex
from app.infra.db.between import LoseInferred, Talk, Traces
from app.infra.db.expired_answers import ExpiredAnswers
from app.infra.db.rows import OwnedRows
from app.infra.db.transaction import Database, Transaction
from app.infra.embedders.tokenizers import counts
from app.infra.segments.store import SegmentStore
from app.infra.summarisers.extractive import ExtractiveSummariser
from app.knowledge.evidence import DocumentEvidence
from app.knowledge.index_watch import LostVectors
from app.knowledge.indexing import IndexChunks, RebuildIndex, VectorKeeper, chunk_renewal
from app.knowledge.ingestion import IngestDocument
from app.knowledge.listing import DocumentListing
from app.knowledge.quotas import Quotas, Usages
from app.knowledge.reranking import Reranking
from app.knowledge.search import Search
from app.knowledge.service import Documents
from app.knowledge.source import KnowledgeSource
from app.knowledge.texts import PassageTexts
from app.knowledge.uploads import SweepUpload, Uploads
from app.knowledge.userdata import CollectionData, knowledge_rows
from app.knowledge.vectors import CheckedIndex, ChromaVectors, ExactIndex
from app.knowledge.watching import Watching
from app.memories import store as memory_store
from app.memories import tables as memory_tables
from app.memories.expiring import ExpireMemory
from app.memories.indexing import IndexMemories, MemoryIndex, memory_renewal
from app.memories.listing import MemoryListing
from app.memories.model import MAX_MEMORIES
from app.memories.search import MemorySearch
from app.memories.service import Memories
from app.memories.source import MemorySource
from app.memories.updates import MemoryUpdates
from app.preferences import candidate_store
from app.preferences import store as preference_store
from app.preferences import tables as preference_tables
from app.preferences.candidate_listing import CandidateListing
from app.preferences.candidates import Candidates as PreferenceCandidates
from app.preferences.catalogue.service import Catalogue
from app.preferences.former import FormerPreferences
from app.preferences.judgement import MAX_CANDIDATES
from app.preferences.listing import PreferenceListing
from app.preferences.model import MAX_PREFERENCES
from app.preferences.proposals import Proposals
from app.preferences.service import Preferences
from app.preferences.source import PreferenceSource
from app.preferences.updates import PreferenceUpdates
from app.profile import tables as profile_tables
from app.profile.counting import count_fields
from app.profile.former import FormerFacts
from app.profile.listing import ProfileListing
from app.profile.service import Profiles
from app.profile.source import ProfileSource
from app.profile.updates import ProfileUpdates
from app.rights.service import Rights
from app.sessions import store as session_store
from app.sessions import tables as session_tables
from app.sessions.ageing import OldMessages
from app.sessions.claiming import Claims
from app.sessions.counting import count_messages, count_sessions
from app.sessions.evidence import MessageEvidence
from app.sessions.exchange import Exchanges
from app.sessions.guest_store import GuestStore
from app.sessions.guests import Guests
from app.sessions.hearing import Hearing
from app.sessions.hosts import Hosts
from app.sessions.indexing import IndexMessages, message_renewal
from app.sessions.leftovers import ClaimData, RemoveLeftover
from app.sessions.listing import SessionListing
from app.sessions.making import ViewMaker
from app.sessions.marks import Marks
from app.sessions.recall import Recalls
from app.sessions.service import Defaults, Sessions
from app.sessions.source import RecallSource, SessionSource
from app.sessions.summarising import SummariseSession
from app.sessions.view import Views
from app.sessions.window import Window
from app.usage import tables as usage_tables
from app.usage.service import Usage, UsageMeter
from app.verifications import tables as verification_tables
from app.verifications.patterns.registered import RegisteredPatterns
from app.verifications.patterns.service import Patterns
from app.verifications.service import Verifications
from app.verifications.tokens import Tokens


@dataclass(frozen=True)
class Parts:
    """What one feature adds: what its routes ask for, its jobs, its sources, its data, its part of the one list, and
    what counts it.
    """

    provided: Mapping[type, object]
    handlers: Sequence[Handler] = ()
    sources: Sequence[Source] = ()
    data: Sequence[UserData] = ()
    listings: Sequence[Listing] = ()
    ageing: Sequence[Ageing] = ()
    counted: Sequence[Counted[Transaction]] = ()
    updating: Sequence[Updating[Transaction]] = ()


def kept_answers(db: Database) -> Parts:
    expired = ExpiredAnswers(db)
    return Parts({}, handlers=[expired], ageing=[expired])


def memories(base: Base) -> tuple[MemorySearch, Parts]:
    segments = SegmentStore("memory", base.cache, *base.models.names)
    index, search = MemoryIndex(segments), MemorySearch(segments)
    tables = (memory_tables.memory_versions, memory_tables.memories)
    renewal = memory_renewal(base.db, segments, base.models)
    return search, Parts(
        provided={Memories: Memories(base.db, index, evidence_check(), superseding())},
        handlers=[IndexMemories(base.db, segments, base.models), ExpireMemory(base.db, index), renewal],
        ageing=[renewal],
        sources=[MemorySource(base.db, search, base.models)],
        updating=[MemoryUpdates()],
        listings=[MemoryListing(base.db)],
        counted=[CountedBy("memory", MemoryListing.permission, "memories", memory_store.count, MAX_MEMORIES)],
        data=[OwnedRows(base.db, "memories", tables)],
    )


def sessions(base: Base, facts: MemorySearch, hearing: Hearing, lose: LoseInferred) -> tuple[Sessions, Parts]:
    segments = SegmentStore("message", base.cache, *base.models.names)
    window, summariser = Window(base.redis, base.lease), ExtractiveSummariser()
    by_model = base.model_summariser
    views = Views(base.db, window, ViewMaker(summariser), by_model=by_model is not None)
    defaults = Defaults(base.settings.window, base.settings.session_ttl_s)
    recalls = Recalls(base.db, segments, base.models, facts, superseding())
    days, forget = base.settings.record_retention_days, context_store.forget_session
    traces = Traces(forget, context_store.forget_words, context_store.find_contexts, lose)
    sessions = Sessions(base.db, window, views, segments, base.commits, defaults, traces, hearing)
    renewal = message_renewal(base.db, segments, base.models)
    old = OldMessages(base.db, segments, window, summariser, forget, keep=timedelta(days=days) if days else None)
    return sessions, Parts(
        provided={Sessions: sessions, Recalls: recalls},
        # Jobs that were owed while a model was set are done without it.
        handlers=[
            IndexMessages(base.db, segments, base.models),
            renewal,
            SummariseSession(base.db, window, by_model or summariser, base.permits),
            old,
        ],
        ageing=[old, renewal],
        sources=[SessionSource(views), RecallSource(base.db, recalls)],
        listings=[SessionListing(base.db)],
        counted=[
            CountedBy("session", SessionListing.permission, "sessions", count_sessions),
            CountedBy("message", SessionListing.permission, "messages", count_messages),
        ],
        data=[OwnedRows(base.db, "sessions", (session_tables.messages, session_tables.sessions))],
    )


def guests(base: Base, sessions: Sessions, contexts: Contexts) -> Parts:
    defaults = Defaults(base.settings.window, base.settings.session_ttl_s)
    kept = GuestStore(base.redis)
    guests = Guests(kept, ViewMaker(ExtractiveSummariser()), defaults)
    hosts = Hosts(sessions, Exchanges(sessions, contexts), guests, Marks(base.db, superseding()))
    return Parts(
        provided={Hosts: hosts, Claims: Claims(guests, sessions)},
        handlers=[RemoveLeftover(kept)],
        data=[ClaimData(base.db, kept)],
    )


def evidence_check() -> EvidenceCheck[Transaction]:
    return EvidenceCheck([MessageEvidence(), DocumentEvidence()])


def superseding() -> Superseding[Transaction]:
    return Superseding([FormerFacts(), FormerPreferences()])


def preferences(base: Base) -> Parts:
    tables = (
        preference_tables.preference_evidence,
        preference_tables.preference_candidates,
        preference_tables.preference_versions,
        preference_tables.preferences,
    )
    evidence, may_read = evidence_check(), PreferenceListing.permission
    return Parts(
        provided={
            Preferences: Preferences(base.db, evidence, base.answers),
            Proposals: Proposals(base.db, evidence),
            PreferenceCandidates: PreferenceCandidates(base.db),
            Catalogue: Catalogue(base.db),
        },
        sources=[PreferenceSource(base.db)],
        updating=[PreferenceUpdates()],
        listings=[PreferenceListing(base.db), CandidateListing(base.db)],
        counted=[
            CountedBy("preference", may_read, "preferences", preference_store.count, MAX_PREFERENCES),
            CountedBy("candidate", may_read, "candidates", candidate_store.count_waiting, MAX_CANDIDATES),
        ],
        data=[OwnedRows(base.db, "preferences", tables)],
    )


def profile(base: Base) -> Parts:
    return Parts(
        provided={Profiles: Profiles(base.db, evidence_check(), base.answers)},
        sources=[ProfileSource(base.db)],
        updating=[ProfileUpdates()],
        listings=[ProfileListing(base.db)],
        counted=[CountedBy("profile", ProfileListing.permission, "profile", count_fields)],
        data=[OwnedRows(base.db, "profile", (profile_tables.profile_versions, profile_tables.profiles))],
    )


def knowledge(base: Base, registered: Registered) -> Parts:
    db, models = base.db, base.models
    segments = SegmentStore("chunk", base.cache, *models.names)
    collections = [ChromaIndex(base.chroma, name) for name in models.names]
    keeper = VectorKeeper(db, segments, collections)
    vectors = CheckedIndex(db, ChromaVectors(db, collections), ExactIndex())
    renewal = chunk_renewal(db, segments, models, keeper)
    keeping = (IndexChunks(db, segments, keeper), RebuildIndex(keeper), renewal)
    settings, reranking = base.settings, Reranking(base.reranker, base.permits)
    search = Search(db, segments, models, vectors, settings.exact_max_chunks, superseding(), reranking)
    quotas = Quotas(settings.quota_documents, settings.quota_bytes, settings.quota_chunks)
    usages = Usages(db, quotas)
    provided = (
        Documents(db, segments, quotas),
        Uploads(db, quotas, settings.max_upload_bytes),
        usages,
        Watching(db),
        search,
    )
    return Parts(
        provided={type(each): each for each in provided},
        handlers=[
            IngestDocument(db, segments, models, extractor_of(base), quotas, registered),
            *keeping,
            SweepUpload(db),
        ],
        sources=[KnowledgeSource(search)],
        listings=[DocumentListing(db)],
        counted=[usages],
        ageing=[renewal, LostVectors(db, keeper)],
        data=[knowledge_rows(db), CollectionData(db, collections)],
    )


def context(base: Base, features: Sequence[Parts]) -> tuple[Contexts, Parts]:
    sources = [each for feature in features for each in feature.sources]
    listings = [each for feature in features for each in feature.listings]
    updating = [each for feature in features for each in feature.updating]
    models = Models(counts(base.models.count_tokens, base.settings.tokenizer), base.models.wanted.name)
    talk = Talk(session_store.hold_session, session_store.context_of, session_store.turns)
    deadline_s, meter = base.settings.context_deadline_s, UsageMeter()
    contexts = Contexts(base.db, sources, models, deadline_s, talk.hold, superseding(), meter)
    tables = (context_tables.context_feedback, context_tables.memory_log, change_tables.memory_marks)
    data = [OwnedRows(base.db, "memory_log", tables)]
    log = MemoryLog(base.db, talk, updating, meter)
    noting = NoteSuperseded(base.db, superseding(), holders(listings, [PassageTexts(base.db)]))
    provided = {Contexts: contexts, MemoryLog: log, MarkLog: MarkLog(base.db)}
    return contexts, Parts(provided=provided, handlers=[noting], data=data)


def erasure(erasures: Erasures) -> Parts:
    return Parts(provided={Erasures: erasures}, handlers=[EraseHandler(erasures), SweepHandler(erasures)])


def access(base: Base, log: AuditWriter) -> Parts:
    token_life = timedelta(seconds=base.settings.auth_max_life_s)
    return Parts(provided={Access: Access(base.db, base.vault, log, token_life)})


def rights(base: Base) -> Parts:
    return Parts(provided={Rights: Rights(base.db)})


def audit(base: Base) -> Parts:
    signer = base.vault.signer
    verifier = Verifier(base.ledger, base.key_store, {signer.key_id: signer.public_jwk()})
    return Parts(provided={Trails: Trails(base.db, verifier)})


def verifications(base: Base, registered: RegisteredPatterns) -> Parts:
    return Parts(
        provided={
            Verifications: Verifications(base.db, Tokens(base.redis)),
            Patterns: Patterns(base.db, registered),
        },
        data=[OwnedRows(base.db, "registered_secrets", (verification_tables.registered_secrets,))],
    )


def usage(base: Base) -> Parts:
    data = [OwnedRows(base.db, "usage", (usage_tables.usage,))]
    return Parts(provided={Usage: Usage(base.db)}, data=data)
