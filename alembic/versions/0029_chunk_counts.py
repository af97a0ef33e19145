"""How many chunks a ready version has stands in its row: usage is counted without looking at each document."""

from alembic import op

revision = "0029_chunk_counts"
down_revision = "0028_chunk_texts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column and its indexes. Where it is NULL chunks are counted as before: what code of before has made
    ready, until the next document of the user's is.
    """
    op.execute("ALTER TABLE document_versions ADD COLUMN chunk_count integer")
    op.execute("""
        CREATE INDEX ix_document_versions_usage ON document_versions (usr, document_id)
            INCLUDE (tenant, size_bytes, chunk_count) WHERE status <> 'receiving'
    """)
    op.execute("CREATE INDEX ix_document_versions_uncounted ON document_versions (usr) WHERE chunk_count IS NULL")


def downgrade() -> None:
    """Drop them."""
    op.execute("ALTER TABLE document_versions DROP COLUMN chunk_count")
    op.execute("DROP INDEX IF EXISTS ix_document_versions_usage, ix_document_versions_uncounted")
