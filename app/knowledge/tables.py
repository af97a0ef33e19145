"""The tables of knowledge: documents, their versions and bytes, the chunks, and what the vector store is owed."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
    Uuid,
    text,
)

from app.infra.db.base import owned

# `version` is the newest one, `indexed_version` the one that is searched: they differ while a new one is ingested, and
# when that failed. What a version says of itself (title, type) is a row of its own: no hit is mislabelled meanwhile.
documents = owned(
    "documents",
    Column("id", Uuid, nullable=False),
    Column("version", Integer, nullable=False),
    Column("indexed_version", Integer),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("usr", "id"),
)

document_versions = owned(
    "document_versions",
    Column("document_id", Uuid, nullable=False),
    Column("version", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("progress", Float, nullable=False, server_default="0"),
    Column("failure", Text),
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    # What an upload says of itself may come after its bytes: it is empty while the status is `receiving`.
    Column("doc_type_tag", LargeBinary),
    Column("doc_type_sealed", LargeBinary),
    Column("title_sealed", LargeBinary),
    Column("file_name_sealed", LargeBinary),
    Column("metadata_sealed", LargeBinary),
    Column("media_type", Text),
    Column("encoding", Text),
    Column("size_bytes", BigInteger),
    Column("content_tag", LargeBinary),
    Column("created_at", DateTime(timezone=True), nullable=False),
    # Written when the version is ready, and never changed: it goes with its row, so that it can't be wrong.
    Column("chunk_count", Integer),
    PrimaryKeyConstraint("usr", "document_id", "version"),
    ForeignKeyConstraint(["usr", "document_id"], ["documents.usr", "documents.id"], ondelete="CASCADE"),
    CheckConstraint("status in ('receiving', 'queued', 'processing', 'ready', 'failed')", name="status"),
    CheckConstraint("status = 'receiving' or (doc_type_tag is not null and media_type is not null)", name="complete"),
    CheckConstraint("(status = 'failed') = (failure is not null)", name="failure"),
    Index("ix_document_versions_waiting", "usr", postgresql_where=text("status in ('queued', 'processing')")),
    Index(
        "ix_document_versions_usage",
        "usr",
        "document_id",
        postgresql_include=["tenant", "size_bytes", "chunk_count"],
        postgresql_where=text("status <> 'receiving'"),
    ),
    Index("ix_document_versions_uncounted", "usr", postgresql_where=text("chunk_count IS NULL")),
)

document_parts = owned(
    "document_parts",
    Column("document_id", Uuid, nullable=False),
    Column("version", Integer, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("body_sealed", LargeBinary, nullable=False),
    PrimaryKeyConstraint("usr", "document_id", "version", "ordinal"),
    ForeignKeyConstraint(
        ["usr", "document_id", "version"],
        ["document_versions.usr", "document_versions.document_id", "document_versions.version"],
        ondelete="CASCADE",
    ),
)

# The texts of chunks, each once for a user, with the vector that a model has made of it. A trigger takes what no chunk
# needs any more (revision 0028).
chunk_texts = owned(
    "chunk_texts",
    Column("content_tag", LargeBinary, nullable=False),
    Column("text_sealed", LargeBinary, nullable=False),
    Column("model", Text, nullable=False),
    Column("vector_sealed", LargeBinary, nullable=False),
    PrimaryKeyConstraint("usr", "content_tag"),
)

chunks = owned(
    "chunks",
    Column("id", Uuid, nullable=False),
    Column("document_id", Uuid, nullable=False),
    Column("version", Integer, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("location_sealed", LargeBinary, nullable=False),
    # Equal texts of a user have equal tags: they are embedded once, and the vector store holds one vector for them.
    Column("content_tag", LargeBinary, nullable=False),
    # The same tag, where the text stands in `chunk_texts`. What was written before that has its own.
    Column("text_tag", LargeBinary),
    Column("text_sealed", LargeBinary),
    Column("model", Text),
    Column("vector_sealed", LargeBinary),
    PrimaryKeyConstraint("usr", "id"),
    ForeignKeyConstraint(
        ["usr", "document_id", "version"],
        ["document_versions.usr", "document_versions.document_id", "document_versions.version"],
        ondelete="CASCADE",
    ),
    CheckConstraint("text_tag is not null or text_sealed is not null", name="text"),
    Index(None, "usr", "document_id", "version", "ordinal", unique=True),
    Index(None, "usr", "content_tag"),
    Index(None, "usr", "text_tag"),
)

# What the vector store has yet to be told: the tag came, or went. The row goes when it was told what this revision saw.
vector_changes = owned(
    "vector_changes",
    Column("content_tag", LargeBinary, nullable=False),
    Column("revision", BigInteger, nullable=False, server_default="1"),
    PrimaryKeyConstraint("usr", "content_tag"),
)

# The collections of a user's in the vector store, written before they are made: an erasure finds them all by name.
vector_collections = owned(
    "vector_collections",
    Column("name", Text, nullable=False),
    PrimaryKeyConstraint("usr", "name"),
)
