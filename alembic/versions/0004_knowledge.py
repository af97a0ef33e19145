"""The tables of knowledge: documents, versions, parts, chunks, and what the vector store is owed."""

from alembic import op

from app.infra.db.policies import protect

revision = "0004_knowledge"
down_revision = "0003_user_memory"
branch_labels = None
depends_on = None

OWNER_COLUMNS = "tenant text NOT NULL, usr uuid NOT NULL"
TABLES = ("documents", "document_versions", "document_parts", "chunks", "vector_changes", "vector_collections")


def upgrade() -> None:
    """Make the tables."""
    _make_documents()
    _make_chunks()
    for table in TABLES:
        protect(op, table)


def downgrade() -> None:
    """Drop the tables."""
    op.execute(f"DROP TABLE {', '.join(reversed(TABLES))}")


def _make_documents() -> None:
    op.execute(f"""
        CREATE TABLE documents (
            {OWNER_COLUMNS},
            id uuid NOT NULL,
            version integer NOT NULL,
            indexed_version integer,
            created_at timestamptz NOT NULL,
            updated_at timestamptz NOT NULL,
            CONSTRAINT pk_documents PRIMARY KEY (usr, id)
        );
        CREATE TABLE document_versions (
            {OWNER_COLUMNS},
            document_id uuid NOT NULL,
            version integer NOT NULL,
            status text NOT NULL,
            progress double precision NOT NULL DEFAULT 0,
            failure text,
            attempts smallint NOT NULL DEFAULT 0,
            doc_type_tag bytea,
            doc_type_sealed bytea,
            title_sealed bytea,
            file_name_sealed bytea,
            metadata_sealed bytea,
            media_type text,
            encoding text,
            size_bytes bigint,
            content_tag bytea,
            created_at timestamptz NOT NULL,
            CONSTRAINT pk_document_versions PRIMARY KEY (usr, document_id, version),
            CONSTRAINT fk_document_versions_usr_document_id FOREIGN KEY (usr, document_id)
                REFERENCES documents (usr, id) ON DELETE CASCADE,
            CONSTRAINT ck_document_versions_status
                CHECK (status in ('receiving', 'queued', 'processing', 'ready', 'failed')),
            CONSTRAINT ck_document_versions_complete
                CHECK (status = 'receiving' or (doc_type_tag is not null and media_type is not null)),
            CONSTRAINT ck_document_versions_failure CHECK ((status = 'failed') = (failure is not null))
        );
        CREATE INDEX ix_document_versions_waiting ON document_versions (usr)
            WHERE status in ('queued', 'processing');
        CREATE TABLE document_parts (
            {OWNER_COLUMNS},
            document_id uuid NOT NULL,
            version integer NOT NULL,
            ordinal integer NOT NULL,
            body_sealed bytea NOT NULL,
            CONSTRAINT pk_document_parts PRIMARY KEY (usr, document_id, version, ordinal),
            CONSTRAINT fk_document_parts_usr_document_id_version FOREIGN KEY (usr, document_id, version)
                REFERENCES document_versions (usr, document_id, version) ON DELETE CASCADE
        );
    """)


def _make_chunks() -> None:
    op.execute(f"""
        CREATE TABLE chunks (
            {OWNER_COLUMNS},
            id uuid NOT NULL,
            document_id uuid NOT NULL,
            version integer NOT NULL,
            ordinal integer NOT NULL,
            text_sealed bytea NOT NULL,
            location_sealed bytea NOT NULL,
            content_tag bytea NOT NULL,
            model text NOT NULL,
            vector_sealed bytea NOT NULL,
            CONSTRAINT pk_chunks PRIMARY KEY (usr, id),
            CONSTRAINT fk_chunks_usr_document_id_version FOREIGN KEY (usr, document_id, version)
                REFERENCES document_versions (usr, document_id, version) ON DELETE CASCADE
        );
        CREATE UNIQUE INDEX ix_chunks_usr_document_id_version_ordinal
            ON chunks (usr, document_id, version, ordinal);
        CREATE INDEX ix_chunks_usr_content_tag ON chunks (usr, content_tag);
        CREATE TABLE vector_changes (
            {OWNER_COLUMNS},
            content_tag bytea NOT NULL,
            revision bigint NOT NULL DEFAULT 1,
            CONSTRAINT pk_vector_changes PRIMARY KEY (usr, content_tag)
        );
        CREATE TABLE vector_collections (
            {OWNER_COLUMNS},
            name text NOT NULL,
            CONSTRAINT pk_vector_collections PRIMARY KEY (usr, name)
        );
    """)
