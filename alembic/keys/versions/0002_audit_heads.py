"""The heads of the audit's chains: apart from the chains, so that whoever takes the end off one can't hide it."""

from alembic import op

revision = "0002_audit_heads"
down_revision = "0001_keys"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table: for each tenant the number and the digest of the last batch that was sealed."""
    op.execute("""
        CREATE TABLE audit_heads (
            tenant text PRIMARY KEY,
            number bigint NOT NULL,
            digest bytea NOT NULL,
            changed_at timestamptz NOT NULL DEFAULT now()
        )
    """)


def downgrade() -> None:
    """Drop the table: the next batches begin it anew."""
    op.execute("DROP TABLE audit_heads")
