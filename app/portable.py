"""How a user's data is taken out and in: every kind that exports give and imports take."""

from app.audit.exporting import AuditExport
from app.base import Base
from app.context.exporting import ContextExport
from app.core.portability import Exported
from app.core.withholding import Registered
from app.infra.db.rows import OwnedRows
from app.infra.db.transaction import Transaction
from app.infra.segments.store import SegmentStore
from app.knowledge.exporting import DocumentExport
from app.knowledge.importing import DocumentImport
from app.knowledge.quotas import Quotas
from app.knowledge.uploads import Uploads
from app.memories.exporting import MemoryExport
from app.memories.importing import MemoryImport
from app.memories.indexing import MemoryIndex
from app.parts import Parts, evidence_check
from app.portability import tables as import_tables
from app.portability.importing import ImportArchive, SweepImport
from app.portability.omissions import LEFT_OUT
from app.portability.receiving import Imports
from app.portability.service import Exports
from app.preferences.exporting import PreferenceExport
from app.preferences.importing import CandidateImport, PreferenceImport
from app.profile.exporting import ProfileExport
from app.profile.importing import ProfileImport
from app.sessions.exporting import SessionExport
from app.sessions.importing import MessageImport, SessionImport
from app.sessions.window import Window
from app.usage.exporting import UsageExport
from app.verifications.exporting import SecretExport
from app.writer.exporting import InferredExport
from app.writer.importing import InferredImport


def exported() -> list[Exported[Transaction]]:
    """Return every kind of a user's data that an export gives, in the order of the archive's files."""
    return [
        ProfileExport(),
        PreferenceExport(),
        MemoryExport(),
        InferredExport(),
        SessionExport(),
        DocumentExport(),
        ContextExport(),
        UsageExport(),
        SecretExport(),
        AuditExport(),
    ]


def portability(base: Base, registered: Registered) -> Parts:
    settings, db, cache, names = base.settings, base.db, base.cache, base.models.names
    evidence, most_bytes = evidence_check(), settings.max_import_bytes
    quotas = Quotas(settings.quota_documents, settings.quota_bytes, settings.quota_chunks)
    uploads = Uploads(db, quotas, settings.max_upload_bytes)
    # What evidence points at comes first.
    kinds = (
        SessionImport(),
        MessageImport(SegmentStore("message", cache, *names), Window(base.redis, base.lease)),
        DocumentImport(db, uploads),
        ProfileImport(evidence),
        PreferenceImport(evidence),
        CandidateImport(evidence),
        InferredImport(evidence),
        MemoryImport(MemoryIndex(SegmentStore("memory", cache, *names)), evidence),
    )
    return Parts(
        provided={Exports: Exports(db, exported(), LEFT_OUT), Imports: Imports(db, most_bytes)},
        handlers=[ImportArchive(db, registered, kinds, most_bytes), SweepImport(db)],
        data=[OwnedRows(db, "imports", (import_tables.import_parts, import_tables.imports))],
    )
